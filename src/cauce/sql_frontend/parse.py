"""SQL text to syntax trees: one per statement, with its name and its parameters. Errors carry line and column."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from cauce.sql_frontend.problems import SqlError

_NAME = re.compile(r"--[ \t]*name[ \t]*:[ \t]*(\S+)")
_PARAMETER = re.compile(r"--[ \t]*parameter[ \t]*:[ \t]*(\w+)[ \t]*=[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_GOOD_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,59}")


class _Parser(DuckDBParser):
    """Keeps function calls as they are written: the table of functions decides what exists."""

    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: parse
        for name, parse in DuckDBParser.FUNCTION_PARSERS.items()
        if name in ("CAST", "TRY_CAST", "EXTRACT", "POSITION", "SUBSTRING", "TRIM")
    }


class Dialect(DuckDB):
    """DuckDB's SQL with our parser."""

    Parser = _Parser


@dataclass(frozen=True)
class Statement:
    """A query of a text: its answer's name, its tree, and the offset of its first token."""

    name: str
    tree: exp.Expr
    start: int


@dataclass(frozen=True)
class Script:
    """All statements of a text, and the defaults of its parameters as SQL literals."""

    text: str
    statements: tuple[Statement, ...]
    defaults: Mapping[str, str] = field(default_factory=dict)


def parse(text: str) -> Script:
    """Raises SqlError for a text that is not valid SQL or has no statement."""
    statements: list[Statement] = []
    for number, (tokens, start) in enumerate(_split(text), 1):
        name, place = _name_of(text, start, tokens[0].start) or (f"q{number}", tokens[0].start)
        _check_name(name, [each.name for each in statements], text, place)
        statements.append(Statement(name, _tree_of(text, tokens), tokens[0].start))
    if not statements:
        raise SqlError("there is no statement; write a query such as SELECT * FROM orders", text, 0)
    return Script(text, tuple(statements), {found[1]: found[2] for found in _PARAMETER.finditer(text)})


def _split(text: str) -> Iterator[tuple[list[Token], int]]:
    """The tokens of each statement, and the offset where the text before it begins."""
    current: list[Token] = []
    start = 0
    for token in _tokens(text):
        if token.token_type == TokenType.SEMICOLON:
            if current:
                yield current, start
            current, start = [], token.end + 1
        else:
            current.append(token)
    if current:
        yield current, start


def _tokens(text: str) -> list[Token]:
    try:
        return list(Dialect().tokenize(text))
    except TokenError as problem:
        found = re.search(r"Missing (\S+) from (\d+):(\d+)", str(problem))
        if found is None:
            raise SqlError("the text cannot be read: a quote or a comment is not closed", text, len(text)) from None
        offset = sum(len(line) + 1 for line in text.split("\n")[: int(found[2]) - 1])
        raise SqlError(f"missing {found[1]}: a quote is not closed", text, offset) from None
    except (RecursionError, ValueError, IndexError):
        raise SqlError("the text cannot be read as SQL", text, 0) from None


def _name_of(text: str, start: int, first: int) -> tuple[str, int] | None:
    """The name in the last comment before a statement, and its offset."""
    names = list(_NAME.finditer(text, start, first))
    return (names[-1][1], names[-1].start(1)) if names else None


def _check_name(name: str, taken: list[str], text: str, offset: int) -> None:
    if not _GOOD_NAME.fullmatch(name):
        raise SqlError(f"name {name!r}: at most 60 letters, digits, _ and - are allowed", text, offset)
    if name in taken:
        raise SqlError(f"two statements have the name {name}; give one another name with -- name: ...", text, offset)


def _tree_of(text: str, tokens: list[Token]) -> exp.Expr:
    _check_tokens(text, tokens)
    _check_parentheses(text, tokens)
    logger = logging.getLogger("sqlglot")
    level = logger.level
    # It warns about statements that it does not know; they are refused with a position instead.
    logger.setLevel(logging.CRITICAL)
    try:
        trees = [each for each in Dialect().parser().parse(tokens, text) if each is not None]
    except ParseError as problem:
        raise _syntax_error(text, problem, tokens) from None
    except RecursionError:
        raise SqlError("the statement is nested too deeply; split it with WITH", text, tokens[0].start) from None
    except (TypeError, ValueError, AttributeError, KeyError, IndexError):
        raise SqlError("the statement is not valid SQL", text, tokens[0].start) from None
    finally:
        logger.setLevel(level)
    if len(trees) != 1 or not isinstance(trees[0], exp.Query | exp.Values):
        first = tokens[0].text.upper()
        raise SqlError(f"{first} is not supported: only queries (SELECT, WITH, VALUES) are", text, tokens[0].start)
    _check_identifiers(text, trees[0])
    _check_joins(text, trees[0])
    return trees[0]


_RESERVED = frozenset(
    [
        "ALL",
        "AND",
        "ANY",
        "AS",
        "ASC",
        "BETWEEN",
        "CASE",
        "CAST",
        "CROSS",
        "DESC",
        "DISTINCT",
        "ELSE",
        "END",
        "EXCEPT",
        "EXISTS",
        "FALSE",
        "FROM",
        "FULL",
        "GROUP",
        "HAVING",
        "IN",
        "INNER",
        "INTERSECT",
        "IS",
        "JOIN",
        "LATERAL",
        "LEFT",
        "LIKE",
        "LIMIT",
        "NATURAL",
        "NOT",
        "NULL",
        "OFFSET",
        "ON",
        "OR",
        "ORDER",
        "OUTER",
        "QUALIFY",
        "RIGHT",
        "SELECT",
        "OVER",
        "FILTER",
        "PIVOT",
        "UNPIVOT",
        "SEMI",
        "ANTI",
        "THEN",
        "TRUE",
        "UNION",
        "USING",
        "VALUES",
        "WHEN",
        "WHERE",
        "WINDOW",
        "WITH",
    ]
)
_WORD = re.compile(r"[^\W\d][\w$]*")


def _check_identifiers(text: str, tree: exp.Expr) -> None:
    """Refuses words that the parser takes for names, but that are none without quotes."""
    for name in tree.find_all(exp.Identifier):
        alias = isinstance(name.parent, exp.Alias | exp.TableAlias)
        start = name.meta.get("start", 0)
        if alias and text[start : start + 1] == "'":
            raise SqlError(f"syntax error at '{name.name}': a name is quoted with \"", text, start)
        if name.args.get("quoted"):
            continue
        if not _WORD.fullmatch(name.name) or (alias and name.name.upper() in _RESERVED):
            raise SqlError(f'syntax error at {name.name}: not a name; quote it with "', text, start)


_LISTS = (TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.PARTITION_BY)
_FIRST = (TokenType.L_PAREN, TokenType.SELECT, TokenType.DISTINCT, TokenType.VALUES, TokenType.ALIAS)
_OPENING = (TokenType.COMMA, *_FIRST, *_LISTS)
_ENDS = (None, TokenType.R_PAREN, TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.LIMIT)
_CLOSING = (TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM)


def _check_tokens(text: str, tokens: list[Token]) -> None:
    """Refuses what the parser silently accepts: values, names and lists that are missing."""
    for before, token in zip([None, *tokens], [*tokens, None], strict=True):
        offset = token.start if token is not None else tokens[-1].end + 1
        kind = token.token_type if token is not None else None
        last = before.token_type if before is not None else None
        if kind == TokenType.COMMA and (last is None or last in _OPENING):
            raise SqlError("syntax error at ,: something is missing before it", text, offset)
        if last == TokenType.ALIAS and (kind is None or kind in _CLOSING):
            raise SqlError("syntax error: a name is missing after AS", text, offset)
        if last in _LISTS and kind in _ENDS:
            raise SqlError("syntax error: a value is missing after BY", text, offset)
        if last == TokenType.WINDOW and token is not None and not re.match(r"\s+AS\b", text[token.end + 1 :], re.I):
            raise SqlError("syntax error: WINDOW needs AS (...) after the name", text, offset)
        if last == TokenType.GROUP_BY and kind == TokenType.DISTINCT:
            raise SqlError("GROUP BY DISTINCT is not supported", text, offset)
        if kind == TokenType.PLACEHOLDER or (last == TokenType.PARAMETER and kind != TokenType.VAR):
            raise SqlError("a parameter needs a name, as in $year", text, offset)


def _check_parentheses(text: str, tokens: list[Token]) -> None:
    opened: list[Token] = []
    for token in tokens:
        if token.token_type == TokenType.L_PAREN:
            opened.append(token)
        elif token.token_type == TokenType.R_PAREN:
            if not opened:
                raise SqlError("syntax error at ): there is no ( before it", text, token.start)
            opened.pop()
    if opened:
        raise SqlError("syntax error at (: its ) is missing", text, opened[-1].start)


def _check_joins(text: str, tree: exp.Expr) -> None:
    """A comma joins without a condition, the word JOIN does not."""
    for join in tree.find_all(exp.Join):
        if any(join.args.get(key) for key in ("on", "using", "method", "kind", "side")):
            continue
        starts = [start for node in join.walk() if (start := node.meta.get("start")) is not None]
        if starts and re.search(r"\bJOIN[\s(]*(VALUES|SELECT)?[\s(]*$", text[: min(starts)], re.IGNORECASE):
            raise SqlError("JOIN needs ON or USING; write CROSS JOIN for all pairs", text, min(starts))


def _syntax_error(text: str, problem: ParseError, tokens: list[Token]) -> SqlError:
    details = problem.errors[0] if problem.errors else {}
    before, marked = str(details.get("start_context") or ""), str(details.get("highlight") or "")
    found = text.find(before + marked) if marked else -1
    offset = found + len(before) if found >= 0 else tokens[-1].end + 1
    what = str(details.get("description") or "the statement is not valid").rstrip(".")
    near = f" at {marked}" if marked.strip() else ""
    return SqlError(f"syntax error{near}: {what}", text, offset)
