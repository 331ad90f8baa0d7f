"""Functions on texts."""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

import polars as pl

from cauce.scan.sentiment import SCORERS, check_installed, vader
from cauce.sql_frontend.functions import patterns
from cauce.sql_frontend.functions.kernel import Kernel, run
from cauce.sql_frontend.functions.table import Arguments, define, group
from cauce.sql_frontend.problems import StatementError
from cauce.sql_frontend.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, VARCHAR, list_of

group("Text")


@dataclass(frozen=True)
class EachRow(Kernel):
    """Applies a function of `_ROW_FUNCTIONS` to each row; NULL if an argument is NULL."""

    function: str
    dtype: pl.DataType

    def compute(self, *columns: pl.Series) -> pl.Series:
        apply = _ROW_FUNCTIONS[self.function]
        rows = zip(*columns, strict=True)
        made = [None if any(each is None for each in row) else apply(*row) for row in rows]
        return pl.Series(made, dtype=self.dtype)


def _rows(name: str) -> Callable[[Arguments], pl.Expr]:
    return lambda args: args.run(EachRow(args.where, name, args.type.dtype))


def _substring(text: str, start: int, length: int | None = None) -> str:
    """Positions count from 1; a negative start counts from the end."""
    begin = start - 1 if start > 0 else len(text) + start if start < 0 else -1
    if length is None:
        return text[max(begin, 0) :]
    if length < 0:
        return text[max(begin + length, 0) : max(begin, 0)]
    return text[max(begin, 0) : max(begin + length, 0)]


def _substring_expr(args: Arguments) -> pl.Expr:
    start = args.constants[1] if args.is_constant[1] else None
    length = args.constants[2] if len(args) > 2 and args.is_constant[2] else None
    if start is not None and start >= 1 and (len(args) == 2 or (length is not None and length >= 0)):
        return args[0].str.slice(start - 1, length)
    return _rows("substring")(args)


def _pad(text: str, width: int, fill: str, left: bool) -> str:
    if width <= len(text):
        return text[: max(width, 0)]
    missing = width - len(text)
    padding = (fill * (missing // len(fill) + 1))[:missing] if fill else ""
    return padding + text if left else text + padding


def _levenshtein(a: bytes, b: bytes) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


def _split_part(text: str, separator: str, index: int) -> str:
    parts = text.split(separator) if separator else [text]
    place = index - 1 if index > 0 else len(parts) + index
    return parts[place] if index != 0 and 0 <= place < len(parts) else ""


def _translate(text: str, given: str, wanted: str) -> str:
    table: dict[int, str | None] = {}
    for index, character in enumerate(given):
        table.setdefault(ord(character), wanted[index] if index < len(wanted) else None)
    return text.translate(table)


def _strip_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(each for each in parts if not unicodedata.combining(each)))


def _ascii(text: str) -> int:
    return ord(text[0]) if text else 0


def _hamming(a: str, b: str) -> int:
    return sum(x != y for x, y in zip(a, b, strict=True))


_ROW_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "substring": _substring,
    "lpad": lambda text, width, fill: _pad(text, width, fill, True),
    "rpad": lambda text, width, fill: _pad(text, width, fill, False),
    "left": lambda text, count: text[:count] if count >= 0 else text[: max(len(text) + count, 0)],
    "right": lambda text, count: (text[-count:] if count else "") if count >= 0 else text[-count:],
    "levenshtein": lambda a, b: _levenshtein(a.encode(), b.encode()),
    "hamming": _hamming,
    "split_part": _split_part,
    "translate": _translate,
    "strip_accents": _strip_accents,
    "ascii": _ascii,
    "ord": _ascii,
    "replace": lambda text, part, other: text.replace(part, other) if part else text,
    "repeat": lambda text, count: text * max(count, 0),
    "split": lambda text, separator: text.split(separator) if separator else list(text),
    "strpos": lambda text, part: text.find(part) + 1,
    "md5": lambda text: hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
    "sha1": lambda text: hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest(),
    "sha256": lambda text: hashlib.sha256(text.encode()).hexdigest(),
    "hex": lambda text: text.encode().hex().upper(),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "url_encode": lambda text: quote(text, safe="-_.~"),
    "url_decode": unquote,
    "nfc": lambda text: unicodedata.normalize("NFC", text),
    "trim": lambda text, characters: text.strip(characters) if characters else text,
    "ltrim": lambda text, characters: text.lstrip(characters) if characters else text,
    "rtrim": lambda text, characters: text.rstrip(characters) if characters else text,
    "chr": chr,
    "jaccard": lambda a, b: _jaccard(a, b),
}


def _jaccard(a: str, b: str) -> float:
    one, other = set(a), set(b)
    return len(one & other) / len(one | other)


def _trim(name: str, plain: Callable[[pl.Expr], pl.Expr]) -> Callable[[Arguments], pl.Expr]:
    return lambda args: plain(args[0]) if len(args) == 1 else _rows(name)(args)


def _length(args: Arguments) -> pl.Expr:
    return args[0].str.len_chars().cast(pl.Int64)


define(
    "length",
    "VARCHAR",
    BIGINT,
    _length,
    "The number of characters.",
    "length('año')",
    aliases=("char_length", "character_length"),
)
define(
    "strlen",
    "VARCHAR",
    BIGINT,
    lambda args: args[0].str.len_bytes().cast(pl.Int64),
    "The number of bytes in UTF-8.",
    "strlen('año')",
)
define(
    "bit_length",
    "VARCHAR",
    BIGINT,
    lambda args: args[0].str.len_bytes().cast(pl.Int64) * 8,
    "The number of bits in UTF-8.",
    "bit_length('abc')",
)
define(
    "lower",
    "VARCHAR",
    VARCHAR,
    lambda args: args[0].str.to_lowercase(),
    "In lower case.",
    "lower('AbC')",
    aliases=("lcase",),
)
define(
    "upper",
    "VARCHAR",
    VARCHAR,
    lambda args: args[0].str.to_uppercase(),
    "In upper case.",
    "upper('AbC')",
    aliases=("ucase",),
)
define(
    "trim",
    "VARCHAR VARCHAR?",
    VARCHAR,
    _trim("trim", lambda text: text.str.strip_chars(" ")),
    "Without spaces, or these characters, at both ends.",
    "trim('  a  ')",
)
define(
    "ltrim",
    "VARCHAR VARCHAR?",
    VARCHAR,
    _trim("ltrim", lambda text: text.str.strip_chars_start(" ")),
    "Without spaces, or these characters, at the start.",
    "ltrim('xxa', 'x')",
)
define(
    "rtrim",
    "VARCHAR VARCHAR?",
    VARCHAR,
    _trim("rtrim", lambda text: text.str.strip_chars_end(" ")),
    "Without spaces, or these characters, at the end.",
    "rtrim('axx', 'x')",
)
define(
    "substring",
    "VARCHAR BIGINT BIGINT?",
    VARCHAR,
    _substring_expr,
    "Characters from a position, counted from 1; at most n.",
    "substring('hello', 2, 3)",
    aliases=("substr",),
)
define("left", "VARCHAR BIGINT", VARCHAR, _rows("left"), "The first characters.", "left('hello', 2)")
define("right", "VARCHAR BIGINT", VARCHAR, _rows("right"), "The last characters.", "right('hello', 2)")
define(
    "lpad",
    "VARCHAR INTEGER VARCHAR",
    VARCHAR,
    _rows("lpad"),
    "Filled up at the start to a width, or cut to it.",
    "lpad('7', 3, '0')",
)
define(
    "rpad",
    "VARCHAR INTEGER VARCHAR",
    VARCHAR,
    _rows("rpad"),
    "Filled up at the end to a width, or cut to it.",
    "rpad('7', 3, '.')",
)
define(
    "strpos",
    "VARCHAR VARCHAR",
    BIGINT,
    _rows("strpos"),
    "The position of a text in another, from 1; 0 if it is not there.",
    "strpos('hello', 'l')",
    aliases=("instr", "position"),
)
define(
    "contains",
    "VARCHAR VARCHAR",
    BOOLEAN,
    lambda args: args[0].str.contains(args[1], literal=True),
    "Whether a text is in another.",
    "contains('hello', 'ell')",
)
define(
    "starts_with",
    "VARCHAR VARCHAR",
    BOOLEAN,
    lambda args: args[0].str.starts_with(args[1]),
    "Whether a text begins with another.",
    "starts_with('hello', 'he')",
    aliases=("prefix",),
)
define(
    "ends_with",
    "VARCHAR VARCHAR",
    BOOLEAN,
    lambda args: args[0].str.ends_with(args[1]),
    "Whether a text ends with another.",
    "ends_with('hello', 'lo')",
    aliases=("suffix",),
)
define(
    "replace",
    "VARCHAR VARCHAR VARCHAR",
    VARCHAR,
    lambda args: args[0] if args.is_constant[1] and args.constants[1] == "" else _replace(args),
    "Every occurrence replaced.",
    "replace('hello', 'l', 'L')",
)
define("reverse", "VARCHAR", VARCHAR, lambda args: args[0].str.reverse(), "In reverse order.", "reverse('abc')")
define("repeat", "VARCHAR BIGINT", VARCHAR, _rows("repeat"), "Repeated.", "repeat('ab', 3)")
define(
    "concat",
    "ANY*",
    VARCHAR,
    lambda args: pl.concat_str(_as_texts(args), ignore_nulls=True),
    "Joined; NULL counts as empty.",
    "concat('a', 1, NULL, 'b')",
)
define(
    "concat_ws",
    "VARCHAR ANY*",
    VARCHAR,
    lambda args: _concat_ws(args),
    "Joined by a separator, without NULLs.",
    "concat_ws('-', 'a', NULL, 'b')",
)
define(
    "split_part",
    "VARCHAR VARCHAR BIGINT",
    VARCHAR,
    _rows("split_part"),
    "The n-th part between separators.",
    "split_part('a,b,c', ',', 2)",
)
define(
    "string_split",
    "VARCHAR VARCHAR",
    list_of(VARCHAR),
    _rows("split"),
    "A list of the parts between separators.",
    "string_split('a,b', ',')",
    aliases=("str_split", "split", "string_to_array"),
)
define(
    "translate",
    "VARCHAR VARCHAR VARCHAR",
    VARCHAR,
    _rows("translate"),
    "Characters replaced one by one.",
    "translate('abc', 'ab', 'xy')",
)
define("ascii", "VARCHAR", INTEGER, _rows("ascii"), "The code of the first character.", "ascii('A')")
define(
    "unicode",
    "VARCHAR",
    INTEGER,
    lambda args: run(EachRow(args.where, "ord", args.type.dtype), pl.Int32(), args[0]).replace({0: -1}),
    "The code point of the first character.",
    "unicode('ñ')",
    aliases=("ord",),
)
define("chr", "INTEGER", VARCHAR, _rows("chr"), "The character of a code point.", "chr(241)")
define(
    "levenshtein",
    "VARCHAR VARCHAR",
    BIGINT,
    _rows("levenshtein"),
    "The number of edits between two texts.",
    "levenshtein('kitten', 'sitting')",
    aliases=("editdist3",),
)
define(
    "hamming",
    "VARCHAR VARCHAR",
    BIGINT,
    _rows("hamming"),
    "The number of different positions of two texts of one length.",
    "hamming('duck', 'luck')",
    aliases=("mismatches",),
)
define(
    "jaccard",
    "VARCHAR VARCHAR",
    DOUBLE,
    _rows("jaccard"),
    "The similarity of two texts by their characters.",
    "jaccard('duck', 'luck')",
)
define("strip_accents", "VARCHAR", VARCHAR, _rows("strip_accents"), "Without accents.", "strip_accents('mühleisen')")
define("nfc_normalize", "VARCHAR", VARCHAR, _rows("nfc"), "In the composed form of Unicode.", "nfc_normalize('ardèch')")
define("md5", "VARCHAR", VARCHAR, _rows("md5"), "The MD5 digest in hexadecimal.", "md5('abc')")
define("sha1", "VARCHAR", VARCHAR, _rows("sha1"), "The SHA-1 digest in hexadecimal.", "sha1('abc')")
define("sha256", "VARCHAR", VARCHAR, _rows("sha256"), "The SHA-256 digest in hexadecimal.", "sha256('abc')")
define("hex", "VARCHAR", VARCHAR, _rows("hex"), "The bytes in hexadecimal.", "hex('abc')", aliases=("to_hex",))
define("url_encode", "VARCHAR", VARCHAR, _rows("url_encode"), "With special characters as %XX.", "url_encode('a b')")
define("url_decode", "VARCHAR", VARCHAR, _rows("url_decode"), "With %XX as characters.", "url_decode('a%20b')")
define(
    "like",
    "VARCHAR VARCHAR",
    BOOLEAN,
    patterns.like,
    "Whether a text matches a pattern with % and _.",
    "'hello' LIKE 'h%o'",
)
define(
    "ilike",
    "VARCHAR VARCHAR",
    BOOLEAN,
    lambda args: patterns.like(args, True),
    "LIKE without regard to case.",
    "'HELLO' ILIKE 'h%o'",
)
define(
    "like_escape",
    "VARCHAR VARCHAR VARCHAR",
    BOOLEAN,
    patterns.like_escape,
    "LIKE with an escape character.",
    "'a%b' LIKE 'a!%b' ESCAPE '!'",
)
define(
    "ilike_escape",
    "VARCHAR VARCHAR VARCHAR",
    BOOLEAN,
    lambda args: patterns.like_escape(args, True),
    "ILIKE with an escape character.",
    "'A%b' ILIKE 'a!%b' ESCAPE '!'",
)
define(
    "glob",
    "VARCHAR VARCHAR",
    BOOLEAN,
    patterns.glob,
    "Whether a text matches a pattern with * and ?.",
    "'hello' GLOB 'h*o'",
)
define(
    "regexp_matches",
    "VARCHAR VARCHAR VARCHAR?",
    BOOLEAN,
    patterns.regexp_matches,
    "Whether a regular expression is found in a text.",
    "regexp_matches('hello', 'l+')",
)
define(
    "regexp_full_match",
    "VARCHAR VARCHAR VARCHAR?",
    BOOLEAN,
    patterns.regexp_full_match,
    "Whether a regular expression matches the whole text.",
    "regexp_full_match('hello', 'h.*o')",
)
define(
    "regexp_replace",
    "VARCHAR VARCHAR VARCHAR VARCHAR?",
    VARCHAR,
    patterns.regexp_replace,
    "The first match replaced; with option 'g', all.",
    "regexp_replace('hello', 'l', 'L', 'g')",
)
define(
    "regexp_extract",
    "VARCHAR VARCHAR INTEGER?",
    VARCHAR,
    patterns.regexp_extract,
    "The first match, or one of its groups; empty if there is none.",
    "regexp_extract('a1b22', '([a-z])([0-9]+)', 2)",
)
define(
    "regexp_extract_all",
    "VARCHAR VARCHAR",
    list_of(VARCHAR),
    patterns.regexp_extract_all,
    "A list of all matches.",
    "regexp_extract_all('a1b22', '[0-9]+')",
)
define(
    "regexp_split_to_array",
    "VARCHAR VARCHAR",
    list_of(VARCHAR),
    patterns.regexp_split,
    "A list of the parts between matches.",
    "regexp_split_to_array('a1b22c', '[0-9]+')",
    aliases=("string_split_regex", "str_split_regex"),
)
define(
    "sentiment",
    "VARCHAR VARCHAR?",
    DOUBLE,
    lambda args: _sentiment(args),
    "The sentiment of a text from -1 to 1, by 'vader' (default) or 'textblob'.",
    "",
)


def _as_texts(args: Arguments, start: int = 0) -> list[pl.Expr]:
    from cauce.sql_frontend.casts import translate_cast

    return [
        translate_cast(args.exprs[i], args.types[i], VARCHAR, args.guard, False, args.where)
        for i in range(start, len(args))
    ]


def _concat_ws(args: Arguments) -> pl.Expr:
    if args.is_constant[0] and args.constants[0] is not None:
        return pl.concat_str(_as_texts(args, 1), separator=args.constants[0], ignore_nulls=True)
    raise StatementError("the separator of concat_ws must be a constant", args.at)


def _replace(args: Arguments) -> pl.Expr:
    if not (args.is_constant[1] and args.is_constant[2]) or None in args.constants[1:]:
        return _rows("replace")(args)
    return args[0].str.replace_all(args.constants[1], args.constants[2], literal=True)


@dataclass(frozen=True)
class Sentiment(Kernel):
    scorer: str

    def compute(self, *columns: pl.Series) -> pl.Series:
        if self.scorer == "vader":
            return vader(columns[0])
        from cauce.scan.sentiment.polarity import polarity

        made = [None if text is None else round(polarity(text), 4) for text in columns[0]]
        return pl.Series(made, dtype=pl.Float64)


def _sentiment(args: Arguments) -> pl.Expr:
    scorer = args.constant(1, "the scorer") if len(args) > 1 else SCORERS[0]
    if scorer not in SCORERS:
        raise StatementError(f"unknown scorer {scorer!r}; expected one of {', '.join(SCORERS)}", args.at)
    check_installed(scorer)
    return args.run(Sentiment(args.where, scorer), args[0])
