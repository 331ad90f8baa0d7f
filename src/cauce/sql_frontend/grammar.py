"""The grammar: DuckDB's as sqlglot parses it, without what sqlglot adds to it."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokens import TokenType  # type: ignore[attr-defined]

from cauce.sql_frontend.deferred_templates import deferred_templates

with deferred_templates():
    from sqlglot.dialects.duckdb import DuckDB
    from sqlglot.generators.duckdb import DuckDBGenerator


class Plus(exp.Unary):
    """A number with a plus before it."""


class Parser(DuckDBParser):
    """Keeps function calls as they are written: the table of functions decides what exists. Refuses what DuckDB
    refuses where sqlglot is lenient."""

    OPTIONAL_ALIAS_TOKEN_CTE: ClassVar[bool] = False
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parse
        for name, parse in DuckDBParser.FUNCTION_PARSERS.items()
        if name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION", "SUBSTRING", "TRIM")
    }

    UNARY_PARSERS: ClassVar[dict[TokenType, Any]] = {
        **DuckDBParser.UNARY_PARSERS,
        TokenType.PLUS: lambda self: self.expression(Plus(this=self._parse_unary())),
    }

    def _parse_table_parts(self, *given: Any, **named: Any) -> Any:
        made = super()._parse_table_parts(*given, **named)
        if self._curr is not None and self._curr.token_type == TokenType.STAR:
            self.raise_error("a name or a clause is expected after a table")
        return made

    def _parse_cte(self) -> Any:
        made = super()._parse_cte()
        if made is None:
            self.raise_error("write WITH name AS (SELECT ...)")
        return made

    def _parse_window_spec(self) -> dict[str, str | exp.Expr | None]:
        """A bound of a frame; after BETWEEN there are two, joined by AND."""
        before = self._prev.token_type
        bound = super()._parse_window_spec()
        joined = self._curr is not None and self._curr.token_type == TokenType.AND
        if bound["value"] is None:
            self.raise_error("a bound of the frame is missing")
        if before == TokenType.BETWEEN and not joined:
            self.raise_error("BETWEEN needs a second bound, as in BETWEEN 1 PRECEDING AND CURRENT ROW")
        if before not in (TokenType.BETWEEN, TokenType.AND) and joined:
            self.raise_error("a frame with two bounds begins with BETWEEN")
        return bound


class Generator(DuckDBGenerator):
    """Prints trees, for names of columns and for messages."""

    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **DuckDBGenerator.TRANSFORMS,
        Plus: lambda self, node: f"+{self.sql(node, 'this')}",
    }


class Dialect(DuckDB):
    """DuckDB's SQL with our parser. Indexes stay as they are written: sqlglot would shift some of them."""

    INDEX_OFFSET = 0
    Parser = Parser
    Generator = Generator
