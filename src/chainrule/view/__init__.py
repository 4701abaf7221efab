"""What a person sees: one model of a run, shown as a table in the terminal."""
