"""The commands: each parses its options, calls the code that does the work, and prints the outcome."""
