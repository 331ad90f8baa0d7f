"""Operating-system processes: /proc, signals, limits, private files, and output of the own process."""
