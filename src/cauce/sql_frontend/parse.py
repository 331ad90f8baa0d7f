"""SQL text to syntax trees: one per statement, with its name and its parameters. Errors carry line and column."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from cauce.errors import did_you_mean
from cauce.sql_frontend.grammar import Dialect
from cauce.sql_frontend.problems import SqlError
from cauce.sql_frontend.syntax_checks import check_tokens, check_tree

_NAME = re.compile(r"--[ \t]*name[ \t]*:[ \t]*(\S+)")
_PARAMETER = re.compile(r"--[ \t]*parameter[ \t]*:[ \t]*(\w+)[ \t]*=[ \t]*(.+?)[ \t]*$", re.MULTILINE)
# The parser's words for a token that continues nothing.
_UNEXPECTED = "Invalid expression / Unexpected token"
_BLANKS = 'quote a name with blanks with ", as in "my orders"'
_DASHES = 'quote a name with - with ", as in "orders-2026"'
_TABLE_BEFORE = re.compile(r"\b(?:from|join)\s+\w+\s*$", re.IGNORECASE)
_FIRST_WORDS = ("SELECT", "WITH", "FROM", "VALUES")
_KEYWORDS = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "UNION", "QUALIFY", "WINDOW", "USING")
_LISTING = ("SHOW", "DESCRIBE", "DESC", "PRAGMA", "SUMMARIZE")
_GOOD_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,59}")


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


@lru_cache(maxsize=8)
def parse(text: str) -> Script:
    """Raises SqlError for a text that is not valid SQL or has no statement. Several steps of planning parse the same
    text, so the last ones are cached: no caller may change a tree."""
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
        return [_as_string(token) for token in Dialect().tokenize(text)]
    except TokenError as problem:
        found = re.search(r"Missing (\S+) from (\d+):(\d+)", str(problem))
        if found is None:
            raise SqlError("the text cannot be read: a quote or a comment is not closed", text, len(text)) from None
        offset = sum(len(line) + 1 for line in text.split("\n")[: int(found[2]) - 1])
        raise SqlError(f"missing {found[1]}: a quote is not closed", text, offset) from None
    except (RecursionError, ValueError, IndexError):
        raise SqlError("the text cannot be read as SQL", text, 0) from None


def _as_string(token: Token) -> Token:
    """A text in dollar quotes, as in $$it's$$, is a string like any other."""
    if token.token_type != TokenType.HEREDOC_STRING:
        return token
    place = (token.line, token.col, token.start, token.end)
    return Token(TokenType.STRING, token.text, *place, token.comments)


def _name_of(text: str, start: int, first: int) -> tuple[str, int] | None:
    """The name in the last comment before a statement, and its offset."""
    names = list(_NAME.finditer(text, start, first))
    return (names[-1][1], names[-1].start(1)) if names else None


def _check_name(name: str, taken: list[str], text: str, offset: int) -> None:
    if not _GOOD_NAME.fullmatch(name):
        raise SqlError(f"name {name!r}: at most 60 letters, digits, _ and - are allowed", text, offset)
    if name in taken:
        raise SqlError(f"two statements have the name {name}; give one another name with -- name: ...", text, offset)


def _check_first_word(text: str, first: Token) -> None:
    """A misspelt SELECT would otherwise be read as a name, and the error be found later."""
    if first.token_type == TokenType.VAR:
        hint = did_you_mean(first.text.upper(), _FIRST_WORDS)
        what = f"a statement begins with SELECT, WITH, FROM or VALUES, not {first.text}{hint}"
        raise SqlError(what, text, first.start)


def _tree_of(text: str, tokens: list[Token]) -> exp.Expr:
    _check_first_word(text, tokens[0])
    check_tokens(text, tokens)
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
        listed = "; `cauce schema DIR` lists tables and columns" if first in _LISTING else ""
        raise SqlError(
            f"{first} is not supported: only queries (SELECT, WITH, VALUES) are{listed}", text, tokens[0].start
        )
    check_tree(text, trees[0])
    return trees[0]


def _ends_a_name(marked: str, before: str) -> bool:
    """Whether a word or a number follows another word, as in `FROM my orders 2024`."""
    return marked.isalnum() and before.endswith(" ") and before.rstrip()[-1:].isalnum()


def _misspelt(before: str) -> str:
    """A suggestion if the last word before an error is, or resembles, a keyword."""
    word = re.split(r"\W+", before.rstrip())[-1]
    if word.upper() in ("GROUP", "ORDER", "PARTITION"):
        return f"write {word.upper()} BY"
    similar = did_you_mean(word.upper(), _KEYWORDS).removeprefix("; did you mean ").removesuffix("?")
    return f"did you mean {similar} instead of {word}?" if similar else ""


def _hint(marked: str, before: str) -> str:
    """The probable remedy for a token that continues nothing."""
    if _ends_a_name(marked, before):
        return _misspelt(before) or _BLANKS
    return _DASHES if marked == "-" and _TABLE_BEFORE.search(before) else ""


def _syntax_error(text: str, problem: ParseError, tokens: list[Token]) -> SqlError:
    details = problem.errors[0] if problem.errors else {}
    before, marked = str(details.get("start_context") or ""), str(details.get("highlight") or "")
    found = text.find(before + marked) if marked else -1
    offset = found + len(before) if found >= 0 else tokens[-1].end + 1
    what = str(details.get("description") or "the statement is not valid").rstrip(".").partition(" but got <Token")[0]
    if what.startswith("Expected table name"):
        what = 'a table is expected; quote a name that is not a plain word with ", as in "2024-01"'
    elif what == _UNEXPECTED:
        hint = _hint(marked, before)
        what = f"not expected here; {hint}" if hint else "not expected here"
    elif what.startswith("Required keyword"):
        what = "a value is missing"
    near = f" at {marked}" if marked.strip() else ""
    return SqlError(f"syntax error{near}: {what}", text, offset)
