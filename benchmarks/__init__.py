"""Side-by-side measurements of chainrule and its peers; run with `python -m benchmarks`."""
