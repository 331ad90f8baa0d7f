"""Leader election among doctors and which of them can be reached. No I/O and no clock."""
