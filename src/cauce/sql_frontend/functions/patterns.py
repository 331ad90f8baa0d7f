"""LIKE, GLOB and regular expressions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

import polars as pl

from cauce.sql_frontend.functions.kernel import Kernel
from cauce.sql_frontend.functions.table import Arguments
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.types import VARCHAR


def like_regex(pattern: str, escape: str = "", fold: bool = False) -> str:
    """A LIKE pattern as a regular expression over the whole text."""
    made: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            made.append(re.escape(next(characters, "")))
        elif character == "%":
            made.append(".*")
        elif character == "_":
            made.append(".")
        else:
            made.append(re.escape(character))
    return f"{'(?is)' if fold else '(?s)'}^{''.join(made)}$".replace("\\ ", " ")


def _plain_like(value: pl.Expr, pattern: str) -> pl.Expr | None:
    """A pattern with % only at its ends, without a regular expression."""
    inner = pattern.strip("%")
    if "%" in inner or "_" in pattern or "%%" in pattern:
        return None
    if pattern in ("", "%"):
        return None
    left, right = pattern.startswith("%"), pattern.endswith("%")
    if left and right:
        return value.str.contains(inner, literal=True)
    if left:
        return value.str.ends_with(inner)
    return value.str.starts_with(inner) if right else value == inner


def like(args: Arguments, fold: bool = False) -> pl.Expr:
    if not args.is_constant[1]:
        return args.run(LikeRows(args.where, "", fold))
    pattern = args.constants[1]
    if pattern is None:
        return pl.lit(None, dtype=pl.Boolean)
    made = None if fold else _plain_like(args[0], pattern)
    return args[0].str.contains(_rust(like_regex(pattern, "", fold))) if made is None else made


def like_escape(args: Arguments, fold: bool = False) -> pl.Expr:
    pattern, escape = args.constant(1, "the pattern of LIKE ... ESCAPE"), args.constant(2, "ESCAPE")
    if not isinstance(escape, str) or len(escape) != 1:
        raise StatementError("ESCAPE takes one character", args.at)
    if pattern is None:
        return pl.lit(None, dtype=pl.Boolean)
    return args[0].str.contains(_rust(like_regex(pattern, escape, fold)))


def _rust(regex: str) -> str:
    """Python escapes some characters that need no escape."""
    return re.sub(r"\\([ \"'#&~@!`%,/:;<=>_-])", r"\1", regex)


@dataclass(frozen=True)
class LikeRows(Kernel):
    """LIKE with a pattern for each row."""

    escape: str
    fold: bool

    def compute(self, *columns: pl.Series) -> pl.Series:
        texts, patterns = columns
        made = [
            None if text is None or pattern is None else bool(_compiled(pattern, self.escape, self.fold).match(text))
            for text, pattern in zip(texts, patterns, strict=True)
        ]
        return pl.Series(made, dtype=pl.Boolean)


@lru_cache(1024)
def _compiled(pattern: str, escape: str, fold: bool) -> re.Pattern[str]:
    return re.compile(like_regex(pattern, escape, fold)[:-1] + r"\Z")


def glob_regex(pattern: str) -> str:
    made, index = [], 0
    while index < len(pattern):
        character = pattern[index]
        if character == "*":
            made.append(".*")
        elif character == "?":
            made.append(".")
        elif character == "[" and "]" in pattern[index + 2 :]:
            end = pattern.index("]", index + 2)
            inner = pattern[index + 1 : end]
            made.append(f"[{'^' + inner[1:] if inner.startswith('!') else inner}]")
            index = end
        else:
            made.append(re.escape(character))
        index += 1
    return f"(?s)^{''.join(made)}$"


def glob(args: Arguments) -> pl.Expr:
    pattern = args.constant(1, "the pattern of GLOB")
    return pl.lit(None, dtype=pl.Boolean) if pattern is None else args[0].str.contains(_rust(glob_regex(pattern)))


# Regular expressions.


def regex_of(args: Arguments, index: int = 1, options: int | None = None) -> str:
    """A constant regular expression with its options."""
    pattern = args.constant(index, "a regular expression")
    flags = "" if options is None or len(args) <= options else args.constant(options, "the options")
    if pattern is None:
        return ""
    inline = "".join({"i": "i", "s": "s", "m": "m"}.get(each, "") for each in flags if each != "g")
    made = f"(?{inline}){pattern}" if inline else pattern
    check_regex(made, args.at)
    return made


def check_regex(pattern: str, at: int) -> None:
    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.PolarsError:
        raise StatementError(f"{pattern!r} is not a valid regular expression", at) from None


def _is_null_pattern(args: Arguments) -> bool:
    return args.is_constant[1] and args.constants[1] is None


def regexp_matches(args: Arguments) -> pl.Expr:
    if _is_null_pattern(args):
        return pl.lit(None, dtype=pl.Boolean)
    return args[0].str.contains(regex_of(args, 1, 2))


def regexp_full_match(args: Arguments) -> pl.Expr:
    if _is_null_pattern(args):
        return pl.lit(None, dtype=pl.Boolean)
    return args[0].str.contains(f"^(?:{regex_of(args, 1, 2)})$")


def _replaced(found: re.Match[str]) -> str:
    return "\\" if found[1] == "\\" else f"${{{found[1]}}}"


def regexp_replace(args: Arguments) -> pl.Expr:
    if _is_null_pattern(args) or (args.is_constant[2] and args.constants[2] is None):
        return pl.lit(None, dtype=pl.String)
    with_text = args.constant(2, "the replacement")
    # A group is \1 in SQL and ${1} here; \\ is a backslash.
    replacement = re.sub(r"\\(\d|\\)", _replaced, with_text.replace("$", "$$"))
    pattern = regex_of(args, 1, 3)
    everywhere = len(args) > 3 and "g" in args.constant(3, "the options")
    return args[0].str.replace_all(pattern, replacement) if everywhere else args[0].str.replace(pattern, replacement)


def regexp_extract(args: Arguments) -> pl.Expr:
    if _is_null_pattern(args):
        return pl.lit(None, dtype=pl.String)
    group = args.constant(2, "the group") if len(args) > 2 else 0
    found = args[0].str.extract(f"({regex_of(args)})" if group == 0 else regex_of(args), max(group, 1))
    return pl.when(args[0].is_not_null()).then(found.fill_null(""))


def regexp_extract_all(args: Arguments) -> pl.Expr:
    return args[0].str.extract_all(regex_of(args))


def regexp_split(args: Arguments) -> pl.Expr:
    regex_of(args)
    return args.run(SplitByRegex(args.where, args.constant(1, "a regular expression")), args[0])


@dataclass(frozen=True)
class SplitByRegex(Kernel):
    pattern: str

    def compute(self, *columns: pl.Series) -> pl.Series:
        compiled = re.compile(self.pattern)
        made = [None if text is None else _split(compiled, text) for text in columns[0]]
        return pl.Series(made, dtype=pl.List(VARCHAR.dtype))


def _split(pattern: re.Pattern[str], text: str) -> list[str]:
    parts, start = [], 0
    for found in pattern.finditer(text):
        parts.append(text[start : found.start()])
        start = found.end()
    return [*parts, text[start:]]
