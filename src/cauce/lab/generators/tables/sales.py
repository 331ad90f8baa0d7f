"""The `transactions` and `transaction_items` tables: two views of the same sales, made block by block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np

from cauce.lab.generators.draw import Draw, Ints, Octets, Texts, hexadecimal
from cauce.lab.generators.tables.menu import MENU, PAYMENT_METHODS, STORES, VOUCHERS
from cauce.lab.generators.tables.months import MONTHS, day_of, days_in, timestamps
from cauce.lab.generators.tables.users import registered
from cauce.lab.generators.writer import packed, pool, scaled, spans

TRANSACTIONS_HEADER = (
    b"transaction_id,store_id,payment_method_id,voucher_id,user_id,original_amount,discount_applied,final_amount,"
    b"created_at\n"
)
ITEMS_HEADER = b"transaction_id,item_id,quantity,unit_price,subtotal,created_at\n"
_BLOCK_ROWS = 1 << 15
_MONTH_ROWS = 640_000
_MOST_LINES, _MOST_EACH = 3, 3
_PRICES = np.array([cents for _, _, cents in MENU], dtype=np.int64)
_HOUR_S, _DAY_S = 3_600, 86_400
# Times of the day around the boundaries in the queries.
_EDGES_S = np.array([6 * _HOUR_S - 1, 6 * _HOUR_S, 23 * _HOUR_S, 23 * _HOUR_S + 1], dtype=np.int64)
_CHUNK_ROWS = 256
_REGULARS = 5


@dataclass(frozen=True)
class _Sales:
    """Sales of one block; lines are (sale, 3), with quantity 0 where there is no such line."""

    ids: tuple[Texts, ...]
    moments: Ints
    item: Ints
    quantity: Ints

    def __len__(self) -> int:
        return len(self.moments)


@cache
def _amounts() -> Texts:
    """Cents as floats print them: `63.5`, `9.0`, `57.15`."""
    return pool(f"{cents / 100}," for cents in range(10_000))


@cache
def _baskets_at_edge() -> tuple[Ints, Ints]:
    """Baskets of three lines with a total of 75, or half a unit less or more."""
    choices = [(item, quantity) for item in range(len(MENU)) for quantity in range(1, _MOST_EACH + 1)]
    baskets = [
        (one, two, three)
        for one in choices
        for two in choices
        for three in choices
        if sum(int(_PRICES[item]) * quantity for item, quantity in (one, two, three)) in (7450, 7500, 7550)
    ]
    table = np.array(baskets, dtype=np.int64)
    return table[:, :, 0], table[:, :, 1]


def rows_in(month: int, scale: float) -> int:
    return scaled(_MONTH_ROWS * days_in(month) // 30, scale)


def transactions(scale: float, seed: int, month: int) -> Iterator[bytes]:
    yield TRANSACTIONS_HEADER
    known = registered(scale, month + 1)
    # Some customers are in no file of users.
    stranger = registered(scale, len(MONTHS)) + 7
    for block, start, end in spans(rows_in(month, scale), _BLOCK_ROWS):
        sales = _sales(seed, month, block, end - start)
        yield _transactions(Draw(seed, "coffee", "transactions", month, block), sales, known, stranger)


def items(scale: float, seed: int, month: int) -> Iterator[bytes]:
    yield ITEMS_HEADER
    for block, start, end in spans(rows_in(month, scale), _BLOCK_ROWS):
        yield _items(_sales(seed, month, block, end - start))


def _sales(seed: int, month: int, block: int, count: int) -> _Sales:
    draw = Draw(seed, "coffee", "sales", month, block)
    lines = 1 + draw.below(_MOST_LINES, count)
    item = draw.below(len(MENU), 3 * count).reshape(count, 3)
    quantity = 1 + draw.below(_MOST_EACH, 3 * count).reshape(count, 3)
    quantity[np.arange(3) >= lines[:, None]] = 0
    edge_items, edge_quantities = _baskets_at_edge()
    at_edge = np.flatnonzero(draw.chance(0.004, count))
    basket = draw.below(len(edge_items), len(at_edge))
    item[at_edge], quantity[at_edge] = edge_items[basket], edge_quantities[basket]
    moments = _moments(draw, month, count)
    # Half of the sales around the boundary of the amount are also at a boundary of the day, and so are some others.
    edges = np.union1d(at_edge[::2], np.flatnonzero(draw.chance(0.003, count)))
    moments[edges] = moments[edges] // _DAY_S * _DAY_S + _EDGES_S[draw.below(len(_EDGES_S), len(edges))]
    return _Sales(_uuids(draw.octets(count, 16)), moments, item, quantity)


def _moments(draw: Draw, month: int, count: int) -> Ints:
    """Rows are ordered by time within a chunk, then jump; a few belong to the month before or after."""
    chunks = -(-count // _CHUNK_ROWS)
    day = draw.below(days_in(month), chunks)
    opening = 5 * _HOUR_S + draw.below(18 * _HOUR_S, chunks)
    which = np.arange(count) // _CHUNK_ROWS
    along = np.arange(count) % _CHUNK_ROWS
    moments = _DAY_S * day[which] + opening[which] + along * (1 + draw.below(11, chunks))[which]
    # Small files have few chunks, so most days would be without a sale.
    scattered = draw.chance(0.3, count)
    anywhere = _DAY_S * draw.below(days_in(month), count) + 6 * _HOUR_S + draw.below(17 * _HOUR_S, count)
    moments = np.where(scattered, anywhere, np.minimum(moments, _DAY_S * days_in(month) - 1))
    strays = np.flatnonzero(draw.chance(0.0006, count))
    # There are no sales after the last month.
    before = (strays % 2 == 1) | (month == len(MONTHS) - 1)
    moments[strays] = np.where(before, -1, _DAY_S * days_in(month))
    return _DAY_S * day_of(month) + moments


def _uuids(octets: Octets) -> tuple[Texts, ...]:
    octets[:, 6] = octets[:, 6] & 0x0F | 0x40
    octets[:, 8] = octets[:, 8] & 0x3F | 0x80
    edges = (0, 4, 6, 8, 10, 16)
    return tuple(hexadecimal(octets[:, a:b]) for a, b in pairwise(edges))


def _dashed(ids: tuple[Texts, ...]) -> tuple[Texts | bytes, ...]:
    first, second, third, fourth, fifth = ids
    return (first, b"-", second, b"-", third, b"-", fourth, b"-", fifth, b",")


def _transactions(draw: Draw, sales: _Sales, known: int, stranger: int) -> bytes:
    count = len(sales)
    store = draw.below(STORES, count)
    original = (_PRICES[sales.item] * sales.quantity).sum(axis=1)
    voucher = np.where(draw.chance(0.05, count), 1 + draw.below(len(VOUCHERS), count), 0)
    discount = original * _PERCENT[voucher] // 100
    return packed(
        (
            *_dashed(sales.ids),
            _STORE_IDS[store],
            _METHOD_IDS[draw.below(PAYMENT_METHODS, count)],
            _VOUCHER_IDS[voucher],
            *_user_texts(_users(draw, store, known, stranger)),
            _amounts()[original],
            _amounts()[discount],
            _amounts()[original - discount],
            *timestamps(sales.moments),
        ),
        count,
    )


def _users(draw: Draw, store: Ints, known: int, stranger: int) -> Ints:
    """A user for each sale, 0 for none: any user, or with higher probability a regular of the store."""
    count = len(store)
    anyone = 1 + draw.below(known, count)
    regular = 1 + (store * _REGULARS + draw.below(_REGULARS, count)) % known
    user = np.where(draw.chance(0.02, count), regular, anyone)
    user = np.where((store == 3) & draw.chance(0.02, count), stranger, user)
    return np.where(draw.chance(0.55, count), 0, user)


def _user_texts(user: Ints) -> tuple[Texts, Texts, Texts]:
    """Float text in three parts, the last the same for all, so that the tables stay small."""
    high, low = np.divmod(user, 1000)
    return _HIGH[high], np.where(high > 0, _LOW_PADDED[low], _LOW[low]), np.where(user > 0, b".0,", b",")


_PERCENT = np.array((0, *VOUCHERS), dtype=np.int64)
_STORE_IDS = pool(f"{number}," for number in range(1, STORES + 1))
_METHOD_IDS = pool(f"{number}," for number in range(1, PAYMENT_METHODS + 1))
_VOUCHER_IDS = pool(f"{number}.0," if number else "," for number in range(len(VOUCHERS) + 1))
_HIGH = pool(str(number) if number else "" for number in range(10_000))
_LOW = pool(str(number) if number else "" for number in range(1000))
_LOW_PADDED = pool(f"{number:03d}" for number in range(1000))
_ITEM_IDS = pool(f"{number}," for number in range(1, len(MENU) + 1))
_QUANTITIES = pool(f"{number}," for number in range(_MOST_EACH + 1))


def _items(sales: _Sales) -> bytes:
    sale, line = np.nonzero(sales.quantity)
    item, quantity = sales.item[sale, line], sales.quantity[sale, line]
    return packed(
        (
            *_dashed(tuple(part[sale] for part in sales.ids)),
            _ITEM_IDS[item],
            _QUANTITIES[quantity],
            _amounts()[_PRICES[item]],
            _amounts()[_PRICES[item] * quantity],
            *timestamps(sales.moments[sale]),
        ),
        len(sale),
    )
