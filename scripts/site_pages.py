"""Corrects a site that the generator has built, for scripts/site.sh: `site_pages.py DIRECTORY`.

The library that draws diagrams becomes a file of the site, and tables without a head lose their empty one.
"""

from __future__ import annotations

import re
import sys
import sysconfig
from pathlib import Path

_EMPTY_HEAD = re.compile(r"<thead>\s*<tr>\s*(?:<th[^>]*></th>\s*)+</tr>\s*</thead>")
_EMPTY_CELL = re.compile(r"<th([^>]*)></th>")
_FETCHED = re.compile(r'"https://[^"]+/mermaid\.min\.js"')
_BESIDE = """new URL("mermaid.js",document.querySelector('script[src*="javascripts/bundle."]').src).href"""
# Wide ones scroll: shrunk to the width of the page, their words could not be read.
_NATURAL_WIDTH = """
{
  const initialize = mermaid.initialize;
  const natural = { useMaxWidth: false };
  mermaid.initialize = (options) =>
    initialize({
      ...options,
      flowchart: { ...options.flowchart, ...natural },
      state: { ...options.state, ...natural },
    });
}
"""


def bring_diagrams(site: Path, library: str) -> None:
    """The script of the theme names the address of the library once; the site gets a copy beside that script."""
    (script,) = site.glob("assets/javascripts/bundle.*.js")
    text, count = _FETCHED.subn(lambda _: _BESIDE, script.read_text(encoding="utf-8"))
    if count != 1:
        sys.exit(f"{script.name} names the library of diagrams {count} times, expected once: adapt {__file__}")
    script.write_text(text, encoding="utf-8")
    script.with_name("mermaid.js").write_text(library + _NATURAL_WIDTH, encoding="utf-8")


def mend_tables(page: str) -> str:
    """Without the heads of which all cells are empty; a single empty cell of a head is no heading."""
    return _EMPTY_CELL.sub(r"<td\1></td>", _EMPTY_HEAD.sub("", page))


def main() -> None:
    site = Path(sys.argv[1])
    installed = Path(sysconfig.get_path("purelib"), "mermaidx/assets/mermaid.js")
    bring_diagrams(site, installed.read_text(encoding="utf-8"))
    for path in site.rglob("*.html"):
        path.write_text(mend_tables(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
