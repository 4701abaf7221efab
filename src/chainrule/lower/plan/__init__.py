"""How it is computed: values as steps, their order, their tiles and chunks, and where all lies."""
