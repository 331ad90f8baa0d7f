"""Refuses texts that sqlglot accepts although they are not valid SQL: missing values, names, lists and words."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from cauce.sql_frontend.problems import SqlError
from cauce.sql_frontend.syntax_tree import nodes_of, starts_of


def check_tokens(text: str, tokens: list[Token]) -> None:
    """Raises SqlError for a statement whose words cannot follow each other."""
    _check_neighbours(text, tokens)
    _check_join_words(text, tokens)
    _check_distinct_on(text, tokens)
    _check_parentheses(text, tokens)


def check_tree(text: str, tree: exp.Expr) -> None:
    """Raises SqlError for a tree with words that are not names, or with joins without a condition."""
    nodes = nodes_of(tree)
    _check_identifiers(text, [each for each in nodes if isinstance(each, exp.Identifier)])
    _check_replacements(text, [each for each in nodes if isinstance(each, exp.Star)])
    _check_joins(text, [each for each in nodes if isinstance(each, exp.Join)])


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


def _check_identifiers(text: str, names: list[exp.Identifier]) -> None:
    """Refuses reserved words that the parser accepts as names without quotes."""
    for name in names:
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
_SET_OPERATIONS = (TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT)
_CLAUSES = (TokenType.WHERE, TokenType.HAVING, TokenType.QUALIFY, TokenType.LIMIT, *_LISTS)
_ENDS = (None, TokenType.R_PAREN, *_SET_OPERATIONS, *_CLAUSES)
_CLOSING = (TokenType.COMMA, TokenType.R_PAREN, TokenType.FROM)


def _check_neighbours(text: str, tokens: list[Token]) -> None:
    """Refuses missing values, names and lists, which the parser accepts."""
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
        if last == TokenType.USING and kind != TokenType.L_PAREN:
            raise SqlError("syntax error: USING needs names in parentheses", text, offset)
        if last == TokenType.OVER and (kind in _ENDS or kind in _CLOSING):
            raise SqlError("syntax error: a window is missing after OVER", text, offset)
        if last == TokenType.WINDOW and token is not None and not re.match(r"\s+AS\b", text[token.end + 1 :], re.I):
            raise SqlError("syntax error: WINDOW needs AS (...) after the name", text, offset)
        if kind == TokenType.WITH and last in (TokenType.R_PAREN, TokenType.COMMA):
            raise SqlError("syntax error at WITH: a comma alone separates the names of WITH", text, offset)
        if last == TokenType.GROUP_BY and kind == TokenType.DISTINCT:
            raise SqlError("GROUP BY DISTINCT is not supported", text, offset)
        if kind == TokenType.PLACEHOLDER or (last == TokenType.PARAMETER and kind != TokenType.VAR):
            raise SqlError("a parameter needs a name, as in $year", text, offset)


_JOIN_WORDS = ("LEFT", "RIGHT", "FULL", "INNER", "OUTER", "CROSS", "SEMI", "ANTI", "NATURAL")


def _check_join_words(text: str, tokens: list[Token]) -> None:
    """A comma and the word JOIN exclude each other."""
    for number, token in enumerate(tokens):
        if token.token_type != TokenType.JOIN:
            continue
        first = number
        while first > 0 and tokens[first - 1].text.upper() in _JOIN_WORDS:
            first -= 1
        if first > 0 and tokens[first - 1].token_type == TokenType.COMMA:
            raise SqlError("syntax error: a table is missing between , and JOIN", text, tokens[first].start)


def _check_distinct_on(text: str, tokens: list[Token]) -> None:
    """DISTINCT ON needs values in its parentheses, and no comma after them."""
    kinds = [token.token_type for token in tokens]
    start = [TokenType.DISTINCT, TokenType.ON, TokenType.L_PAREN]
    for number in (each for each in range(len(kinds)) if kinds[each : each + 3] == start):
        depth, place = 1, number + 3
        while place < len(kinds) and depth:
            depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(kinds[place], 0)
            place += 1
        if place == number + 4:
            raise SqlError("syntax error at ): DISTINCT ON needs a value", text, tokens[place - 1].start)
        if place < len(kinds) and kinds[place] == TokenType.COMMA:
            raise SqlError("syntax error at ,: something is missing before it", text, tokens[place].start)


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


def _check_replacements(text: str, stars: list[exp.Star]) -> None:
    """EXCLUDE takes names, and REPLACE takes values with AS."""
    for star in stars:
        for each in star.args.get("except_") or []:
            if not isinstance(each, exp.Column | exp.Identifier):
                start = each.meta.get("start", star.meta.get("start", 0))
                raise SqlError("EXCLUDE takes names of columns", text, start)
        for each in star.args.get("replace") or []:
            alias = each.args.get("alias")
            start = alias.meta.get("start", 0) if alias is not None else star.meta.get("start", 0)
            if not re.search(r"\bAS\s*$", text[:start], re.IGNORECASE):
                raise SqlError("syntax error: REPLACE needs AS, as in * REPLACE (paid * 2 AS paid)", text, start)


def _check_joins(text: str, joins: list[exp.Join]) -> None:
    """A comma joins without a condition, the word JOIN does not. USING takes names."""
    for join in joins:
        for each in join.args.get("using") or []:
            if not isinstance(each, exp.Identifier):
                raise SqlError("USING takes names of columns", text, each.meta.get("start", 0))
        if any(join.args.get(key) for key in ("on", "using", "method", "kind", "side")):
            continue
        starts = starts_of(join)
        if starts and re.search(r"\bJOIN[\s(]*(VALUES|SELECT)?[\s(]*$", text[: min(starts)], re.IGNORECASE):
            raise SqlError("JOIN needs ON or USING; write CROSS JOIN for all pairs", text, min(starts))
