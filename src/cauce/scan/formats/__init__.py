"""Input formats: one class for each, with all its behaviour, in the table `table.py`."""
