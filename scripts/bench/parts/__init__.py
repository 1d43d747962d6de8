"""One kind of measurement in each file: its trials, its goals, and figures that have no goal."""
