"""Tests of power cuts on purpose."""
