"""Templates of random expressions of each type. A letter in braces stands for an operand of a type, which may be an
expression again. Functions whose values depend on the order of rows are left out."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

TYPES = ("BIGINT", "DECIMAL(18,2)", "VARCHAR", "BOOLEAN", "DATE", "DOUBLE", "TIMESTAMP")
OPERANDS = dict(zip("insbdft", ("BIGINT", "DECIMAL(18,2)", *TYPES[2:]), strict=True))
_WORDS = ("a", "b", "ab", "Abc", "b c", "ñ", "zz", "a%", "x_y", " pad ", "12", "1.5", "2024-02-29", "Éa", "a,b,,c")
VALUES: dict[str, list[Any]] = {
    "BIGINT": [0, 1, 2, 3, -1, -5, 7, 100],
    "DECIMAL(18,2)": [Decimal(each) for each in ("0.00", "1.50", "-2.25", "10.00", "0.05", "3.33")],
    "VARCHAR": list(_WORDS),
    "BOOLEAN": [True, False],
    "DATE": [dt.date(2024, 1, 31), dt.date(2024, 2, 29), dt.date(2023, 12, 31), dt.date(1999, 1, 1)],
    "DOUBLE": [0.0, 1.5, -2.25, 100.0, 0.125],
    "TIMESTAMP": [
        dt.datetime(2024, 2, 29, 13, 14, 15, 678000),
        dt.datetime(2023, 12, 31, 23, 59, 59),
        dt.datetime(1969, 12, 31),
        dt.datetime(2024, 1, 31, 0, 0, 0, 1),
    ],
}
PLAIN: dict[str, tuple[str, ...]] = {
    "BIGINT": (
        "({i} + {i})", "({i} - {i})", "({i} * {i})", "({i} // nullif({i}, 0))", "({i} % nullif({i}, 0))", "abs({i})",
        "length({s})", "year({d})", "CAST({n} AS BIGINT)", "-{i}", "+{i}", "({i} & {i})", "({i} | {i})",
        "xor({i}, {i})",
        "month({t})", "dayofweek({d})", "isodow({d})", "week({d})", "quarter({t})", "hour({t})", "dayofyear({d})",
        "date_diff('month', {d}, {d})", "date_diff('day', {d}, {d})", "date_sub('month', {d}, {d})", "({d} - {d})",
        "extract(day FROM {d})", "date_part('decade', {t})", "epoch_ms({t})", "strpos({s}, {s})", "strlen({s})",
        "levenshtein({s}, {s})", "unicode({s})", "TRY_CAST({s} AS BIGINT)", "CAST({b} AS BIGINT)", "sign({n})",
        "len(string_split({s}, ','))", "list_position([{i}, {i}, 7], {i})", "[{i}, {i}, 3][2]", "list_sum([{i}, {i}])",
        "list_max([{i}, NULL, {i}])", "CAST(floor({f}) AS BIGINT)", "CAST(round({f}) AS BIGINT)", "gcd({i}, {i})",
        "CASE {i} WHEN 1 THEN {i} WHEN 2 THEN {i} END", "CASE WHEN {b} THEN {i} END", "if({b}, {i}, {i})",
        "bit_count({i})", "microsecond({t})", "yearweek({d})",
    ),
    "DECIMAL(18,2)": (
        "CAST({n} + {n} AS DECIMAL(18,2))", "CAST({n} * 2 AS DECIMAL(18,2))", "CAST({i} AS DECIMAL(18,2))",
        "CAST(round({n}, 1) AS DECIMAL(18,2))", "CAST(-{n} AS DECIMAL(18,2))", "CAST({n} - {i} AS DECIMAL(18,2))",
        "CAST({n} * {n} AS DECIMAL(18,2))", "CAST(abs({n}) AS DECIMAL(18,2))", "TRY_CAST({s} AS DECIMAL(18,2))",
        "CAST({f} AS DECIMAL(18,2))", "CAST(round({n}, -1) AS DECIMAL(18,2))", "CAST(trunc({n}) AS DECIMAL(18,2))",
        "CAST({n} % nullif({n}, 0) AS DECIMAL(18,2))", "CAST(ceil({n}) AS DECIMAL(18,2))",
        "CAST(CAST({n} AS DECIMAL(18,1)) AS DECIMAL(18,2))", "CAST({n} + 0.125 AS DECIMAL(18,2))",
    ),
    "VARCHAR": (
        "upper({s})", "({s} || {s})", "substring({s}, 1, 2)", "CAST({i} AS VARCHAR)", "CAST({d} AS VARCHAR)",
        "replace({s}, 'a', 'o')", "concat({s}, {i})", "lower({s})", "trim({s})", "ltrim({s}, 'a')", "reverse({s})",
        "left({s}, 2)", "right({s}, -1)", "lpad({s}, 4, '*')", "rpad({s}, 3, 'xy')", "split_part({s}, ',', 2)",
        "substring({s}, -2)", "concat_ws('-', {s}, {i}, {s})", "CAST({n} AS VARCHAR)", "CAST({b} AS VARCHAR)",
        "CAST({t} AS VARCHAR)", "strftime({t}, '%d/%m/%y %H:%M:%S')", "monthname({d})", "dayname({d})",
        "regexp_replace({s}, '[ab]+', '<\\0>', 'g')", "regexp_extract({s}, '([a-z])(.)', 2)",
        "translate({s}, 'ab', 'x')",
        "array_to_string(string_split({s}, ','), '+')", "repeat({s}, 2)", "strip_accents({s})", "md5({s})",
        "string_split({s}, ',')[1]", "{s}[1]", "{s}[2:3]", "hex({s})", "typeof({n} + {i})", "to_base(abs({i}), 16)",
        "coalesce({s}, CAST({n} AS VARCHAR))", "url_encode({s})", "CASE WHEN {b} THEN {s} ELSE 'none' END",
    ),
    "BOOLEAN": (
        "({b} AND {b})", "({b} OR {b})", "(NOT {b})", "({b} IS TRUE)", "({i} IS DISTINCT FROM {i})",
        "starts_with({s}, {s})",
        "({s} IS NOT DISTINCT FROM {s})", "contains({s}, {s})", "({s} LIKE '%a%')", "({s} ILIKE 'A%')",
        "({s} NOT LIKE '_b')",
        "regexp_matches({s}, '^[a-z]+$')", "({s} SIMILAR TO '[a-z ]+')", "list_contains([{i}, {i}], {i})",
        "({n} > {i})",
        "({d} < {t})", "({s} GLOB 'a*')", "({i} IN ({i}, {i}, NULL))", "({f} >= {n})", "TRY_CAST({s} AS BOOLEAN)",
        "({d} BETWEEN {d} AND {d} + INTERVAL 1 MONTH)", "({t} > {d} - INTERVAL 90 MINUTE)", "({b} IS NOT NULL)",
        "((coalesce({i}, 0), coalesce({s}, '')) = (coalesce({i}, 0), coalesce({s}, '')))",
        "CAST({i} AS BOOLEAN)", "list_has_any([{i}, 1], [{i}])",
    ),
    "DATE": (
        "({d} + {small})", "CAST({d} + INTERVAL {small} MONTH AS DATE)", "last_day({d})", "CAST({t} AS DATE)",
        "CAST({d} - INTERVAL {small} DAY AS DATE)", "CAST(date_trunc('month', {d}) AS DATE)", "({d} - {small})",
        "CAST(date_trunc('week', {t}) AS DATE)", "make_date(2024, 2, 29)", "TRY_CAST({s} AS DATE)",
        "CAST(time_bucket(INTERVAL 1 MONTH, {d}) AS DATE)", "CAST({d} + to_months({small}) AS DATE)",
        "CAST({d} + INTERVAL '1 year 2 months' AS DATE)",
    ),
    "DOUBLE": (
        "({f} + {f})", "({f} * {f})", "CAST({i} AS DOUBLE)", "floor({f})", "({i} / nullif({i}, 0))", "abs({f})", "-{f}",
        "round({f}, 1)", "CAST({n} AS DOUBLE)", "({n} / nullif({i}, 0))", "TRY_CAST({s} AS DOUBLE)", "sqrt(abs({f}))",
        "trunc({f})", "ceil({f})", "power({f}, 2)", "epoch({t})", "list_avg([{i}, {i}])", "({f} % nullif({f}, 0))",
        "jaccard('abc', 'abd')", "exp(0 * {f})",
    ),
    "TIMESTAMP": (
        "({d} + INTERVAL {small} HOUR)", "({t} + INTERVAL {small} DAY)", "({t} - INTERVAL {small} MONTH)",
        "date_trunc('hour', {t})", "date_trunc('quarter', {t})", "CAST({d} AS TIMESTAMP)",
        "date_trunc('year', {d} + INTERVAL 1 HOUR)",
        "({t} + to_minutes({small}))", "time_bucket(INTERVAL 15 MINUTE, {t})",
        "make_timestamp(2024, 2, 29, 13, 14, 15.5)",
        "epoch_ms(1000 * {small})", "try_strptime({s}, '%Y-%m-%d')", "({d} + INTERVAL '1 day 2 hours')",
    ),
}  # fmt: skip


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value}'"
    if isinstance(value, dt.date):
        return f"DATE '{value}'"
    if isinstance(value, float):
        return f"CAST({value} AS DOUBLE)"
    return f"'{value}'" if isinstance(value, str) else str(value)
