"""`python -m cauce`."""

from cauce.cli.main import entry

entry()
