"""docs/architecture.md lists all directories of the package, with the layers in their order; its arrows are imports."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

from tests.docs.pages import ROOT, blocks, text_of
from tests.test_layers import LAYERS, PACKAGE, files, imported

PAGE = ROOT / "docs/architecture.md"
ARROW = re.compile(r"^\s+([\w &]+) --> ([\w &]+)$", re.MULTILINE)


def test_the_layers_are_listed_in_their_order() -> None:
    assert re.findall(r"^  (\w+)(?:/|\.py) +\w", text_of(PAGE), re.MULTILINE) == list(LAYERS)


def test_every_directory_is_listed() -> None:
    (tree,) = [block.code for block in blocks(PAGE) if block.code.startswith("src/cauce/")]
    parents: list[str] = []
    listed: set[str] = set()
    for indent, name in re.findall(r"^(  +)(\w+)/ +\w", tree, re.MULTILINE):
        parents = [*parents[: len(indent) // 2 - 1], name]
        listed.add("/".join(parents))
    packages = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("__init__.py")} - {"."}
    assert listed == packages


@cache
def imports() -> set[tuple[str, str]]:
    """Pairs of a layer and a layer that it imports."""
    found: set[tuple[str, str]] = set()
    for path in files():
        module = ("cauce", *path.removesuffix(".py").split("/"))
        code = (PACKAGE / path).read_text(encoding="utf-8")
        found |= {(module[1], name[0]) for _, name in imported(code, module) if name}
    return found


def test_the_arrows_between_layers_are_imports() -> None:
    (drawn,) = [block for block in blocks(PAGE) if "    cli -->" in block.code]
    arrows = {
        (one.strip(), other.strip())
        for left, right in ARROW.findall(drawn.code)
        for one, other in product(left.split("&"), right.split("&"))
    }
    assert len(arrows) > 15
    assert arrows - imports() == set()
