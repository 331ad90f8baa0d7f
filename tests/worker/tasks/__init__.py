"""Tests of the tasks of a worker."""
