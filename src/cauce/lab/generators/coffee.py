"""The tables of the coffee shop: small fixed ones, users, and two years of monthly sales."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from cauce.lab.generators.draw import Draw
from cauce.lab.generators.tables import sales, users
from cauce.lab.generators.tables.menu import MENU, STORES, VOUCHERS
from cauce.lab.generators.tables.months import MONTHS
from cauce.lab.generators.text.words import FAMILY, PLACES, phrases
from cauce.lab.generators.writer import Table, cell

Blocks = Callable[[], Iterator[bytes]]


def tables(scale: float, seed: int) -> tuple[Table, ...]:
    return (
        Table("menu_items", (("menu_items/menu_items.csv", _menu),)),
        Table("payment_methods", (("payment_methods/payment_methods.csv", _payment_methods),)),
        Table("stores", (("stores/stores.csv", partial(_stores, seed)),)),
        Table("vouchers", (("vouchers/vouchers.csv", _vouchers),)),
        Table("users", _monthly("users", partial(users.blocks, scale, seed))),
        Table("transactions", _monthly("transactions", partial(sales.transactions, scale, seed))),
        Table("transaction_items", _monthly("transaction_items", partial(sales.items, scale, seed))),
    )


def _monthly(name: str, blocks: Callable[[int], Iterator[bytes]]) -> tuple[tuple[str, Blocks], ...]:
    return tuple(
        (f"{name}/{name}_{month.year}{month.month:02d}.csv", partial(blocks, number))
        for number, month in enumerate(MONTHS)
    )


def _lines(header: str, rows: list[tuple[object, ...]]) -> Iterator[bytes]:
    body = (b",".join(cell(str(value), "") for value in row) for row in rows)
    yield b"\n".join([header.encode(), *body, b""])


def _menu() -> Iterator[bytes]:
    header = "item_id,item_name,category,price,is_seasonal,available_from,available_to"
    rows = enumerate(MENU, start=1)
    return _lines(header, [(n, name, kind, cents / 100, False, "", "") for n, (name, kind, cents) in rows])


def _payment_methods() -> Iterator[bytes]:
    methods = ("Cash", "Credit Card", "Debit Card", "E-Wallet", "Voucher, Gift Card")
    kinds = ("cash", "card", "card", "digital", "other")
    rows = [(n, name, kind) for n, (name, kind) in enumerate(zip(methods, kinds, strict=True), start=1)]
    return _lines("method_id,method_name,category", list(rows))


def _stores(seed: int) -> Iterator[bytes]:
    draw = Draw(seed, "coffee", "stores")
    streets = phrases(draw, ("Jalan {family} 3/{n}", "{family} Street", "Lorong {place}, Block {n}"), _STREETS, STORES)
    numbers = draw.below(9_000, 3 * STORES).reshape(STORES, 3).tolist()
    rows: list[tuple[object, ...]] = []
    for number, (street, (postal, north, east)) in enumerate(zip(streets, numbers, strict=True)):
        city = PLACES[3 * number + 1]
        state = ("Umberland", "Greater Quillan", "Port Yarrow")[number % 3]
        place = (f"2.{900_000 + north}", f"101.{500_000 + east}")
        rows.append((number + 1, f"Cauce Coffee @ {city}", street, 50_000 + postal, city, state, *place))
    return _lines("store_id,store_name,street,postal_code,city,state,latitude,longitude", rows)


_STREETS = {"family": FAMILY, "place": PLACES, "n": "123456789"}


def _vouchers() -> Iterator[bytes]:
    header = "voucher_id,voucher_code,discount_type,discount_value,valid_from,valid_to"
    rows: list[tuple[object, ...]] = []
    for number, percent in enumerate(VOUCHERS, start=1):
        month = MONTHS[number % len(MONTHS)]
        rows.append((number, f"BREW{number:04d}", "percentage", float(percent), month, month.replace(day=28)))
    return _lines(header, rows)
