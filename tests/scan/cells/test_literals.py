from __future__ import annotations

import ast
import warnings

import numpy as np
import pytest

from cauce.scan.cells import literals
from cauce.scan.cells.cell_kernel import ODD
from cauce.scan.cells.kinds import FieldList, TextList
from tests.scan.reading import BAD, read, read_one


def expected(kind: TextList | FieldList, cell: str | bytes) -> object:
    """The value according to ``ast.literal_eval`` and the shape of the kind."""
    raw = cell.encode() if isinstance(cell, str) else cell
    if raw == b"":
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(raw.decode("utf-8", "replace"))
        assert isinstance(value, list)
        if isinstance(kind, FieldList):
            value = [dict.__getitem__(entry, kind.field) for entry in value]
        for text in value:
            str.encode(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, AssertionError, KeyError):
        return BAD
    return value


def is_odd(cell: str, field: str | None = None) -> bool:
    """Whether the kernel leaves the cell to the slow path."""
    raw = np.frombuffer(cell.encode(), np.uint8)
    start, length = np.zeros(1, np.int64), np.array([len(raw)], np.int32)
    return bool(literals._ordinary(raw, start, length, field)[1][0] == ODD)


ORDINARY_LISTS = [
    *(
        "[]",
        "[ ]",
        "['a']",
        "['a',]",
        "['a' , 'b']",
        "[\n'a',\n\t'b'\n]",
        "['']",
        "[\"\", '']",
        "['a','b','c']",
    ),
    *("""["Nena O'Neill", "George O'Neill"]""", """['Virginia Hamilton', "Robert C. O'Brien"]"""),
    *("['Science fiction, American']", "['[', ']', '(', '{', '#']", "['José', '\u4e2d\u6587', '\U0001f600']"),
    *(r"['\\', '\'', '\"', '\n\t\r\a\b\f\v']", r"['\0', '\7', '\12', '\101', '\1011', '\400', '\777']"),
    *(r"['\x41', '\xe9', '\u20ac', '\U0001F600', '\uD7ff', '\uE000']", r"['\q', '\ ', '\8', '\é', '\%']"),
    *("['\x01\x0c\x7f']", '["it\'s", \'say "x"\']'),
]

ODD_LISTS = [
    *(
        "['a' 'b']",
        "[u'a', r'\\n', R'\\x']",
        "['''a''']",
        '["""a\nb"""]',
        "[('a')]",
        "(['a'])",
        " ['a']",
        "['a'] ",
    ),
    *(
        "['a'\r\n,'b']",
        "['a', # no\n'b']",
        "['a'\\\n]",
        r"['\N{BULLET}']",
        "\n['a']",
        "['a\\\nb']",
        "[(('a'))]",
    ),
    *("['a'\x0c]", "\ufeff['a']", "['a']#", "[F'x']"),
]

WRONG_LISTS = [
    *(
        "[",
        "]",
        "[,]",
        "['a',,]",
        "['a' , , 'b']",
        "['a'",
        "['a",
        "['a]",
        "[a]",
        "['a'] x",
        "['a']]",
        "[['a']]",
    ),
    *(
        "[1]",
        "[None]",
        "['a', 1]",
        "[b'a']",
        "[f'a']",
        "{'a'}",
        "('a',)",
        "'a'",
        "{}",
        "1",
        "None",
        "x",
        "a['b']",
    ),
    *(
        "['a\nb']",
        "['a\rb']",
        "['\0']",
        r"['\x4']",
        r"['\u20a']",
        r"['\U00110000']",
        r"['\N{NO SUCH}']",
        r"['\']",
    ),
    *(
        r"['\ud800']",
        r"['\ud83d\ude00']",
        "['a'].b",
        "['a'][0]",
        "[*['a']]",
        "['a' for a in 'b']",
        "['a'+'b']",
    ),
    *("NA", "/pQF.jpg", "['a'; 'b']", "[-'a']", "[...]", "[set()]", "[{'a': 1}]", "['a' if 1 else 'b']"),
]


class TestTextList:
    @pytest.mark.parametrize("cell", ORDINARY_LISTS)
    def test_common_forms_are_read_by_the_kernel(self, cell):
        assert not is_odd(cell)
        assert read_one(TextList(), cell) == expected(TextList(), cell) != BAD

    @pytest.mark.parametrize("cell", ODD_LISTS)
    def test_uncommon_forms_are_read_by_the_slow_path(self, cell):
        assert is_odd(cell)
        assert read_one(TextList(), cell) == expected(TextList(), cell)

    @pytest.mark.parametrize("cell", WRONG_LISTS)
    def test_anything_but_a_list_of_texts_is_rejected(self, cell):
        assert read_one(TextList(), cell) == expected(TextList(), cell) == BAD

    def test_the_empty_cell_is_null(self):
        assert read_one(TextList(), "") is None

    @pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"])
    def test_bytes_that_are_not_utf8_become_the_replacement_character(self, text):
        cell = b"['a" + text + b"', 'b']"
        assert read_one(TextList(), cell) == [("a" + text.decode("utf-8", "replace")), "b"]

    def test_odd_cells_keep_their_row(self):
        assert read(TextList(), ["['a']", "['b' 'c']", "", "x", "[]", "[u'd']", "['e', 'f']"]) == [
            *(["a"], ["bc"], None, BAD, [], ["d"], ["e", "f"]),
        ]


ORDINARY_FIELDS = [
    *(
        "[]",
        "[{'name': 'Drama'}]",
        "[{'id': 18, 'name': 'Drama'}, {'id': 35, 'name': 'Comedy'}]",
        "[{'name':''},]",
    ),
    *("[{'name': 'a', 'x': None, 'y': True, 'z': False,}]", "[{ 'name' : 'a' }\n,\n{ 'name' : \"b'\" } ]"),
    *("[{'x': -1, 'y': 1.5, 'z': .5, 'v': 1., 'w': 1e5, 'u': 1.5E-7, 'name': 'a', 't': +0, 's': 0.0}]",),
    *("[{'x': [], 'name': 'a', 'y': {}, 'z': ()}]", "[{'x': [1, [2, (3,), {'name': 'no'}]], 'name': 'a'}]"),
    *("[{'name': 'a', 'name': 'b'}]", "[{'name': 1, 'name': 'b'}]", "[{'x': ('name'), 'name': 'b'}]"),
    *(
        r"[{'name': 'O\'Neill \u20ac'}]",
        r"[{'x': '\'name\': \'no\'', 'name': 'yes'}]",
        "[{'ñ': 'é', 'name': 'ü'}]",
    ),
]

ODD_FIELDS = [
    *(
        "[{'na\\x6de': 'a'}]",
        "[{'name': ('a')}]",
        "[({'name': 'a'})]",
        "[{'name': 'a' 'b'}]",
        "[{u'name': 'a'}]",
    ),
    *("[{'name': 'a', 'x': 1_000}]", "[{'name': 'a', 'x': 1+2j}]", "[{'name': 'a', 'x': {1, 2}}]"),
    *("[{'name': 'a', 1: 2}]", "[{'name': 'a', 'x': b'b'}]", r"[{'name': 'a', 'x': '\ud800'}]"),
    *(
        "[{'name': 'a', 'x': ...}]",
        "[{'name': 'a', 'x': 0x1f}]",
        "[{'name': 'a', 'x': - 1}]",
        "[{'name': 'a'}] ",
    ),
    *("[{'name': 'a', 'x': 00}]", "[{'name': 'a', 'x': " + "1" * 70 + "}]"),
]

WRONG_FIELDS = [
    *(
        "[{'id': 1}]",
        "[{}]",
        "[{'name': None}]",
        "[{'name': 'a', 'name': None}]",
        "[{'name': ['a']}]",
        "['name']",
    ),
    *(
        "[1]",
        "[None]",
        "[[]]",
        "{'name': 'a'}",
        "{}",
        "({'name': 'a'},)",
        "[{'name': 'a'}, 1]",
        "[{'name': ('a',)}]",
    ),
    *(
        "[{'name'}]",
        "[{'name': }]",
        "[{'name' 'a'}]",
        "[{,}]",
        "[{'name': 'a',,}]",
        "[{'name': 'a'} {'name': 'b'}]",
    ),
    *("[{'name': 'a'}", "[{'name': 'a']", "[{'name': 'a', 'x': [1, 2}]", "[{'name': 'a', 'x': (1]}]", "[,]"),
    *(
        "[{'name': 'a', 'x': 01}]",
        "[{'name': 'a', 'x': nan}]",
        "[{'name': 'a', 'x': 1 2}]",
        "[{'name': 'a', 'x': 1e}]",
    ),
    *(
        "[{'name': 'a', 'x': None1}]",
        "[{'name': 'a', 'x': Nil}]",
        "[{'name': 'a', 'x': [,]}]",
        "[{'name': 'a', **x}]",
    ),
    *(
        "[{'name': 'a', 'x': --1}]",
        "[{'name': 'a', 'x': " + "1" * 5000 + "}]",
        r"[{'name': '\ud800'}]",
        "x",
        "[",
    ),
    *(
        "[{'name': 'a', [1]: 2}]",
        "[{'name': 'a', 'x': .}]",
        "[{'name': 'a', 'x': {'y'}: 1}]",
        "[{'name': b'a'}]",
    ),
]


class TestFieldList:
    @pytest.mark.parametrize("cell", ORDINARY_FIELDS)
    def test_common_forms_are_read_by_the_kernel(self, cell):
        assert not is_odd(cell, "name")
        assert read_one(FieldList("name"), cell) == expected(FieldList("name"), cell) != BAD

    @pytest.mark.parametrize("cell", ODD_FIELDS)
    def test_uncommon_forms_are_read_by_the_slow_path(self, cell):
        assert is_odd(cell, "name")
        assert read_one(FieldList("name"), cell) == expected(FieldList("name"), cell) != BAD

    @pytest.mark.parametrize("cell", WRONG_FIELDS)
    def test_anything_but_a_list_of_entries_with_the_field_is_rejected(self, cell):
        assert read_one(FieldList("name"), cell) == expected(FieldList("name"), cell) == BAD

    def test_the_empty_cell_is_null(self):
        assert read_one(FieldList(), "") is None

    @pytest.mark.parametrize("field", ["", "ñ", "a b", "na'me", "id"])
    def test_any_text_can_name_the_field(self, field):
        cell = repr([{field: "yes", "name": "no"}, {"name": "no", field: "also"}])
        assert read_one(FieldList(field), cell) == ["yes", "also"]


class TestDepth:
    def test_deep_nesting_is_left_to_the_slow_path(self):
        cell = "[{'name': 'a', 'x': " + "[" * 90 + "]" * 90 + "}]"
        assert is_odd(cell, "name")
        assert read_one(FieldList(), cell) == ["a"]

    @pytest.mark.parametrize("opener", ["[", "(", "{", "[{'name': 'a', 'x': [", "-", "((((((('a'), "])
    def test_excessive_nesting_is_rejected_and_harmless(self, opener):
        assert read_one(FieldList(), "[" + opener * 20_000) == BAD

    def test_a_very_long_chain_of_operators_is_rejected_and_harmless(self):
        assert read_one(FieldList(), "[{'name': 'a', 'x': " + "1+" * 20_000 + "1}]") == BAD


def test_warnings_of_the_slow_path_are_not_shown():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_one(TextList(), r"['\q' '\400']") == ["\\q\u0100"]
