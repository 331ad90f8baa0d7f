"""The coffee dataset: four queries over monthly files of transactions, items and users."""

from __future__ import annotations

from tests.oracle.cells import DATE, DECIMAL, IDENTIFIER, INTEGER, TEXT, TIMESTAMP
from tests.oracle.files import Files
from tests.oracle.query import Connection, Dataset, Query
from tests.oracle.render import Row, fixed
from tests.oracle.sentiment import Scorer
from tests.oracle.tables import Table


def _monthly(name: str) -> Files:
    return Files((name + r"_[0-9]{6}\.csv",), folder=name)


MENU_ITEMS = Table(
    "menu_items",
    Files((r"menu_items\.csv",), folder="menu_items"),
    kinds={"item_id": IDENTIFIER, "item_name": TEXT},
    uses={"q2": ("item_id", "item_name")},
)

STORES = Table(
    "stores",
    Files((r"stores\.csv",), folder="stores"),
    kinds={"store_id": IDENTIFIER, "store_name": TEXT},
    uses={"q3": ("store_id", "store_name"), "q4": ("store_id", "store_name")},
)

USERS = Table(
    "users",
    _monthly("users"),
    kinds={"user_id": IDENTIFIER, "birthdate": DATE},
    uses={"q4": ("user_id", "birthdate")},
)

TRANSACTIONS = Table(
    "transactions",
    _monthly("transactions"),
    kinds={
        "transaction_id": TEXT,
        "store_id": IDENTIFIER,
        "user_id": IDENTIFIER,
        "final_amount": DECIMAL,
        "created_at": TIMESTAMP,
    },
    uses={
        "q1": ("transaction_id", "final_amount", "created_at"),
        "q3": ("store_id", "final_amount", "created_at"),
        "q4": ("store_id", "user_id", "created_at"),
    },
)

TRANSACTION_ITEMS = Table(
    "transaction_items",
    _monthly("transaction_items"),
    kinds={"item_id": IDENTIFIER, "quantity": INTEGER, "subtotal": DECIMAL, "created_at": TIMESTAMP},
    uses={"q2": ("item_id", "quantity", "subtotal", "created_at")},
)

IN_YEARS = "year(created_at) IN (2024, 2025)"
IN_HOURS = "CAST(created_at AS TIME) BETWEEN TIME '06:00:00' AND TIME '23:00:00'"


def _first_rows(view: str, key: str) -> str:
    """A row for each key: the first of the table, whatever its other cells hold."""
    return f"""
        (SELECT * FROM {view} WHERE {key} IS NOT NULL
         QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY pos) = 1)
    """


def _name_or_id(found: str, name: str, wanted: str) -> str:
    """The id stands in where there is no row; a row without a name shows an empty one."""
    return f"CASE WHEN {found} IS NULL THEN CAST({wanted} AS VARCHAR) ELSE {name} END"


def q1(con: Connection, _score: Scorer) -> list[Row]:
    rows = con.execute(f"""
        SELECT transaction_id, final_amount
        FROM transactions_q1
        WHERE {IN_YEARS} AND {IN_HOURS} AND final_amount >= 75
        ORDER BY pos
    """).fetchall()
    return [(transaction, fixed(amount, 2)) for transaction, amount in rows]


def q2(con: Connection, _score: Scorer) -> list[Row]:
    rows = con.execute(f"""
        WITH sums AS (
            SELECT strftime(created_at, '%Y-%m') AS month, item_id,
                   sum(quantity) AS quantity, sum(subtotal) AS profit
            FROM transaction_items_q2
            WHERE {IN_YEARS} AND item_id IS NOT NULL
            GROUP BY ALL),
        leaders AS (
            FROM (SELECT 'quantity' AS ranking, * FROM sums WHERE quantity IS NOT NULL
                  QUALIFY row_number() OVER (PARTITION BY month ORDER BY quantity DESC, item_id) = 1)
            UNION ALL
            FROM (SELECT 'profit' AS ranking, * FROM sums WHERE profit IS NOT NULL
                  QUALIFY row_number() OVER (PARTITION BY month ORDER BY profit DESC, item_id) = 1))
        SELECT month, ranking,
               {_name_or_id("menu.item_id", "item_name", "leaders.item_id")},
               coalesce(quantity, 0), coalesce(profit, 0)
        FROM leaders LEFT JOIN {_first_rows("menu_items_q2", "item_id")} AS menu USING (item_id)
        ORDER BY month, ranking DESC
    """).fetchall()
    return [(month, ranking, item, int(sold), fixed(profit, 2)) for month, ranking, item, sold, profit in rows]


def q3(con: Connection, _score: Scorer) -> list[Row]:
    rows = con.execute(f"""
        WITH sums AS (
            SELECT year(created_at) || CASE WHEN month(created_at) <= 6 THEN '-H1' ELSE '-H2' END AS semester,
                   store_id, sum(final_amount) AS tpv
            FROM transactions_q3
            WHERE {IN_YEARS} AND {IN_HOURS} AND store_id IS NOT NULL AND final_amount IS NOT NULL
            GROUP BY ALL)
        SELECT semester, {_name_or_id("store.store_id", "store_name", "sums.store_id")} AS name, tpv
        FROM sums LEFT JOIN {_first_rows("stores_q3", "store_id")} AS store USING (store_id)
        ORDER BY semester, name, tpv
    """).fetchall()
    return [(semester, name, fixed(tpv, 2)) for semester, name, tpv in rows]


def q4(con: Connection, _score: Scorer) -> list[Row]:
    return con.execute(f"""
        WITH customers AS (
            SELECT store_id, user_id, count(*) AS purchases
            FROM transactions_q4
            WHERE {IN_YEARS} AND store_id IS NOT NULL AND user_id IS NOT NULL
            GROUP BY store_id, user_id
            QUALIFY row_number() OVER (PARTITION BY store_id ORDER BY purchases DESC, user_id) <= 3)
        SELECT {_name_or_id("store.store_id", "store_name", "customers.store_id")} AS name,
               user_id, birthdate, purchases
        FROM customers
        LEFT JOIN {_first_rows("stores_q4", "store_id")} AS store USING (store_id)
        LEFT JOIN {_first_rows("users_q4", "user_id")} AS customer USING (user_id)
        ORDER BY name, purchases DESC, user_id, birthdate
    """).fetchall()


DATASET = Dataset(
    tables=(MENU_ITEMS, STORES, USERS, TRANSACTIONS, TRANSACTION_ITEMS),
    queries={
        "q1": Query(("transaction_id", "final_amount"), q1),
        "q2": Query(("month", "ranking", "item_name", "quantity", "profit"), q2),
        "q3": Query(("semester", "store_name", "tpv"), q3),
        "q4": Query(("store_name", "user_id", "birthdate", "purchases"), q4),
    },
)
