"""Rewrites of the typed tree: subqueries become joins, conditions move to the tables, joins get an order."""
