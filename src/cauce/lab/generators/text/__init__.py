"""Generators of words, sentences and reviews."""
