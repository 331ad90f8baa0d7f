"""What the shop sells, where, and with which vouchers."""

from __future__ import annotations

# Name, category, price in cents.
MENU = (
    ("Espresso", "coffee", 600), ("Americano", "coffee", 700), ("Latte", "coffee", 800),
    ("Cappuccino", "coffee", 800), ("Flat White", "coffee", 900), ("Mocha", "coffee", 950),
    ("Hot Chocolate", "non-coffee", 900), ("Matcha Latte", "non-coffee", 1000),
)  # fmt: skip
STORES = 10
PAYMENT_METHODS = 5
# Per cent off, by voucher.
VOUCHERS = tuple(5 + 5 * (number % 4) for number in range(40))
