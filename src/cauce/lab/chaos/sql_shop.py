"""Statements over a small shop, for simulated jobs made from SQL: joins, windows, sets, groups, subqueries and ranks.

Their answers do not depend on the order of rows that tie, so that another database gives the same.
"""

from __future__ import annotations

from cauce.schema import DatasetSchema
from cauce.sql_frontend.source import SqlSource

_SCHEMA = """
[orders]
path = "orders/"
[orders.columns]
id = "integer"
customer = "integer"
item = "text"
qty = "integer"
paid = "decimal(18,2)"
day = "date"

[customers]
path = "customers.csv"
[customers.columns]
customer = "integer"
name = "text"
city = "text"
vip = "boolean"

[items]
path = "items.csv"
[items.columns]
item = "text"
price = "decimal(18,2)"
weight = "float"
"""

_TEXT = """
-- name: left_join
SELECT c.city, o.item, count(*) AS orders, sum(o.paid) AS paid, min(o.day) AS first_day
FROM orders o LEFT JOIN customers c ON o.customer = c.customer AND (c.vip OR o.qty > 1)
GROUP BY c.city, o.item ORDER BY ALL;

-- name: full_join
SELECT coalesce(o.item, i.item) AS item, o.id, i.price * o.qty AS value
FROM orders o FULL JOIN items i ON o.item = i.item
WHERE o.id IS NULL OR i.price IS NULL OR o.qty = 3 ORDER BY item, id, value;

-- name: pairs
SELECT a.item, count(*) AS pairs, sum(b.qty) AS qty
FROM orders a JOIN orders b ON a.customer = b.customer GROUP BY a.item ORDER BY ALL;

-- name: half_joins
SELECT o.id, o.item FROM orders o SEMI JOIN items i ON o.item = i.item AND o.paid > i.price
ANTI JOIN customers c ON c.customer = o.customer AND c.city = 'Lima' ORDER BY id;

-- name: running
SELECT id, customer, sum(paid) OVER w AS so_far, rank() OVER (PARTITION BY item ORDER BY qty DESC) AS place,
  lag(qty, 1, 0) OVER w AS qty_before,
  count(*) OVER (ORDER BY day RANGE BETWEEN INTERVAL 9 DAY PRECEDING AND CURRENT ROW) AS lately
FROM orders WHERE day IS NOT NULL WINDOW w AS (PARTITION BY customer ORDER BY id) ORDER BY id;

-- name: best
SELECT customer, id, paid FROM orders
QUALIFY row_number() OVER (PARTITION BY customer ORDER BY paid DESC NULLS LAST, id) <= 2 ORDER BY customer, id;

-- name: sets
(SELECT item FROM orders WHERE qty > 2 EXCEPT ALL SELECT item FROM items)
UNION ALL (SELECT city FROM customers INTERSECT SELECT CASE WHEN vip THEN city ELSE NULL END FROM customers) ORDER BY 1;

-- name: rollup
SELECT item, customer, grouping(item, customer) AS level, count(DISTINCT day) AS days, avg(qty) AS qty,
  sum(paid) FILTER (WHERE qty > 1) AS bulk
FROM orders GROUP BY ROLLUP (item, customer) HAVING count(*) > 1 ORDER BY item, customer, level;

-- name: null_groups
SELECT customer IS NULL AS unknown, extract(month FROM day) AS month, string_agg(item, '+' ORDER BY item, id) AS items,
  median(qty) AS qty, bool_or(paid > 20) AS large
FROM orders GROUP BY ALL ORDER BY ALL;

-- name: correlated
SELECT c.name, (SELECT max(o.paid) FROM orders o WHERE o.customer = c.customer) AS largest,
  (SELECT count(*) FROM orders o WHERE o.customer = c.customer AND o.qty > length(c.name)) AS many
FROM customers c
WHERE EXISTS (SELECT 1 FROM orders o JOIN items i USING (item) WHERE o.customer = c.customer AND i.price < o.paid)
   OR c.customer NOT IN (SELECT customer FROM orders WHERE customer IS NOT NULL)
ORDER BY ALL;

-- name: above_average
SELECT o.id, o.paid FROM orders o
WHERE o.paid > (SELECT avg(p.paid) FROM orders p WHERE p.item = o.item) ORDER BY o.paid DESC, o.id LIMIT 9 OFFSET 2;

-- name: newest
SELECT DISTINCT ON (item) item, day, id FROM orders ORDER BY item, day DESC NULLS LAST, id
"""

SHOP = SqlSource(_TEXT, DatasetSchema.from_toml(_SCHEMA), {"orders": 90, "customers": 12, "items": 7})

SHOP_JOBS = (
    ("left_join", "half_joins"),
    ("full_join", "pairs"),
    ("running", "best"),
    ("sets", "newest"),
    ("rollup", "null_groups"),
    ("correlated", "above_average"),
    ("left_join", "running", "sets", "rollup", "correlated", "newest"),
)
"""The statements of each job. Several statements of one job share their scans."""
