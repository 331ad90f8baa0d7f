"""Whole queries against DuckDB, over small tables with NULLs, ties and rows without partners."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from tests.sql_frontend.runs import Both

D = Decimal
SCHEMA = {
    "sales": {
        "id": "BIGINT",
        "cust": "BIGINT",
        "item": "VARCHAR",
        "paid": "DECIMAL(18,2)",
        "qty": "BIGINT",
        "day": "DATE",
    },
    "customers": {"cust": "BIGINT", "name": "VARCHAR", "city": "VARCHAR", "vip": "BOOLEAN"},
    "items": {"item": "VARCHAR", "price": "DECIMAL(18,2)", "weight": "DOUBLE"},
    "nothing": {"a": "BIGINT", "b": "VARCHAR"},
}
ROWS = {
    "sales": [
        [1, 10, "pen", D("1.50"), 3, dt.date(2024, 1, 1)],
        [2, 10, "ink", D("7.25"), 1, dt.date(2024, 1, 31)],
        [3, 20, "pen", D("1.50"), 10, dt.date(2024, 2, 29)],
        [4, 30, None, D("0.00"), None, None],
        [5, None, "pad", None, 2, dt.date(2024, 2, 1)],
        [6, 20, "ink", D("7.25"), 1, dt.date(2023, 12, 31)],
        [7, 99, "pen", D("-2.00"), 3, dt.date(2024, 1, 1)],
        [8, 20, "cap", D("12.00"), 0, dt.date(2024, 3, 10)],
    ],
    "customers": [
        [10, "Ana", "Lima", True],
        [20, "Bob", None, False],
        [30, "Ana", "Lima", None],
        [40, "Eva", "Rome", True],
        [None, "Nil", "Rome", False],
    ],
    "items": [["pen", D("0.50"), 1.5], ["ink", D("6.00"), 0.1], ["pad", D("2.25"), None], ["box", None, 9.75]],
    "nothing": [],
}

UNORDERED = [
    "SELECT * FROM sales",
    "SELECT 1 AS one, 'x' AS x FROM sales",
    "SELECT id, paid * qty FROM sales WHERE paid > 1",
    "SELECT DISTINCT cust FROM sales",
    "SELECT DISTINCT name, city FROM customers",
    "SELECT cust, count(*), count(qty), sum(paid), min(day), max(item), avg(qty) FROM sales GROUP BY cust",
    "SELECT item, sum(qty) FILTER (WHERE cust = 20), count(*) FILTER (WHERE paid > 2) FROM sales GROUP BY item",
    "SELECT count(DISTINCT cust), sum(DISTINCT paid), count(DISTINCT item) FROM sales",
    "SELECT cust, count(DISTINCT item) AS n, avg(DISTINCT qty) FROM sales GROUP BY 1",
    "SELECT count(*), sum(paid), min(qty), avg(paid) FROM sales WHERE id > 100",
    "SELECT count(*), count(a), sum(a), max(b) FROM nothing",
    "SELECT a, count(*) FROM nothing GROUP BY a",
    "SELECT extract(month FROM day) AS m, sum(paid) FROM sales GROUP BY m",
    "SELECT year(day), month(day), count(*) FROM sales GROUP BY ALL",
    "SELECT cust, sum(paid) AS total FROM sales GROUP BY cust HAVING total > 2",
    "SELECT cust FROM sales GROUP BY cust HAVING count(*) > 1",
    "SELECT upper(item) || '!' AS i, sum(qty) + 1 FROM sales GROUP BY upper(item) || '!'",
    # Joins.
    "SELECT s.id, c.name FROM sales s JOIN customers c ON s.cust = c.cust",
    "SELECT id, name FROM sales JOIN customers USING (cust)",
    "SELECT * FROM sales JOIN customers USING (cust)",
    "SELECT * FROM sales NATURAL JOIN customers",
    "SELECT id, name FROM sales LEFT JOIN customers USING (cust)",
    "SELECT cust, id, name FROM sales RIGHT JOIN customers USING (cust)",
    "SELECT cust, id, name FROM sales FULL JOIN customers USING (cust)",
    "SELECT s.id, c.cust, s.cust FROM sales s FULL JOIN customers c ON s.cust = c.cust AND c.vip",
    "SELECT s.id, c.name FROM sales s LEFT JOIN customers c ON s.cust = c.cust AND c.city IS NOT NULL",
    "SELECT s.id, c.name FROM sales s LEFT JOIN customers c ON s.cust = c.cust AND s.qty > 1",
    "SELECT s.id, i.item FROM sales s JOIN items i ON s.paid > i.price",
    "SELECT s.id, i.item FROM sales s LEFT JOIN items i ON s.item = i.item AND s.paid > i.price",
    "SELECT s.id, i.item FROM sales s LEFT JOIN items i ON s.paid < i.price",
    "SELECT c.name, i.item FROM customers c CROSS JOIN items i",
    "SELECT c.name, i.item FROM customers c, items i WHERE c.vip AND i.price > 1",
    "SELECT a.id, b.id FROM sales a JOIN sales b ON a.item = b.item AND a.id < b.id",
    "SELECT s.id FROM sales s SEMI JOIN items i ON s.item = i.item",
    "SELECT s.id FROM sales s ANTI JOIN items i ON s.item = i.item",
    "SELECT s.id, name, price FROM sales s, customers c, items i WHERE s.cust = c.cust AND s.item = i.item AND c.vip",
    "SELECT name, n FROM customers c LEFT JOIN (SELECT cust, count(*) AS n FROM sales GROUP BY cust) x USING (cust)",
    "SELECT c.name, s.id FROM customers c LEFT JOIN nothing n ON c.cust = n.a LEFT JOIN sales s ON s.cust = c.cust",
    "SELECT * FROM nothing n FULL JOIN items i ON n.b = i.item",
    "SELECT a.name FROM customers a JOIN customers b ON a.city IS NOT DISTINCT FROM b.city AND a.cust <> b.cust",
    # Subqueries.
    "SELECT id FROM sales WHERE cust IN (SELECT cust FROM customers WHERE vip)",
    "SELECT id FROM sales WHERE cust NOT IN (SELECT cust FROM customers)",
    "SELECT id FROM sales WHERE cust NOT IN (SELECT cust FROM customers WHERE cust IS NOT NULL)",
    "SELECT id FROM sales WHERE cust NOT IN (SELECT a FROM nothing)",
    "SELECT id, cust IN (SELECT cust FROM customers) FROM sales",
    "SELECT id, cust IN (SELECT cust FROM customers WHERE cust > 15) AS x FROM sales",
    "SELECT id FROM sales s WHERE EXISTS (SELECT 1 FROM customers c WHERE c.cust = s.cust AND vip)",
    "SELECT id FROM sales s WHERE NOT EXISTS (SELECT 1 FROM customers c WHERE c.cust = s.cust)",
    "SELECT id, EXISTS (SELECT 1 FROM customers c WHERE c.cust = s.cust) FROM sales s",
    "SELECT id FROM sales s WHERE EXISTS (SELECT 1 FROM items i WHERE i.price < s.paid)",
    "SELECT id FROM sales WHERE EXISTS (SELECT 1 FROM nothing)",
    "SELECT id FROM sales s WHERE vip_count > 1 OR EXISTS (SELECT 1 FROM items i WHERE i.item = s.item)".replace(
        "vip_count > 1", "qty > 5"
    ),
    "SELECT id, paid - (SELECT avg(paid) FROM sales) FROM sales",
    "SELECT id, (SELECT max(price) FROM items) AS top FROM sales",
    "SELECT id, (SELECT name FROM customers c WHERE c.cust = s.cust) FROM sales s",
    "SELECT cust, (SELECT count(*) FROM sales s WHERE s.cust = c.cust) AS n FROM customers c",
    "SELECT cust, (SELECT sum(paid) FROM sales s WHERE s.cust = c.cust AND s.qty > 1) FROM customers c",
    "SELECT item, (SELECT count(*) FROM sales s WHERE s.paid > i.price) FROM items i",
    "SELECT id FROM sales s WHERE paid > (SELECT avg(paid) FROM sales t WHERE t.cust = s.cust)",
    "SELECT id FROM sales s WHERE paid = (SELECT max(paid) FROM sales t WHERE t.item = s.item)",
    "SELECT name FROM customers c WHERE (SELECT count(*) FROM sales s WHERE s.cust = c.cust) = 0",
    "SELECT * FROM (SELECT cust, sum(paid) AS p FROM sales GROUP BY cust) t WHERE p > 5 AND cust > 10",
    "SELECT (SELECT paid FROM sales s WHERE s.cust = c.cust ORDER BY id LIMIT 1) FROM customers c",
    "SELECT cust FROM sales WHERE (cust, item) IN (SELECT 10, 'pen')",
    "SELECT id FROM sales WHERE cust = ANY (SELECT cust FROM customers)",
    # Common table expressions and set operations.
    "WITH t AS (SELECT cust, sum(paid) AS p FROM sales GROUP BY 1) SELECT a.cust, b.p FROM t a JOIN t b ON a.p > b.p",
    "WITH t(x, y) AS (SELECT cust, qty FROM sales), u AS (SELECT x FROM t WHERE y > 1) SELECT * FROM u",
    "SELECT cust FROM sales UNION SELECT cust FROM customers",
    "SELECT cust FROM sales UNION ALL SELECT cust FROM customers",
    "SELECT item, 1 AS n FROM sales UNION ALL SELECT item, price FROM items",
    "SELECT cust FROM sales INTERSECT SELECT cust FROM customers",
    "SELECT cust FROM sales EXCEPT SELECT cust FROM customers",
    "SELECT cust FROM sales INTERSECT ALL SELECT cust FROM customers",
    "SELECT cust FROM sales EXCEPT ALL SELECT cust FROM customers",
    "SELECT count(*) FROM (SELECT cust FROM sales UNION SELECT cust FROM customers) t",
    "SELECT x FROM (VALUES (1, 'a'), (2, NULL)) AS t(x, y) WHERE y IS NULL",
    "SELECT 1 + 1 AS two, NULL AS nothing",
    "VALUES (1, 'a'), (NULL, 'b')",
    "SELECT s.id, v.label FROM sales s JOIN (VALUES ('pen', 'P'), ('ink', 'I')) v(item, label) USING (item)",
    # Grouping sets.
    "SELECT cust, item, sum(paid) FROM sales GROUP BY ROLLUP (cust, item)",
    "SELECT cust, item, count(*), grouping(cust, item) FROM sales GROUP BY CUBE (cust, item)",
    "SELECT cust, item, count(*) FROM sales GROUP BY GROUPING SETS ((cust), (item), ())",
    "SELECT cust, item, max(qty) FROM sales GROUP BY cust, ROLLUP (item)",
    # Star.
    "SELECT * EXCLUDE (paid) FROM sales",
    "SELECT * REPLACE (paid * 2 AS paid) FROM sales",
    "SELECT s.*, c.name FROM sales s JOIN customers c USING (cust)",
    "SELECT c.* FROM sales s JOIN customers c USING (cust)",
    # Aliases.
    "SELECT paid * 2 AS p, p + 1 AS q FROM sales WHERE p > 3",
    "SELECT cust AS c, count(*) AS n FROM sales GROUP BY c HAVING n > 1",
    # Aggregates.
    "SELECT median(qty), quantile_cont(qty, 0.25), mode(item), mode(cust) FROM sales",
    "SELECT stddev(qty), var_pop(qty), stddev_pop(paid), var_samp(paid) FROM sales",
    "SELECT arg_max(item, paid), arg_min(id, qty * 100 + id) FROM sales",
    "SELECT string_agg(item, ', ' ORDER BY id), CAST(list(qty ORDER BY id) AS VARCHAR) FROM sales",
    "SELECT cust, string_agg(item, '-' ORDER BY id DESC) FROM sales GROUP BY cust",
    "SELECT first(item ORDER BY id), last(item ORDER BY id) FROM sales",
    "SELECT corr(qty, id), covar_pop(qty, id), covar_samp(paid, id) FROM sales",
    "SELECT quantile_disc(qty, 0.5), approx_count_distinct(item) FROM sales",
    "SELECT cust, bool_and(qty > 1), bool_or(qty > 1), count_if(qty > 1) FROM sales GROUP BY cust",
]

ORDERED = [
    "SELECT id, paid FROM sales ORDER BY paid DESC, id",
    "SELECT id, qty FROM sales ORDER BY qty NULLS FIRST, id",
    "SELECT id, qty FROM sales ORDER BY qty DESC NULLS FIRST, id DESC",
    "SELECT id, qty FROM sales ORDER BY qty DESC, id LIMIT 3",
    "SELECT id, qty FROM sales ORDER BY qty NULLS FIRST, id LIMIT 2",
    "SELECT id FROM sales ORDER BY paid * qty DESC NULLS LAST, id LIMIT 4",
    "SELECT id FROM sales ORDER BY id LIMIT 3 OFFSET 2",
    "SELECT id FROM sales ORDER BY id OFFSET 6",
    "SELECT id FROM sales ORDER BY id LIMIT 0",
    "SELECT cust, sum(paid) FROM sales GROUP BY cust ORDER BY sum(paid) DESC, cust LIMIT 2",
    "SELECT cust, sum(paid) AS s FROM sales GROUP BY cust ORDER BY s DESC NULLS LAST, 1",
    "SELECT DISTINCT item FROM sales ORDER BY item",
    "SELECT DISTINCT ON (cust) cust, id FROM sales ORDER BY cust, id DESC",
    "SELECT * FROM (SELECT id FROM sales ORDER BY id DESC LIMIT 3) t ORDER BY id",
    "SELECT cust FROM sales UNION SELECT cust FROM customers ORDER BY cust LIMIT 3",
    "SELECT item, price FROM items ORDER BY ALL",
    "SELECT id, day FROM sales WHERE day >= '2024-01-31' ORDER BY day + INTERVAL 1 MONTH, id",
    # Windows.
    "SELECT id, row_number() OVER (ORDER BY id) FROM sales ORDER BY id",
    "SELECT id, row_number() OVER (PARTITION BY cust ORDER BY paid DESC, id) AS n FROM sales ORDER BY id",
    "SELECT id, rank() OVER (ORDER BY paid), dense_rank() OVER (ORDER BY paid DESC) FROM sales ORDER BY id",
    "SELECT id, sum(qty) OVER (PARTITION BY cust) FROM sales ORDER BY id",
    "SELECT id, sum(qty) OVER (ORDER BY id) FROM sales ORDER BY id",
    "SELECT id, sum(qty) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM sales ORDER BY id",
    "SELECT id, avg(qty) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM sales ORDER BY id",
    "SELECT id, count(*) OVER (ORDER BY paid RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) FROM sales ORDER BY id",
    "SELECT id, lag(paid) OVER (ORDER BY id), lead(paid, 2, 0) OVER (ORDER BY id) FROM sales ORDER BY id",
    "SELECT id, first_value(item) OVER w, last_value(item) OVER w FROM sales "
    "WINDOW w AS (PARTITION BY cust ORDER BY id) ORDER BY id",
    "SELECT id, ntile(3) OVER (ORDER BY id), percent_rank() OVER (ORDER BY paid) FROM sales ORDER BY id",
    "SELECT id FROM sales QUALIFY row_number() OVER (PARTITION BY cust ORDER BY id DESC) = 1 ORDER BY id",
    "SELECT cust, sum(sum(paid)) OVER (ORDER BY cust) FROM sales GROUP BY cust ORDER BY cust",
    "SELECT id, sum(paid) FILTER (WHERE qty > 1) OVER (PARTITION BY item) FROM sales ORDER BY id",
    "SELECT id, max(paid) OVER () - paid FROM sales ORDER BY id",
]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Both:
    return Both(Path(tmp_path_factory.mktemp("tables")), SCHEMA, ROWS)


MORE = [line.rstrip(";") for line in Path(__file__).with_name("queries.sql").read_text().splitlines()]


@pytest.mark.parametrize("text", UNORDERED + MORE)
def test_rows_equal_duckdb(both: Both, text: str) -> None:
    both.check(text)


@pytest.mark.parametrize("text", ORDERED)
def test_ordered_rows_equal_duckdb(both: Both, text: str) -> None:
    both.check(text, ordered=True)
