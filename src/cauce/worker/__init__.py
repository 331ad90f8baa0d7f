"""Runs tasks: the worker loop, scan and fold tasks, journals, edge input. Does not use HTTP."""
