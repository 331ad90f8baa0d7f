"""The layers in docs/architecture.md are those of the package, in their order; its arrows are imports."""

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


@cache
def imports() -> set[tuple[str, str]]:
    """Which layer imports which."""
    found: set[tuple[str, str]] = set()
    for path in files():
        module = ("cauce", *path.removesuffix(".py").split("/"))
        code = (PACKAGE / path).read_text(encoding="utf-8")
        found |= {(module[1], layer) for _, layer in imported(code, module)}
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
