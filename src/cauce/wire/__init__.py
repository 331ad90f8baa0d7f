"""Forms in which data leaves a process."""
