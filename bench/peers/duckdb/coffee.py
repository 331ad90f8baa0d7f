"""The coffee queries in DuckDB: each kind of monthly file is one table."""

from __future__ import annotations

from bench.peers.duckdb.session import connect, csv, write
from bench.peers.task import Task

TRANSACTIONS = """
CREATE TABLE transactions AS
SELECT transaction_id, CAST(store_id AS BIGINT) AS store_id, CAST(CAST(user_id AS DOUBLE) AS BIGINT) AS user_id,
       CAST(final_amount AS DECIMAL(12, 2)) AS final_amount, CAST(created_at AS TIMESTAMP) AS created_at
FROM {files} WHERE created_at >= '2024' AND created_at < '2026'
"""

ITEMS = """
CREATE TABLE items AS
SELECT created_at[:7] AS month, CAST(item_id AS BIGINT) AS item_id, sum(CAST(quantity AS BIGINT)) AS quantity,
       sum(CAST(subtotal AS DECIMAL(12, 2))) AS profit
FROM {files} WHERE created_at >= '2024' AND created_at < '2026' GROUP BY ALL
"""

NAMES = """
CREATE TABLE {table} AS
SELECT CAST({key} AS BIGINT) AS {key}, {name}
FROM {files} QUALIFY row_number() OVER (PARTITION BY {key}) = 1
"""

IN_HOURS = "CAST(created_at AS TIME) BETWEEN TIME '06:00:00' AND TIME '23:00:00'"

QUERIES = {
    "q1": f"SELECT transaction_id, final_amount FROM transactions WHERE {IN_HOURS} AND final_amount >= 75",
    "q2": """
        WITH leaders AS (
            FROM (SELECT 'quantity' AS ranking, * FROM items
                  QUALIFY row_number() OVER (PARTITION BY month ORDER BY quantity DESC, item_id) = 1)
            UNION ALL
            FROM (SELECT 'profit' AS ranking, * FROM items
                  QUALIFY row_number() OVER (PARTITION BY month ORDER BY profit DESC, item_id) = 1))
        SELECT month, ranking, coalesce(item_name, CAST(item_id AS VARCHAR)) AS item_name, quantity, profit
        FROM leaders LEFT JOIN menu_items USING (item_id) ORDER BY month, ranking DESC""",
    "q3": f"""
        SELECT semester, coalesce(store_name, CAST(store_id AS VARCHAR)) AS store_name, tpv
        FROM (SELECT year(created_at) || CASE WHEN month(created_at) <= 6 THEN '-H1' ELSE '-H2' END AS semester,
                     store_id, sum(final_amount) AS tpv
              FROM transactions WHERE {IN_HOURS} AND store_id IS NOT NULL GROUP BY ALL)
        LEFT JOIN stores USING (store_id) ORDER BY semester, store_name""",
    "q4": """
        SELECT coalesce(store_name, CAST(store_id AS VARCHAR)) AS store_name, user_id, birthdate, purchases
        FROM (SELECT store_id, user_id, count(*) AS purchases FROM transactions
              WHERE user_id IS NOT NULL AND store_id IS NOT NULL GROUP BY store_id, user_id
              QUALIFY row_number() OVER (PARTITION BY store_id ORDER BY purchases DESC, user_id) <= 3)
        LEFT JOIN stores USING (store_id) LEFT JOIN users USING (user_id)
        ORDER BY store_name, purchases DESC, user_id""",
}


def answer(task: Task) -> None:
    connection = connect(task)
    if task.asks("q1", "q3", "q4"):
        connection.execute(TRANSACTIONS.format(files=csv(task.months("transactions"))))
    if task.asks("q2"):
        connection.execute(ITEMS.format(files=csv(task.months("transaction_items"))))
        menu = csv(task.file("menu_items/menu_items.csv"))
        connection.execute(NAMES.format(table="menu_items", key="item_id", name="item_name", files=menu))
    if task.asks("q3", "q4"):
        stores = csv(task.file("stores/stores.csv"))
        connection.execute(NAMES.format(table="stores", key="store_id", name="store_name", files=stores))
    if task.asks("q4"):
        users = csv(task.months("users"))
        connection.execute(NAMES.format(table="users", key="user_id", name="birthdate", files=users))
    write(connection, task, QUERIES)
