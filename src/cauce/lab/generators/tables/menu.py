"""The items, stores and vouchers of the coffee shop."""

from __future__ import annotations

from cauce.lab.generators.tables.facts import facts

# Name, category, price in cents.
MENU = facts("menu")
STORES = 10
PAYMENT_METHODS = 5
# Discount of each voucher, in per cent.
VOUCHERS = tuple(5 + 5 * (number % 4) for number in range(40))
