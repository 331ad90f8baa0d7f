"""The pages of the documentation and their parts: code blocks, inline code, links, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CODE_OF_CONDUCT.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/decisions").glob("*.md")),
]

_FENCE = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_SOURCE = re.compile(r'(?:src|srcset)="([^"]+)"')
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_COMMAND = re.compile(r"^(\./|\.venv/bin/|for |docker |kubectl |git |apt-get )")


@dataclass(frozen=True)
class Block:
    """Code between fences. `line` is that of its first line."""

    page: str
    line: int
    language: str
    code: str

    @property
    def is_shell(self) -> bool:
        """If no language is given, it is guessed from the first line; other blocks show output."""
        return self.language == "sh" or (not self.language and _COMMAND.match(self.code) is not None)

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def blocks(page: Path) -> list[Block]:
    text = text_of(page)
    return [
        Block(name_of(page), text.count("\n", 0, found.start(3)) + 1, found[2], found[3])
        for found in _FENCE.finditer(text)
    ]


def prose(page: Path) -> str:
    """The page without its blocks."""
    return _FENCE.sub("", text_of(page))


def spans(page: Path) -> list[str]:
    """The inline code of a page."""
    return _SPAN.findall(prose(page))


def links(page: Path) -> list[str]:
    text = _SPAN.sub("", prose(page))
    return [*_LINK.findall(text), *_SOURCE.findall(text)]


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page."""
    found: dict[str, int] = {}
    return {_numbered(slug, found) for heading in _HEADING.findall(prose(page)) for slug in [_slug(heading)]}


def _slug(heading: str) -> str:
    shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def _numbered(slug: str, found: dict[str, int]) -> str:
    found[slug] = found.get(slug, -1) + 1
    return slug if not found[slug] else f"{slug}-{found[slug]}"


def is_record(page: Path) -> bool:
    """Whether a page describes the past: its commands were valid then."""
    return page.parent.name == "decisions"


def shell_blocks() -> Iterator[Block]:
    for page in (each for each in PAGES if not is_record(each)):
        yield from (block for block in blocks(page) if block.is_shell)
