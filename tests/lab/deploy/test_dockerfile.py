"""The Dockerfile of the project: the files that it copies exist, and it ends like the one of `cauce deploy`."""

from __future__ import annotations

import os
from pathlib import Path

from cauce import __version__
from tests.lab.deploy.dockerfile import ignored_files, instructions, is_ignored
from tests.lab.deploy.reading import Written

ROOT = Path(__file__).parents[3]
SETTINGS = ("USER", "WORKDIR", "EXPOSE", "ENTRYPOINT")


def steps(text: str, *words: str) -> list[tuple[str, str]]:
    return [(word, rest) for word, rest in instructions(text) if word in words]


def test_every_source_of_a_copy_exists() -> None:
    copied = [rest.split()[:-1] for _, rest in steps((ROOT / "Dockerfile").read_text(), "COPY")]
    sources = [source for each in copied if not each[0].startswith("--from") for source in each]
    assert sources
    assert [source for source in sources if not (ROOT / source).exists()] == []


def test_programs_that_it_copies_are_executable() -> None:
    copied = [rest.split() for _, rest in steps((ROOT / "Dockerfile").read_text(), "COPY")]
    programs = [ROOT / source for *sources, target in copied if target.endswith("/bin/") for source in sources]
    assert programs
    assert [path.name for path in programs if not os.access(path, os.X_OK)] == []


def test_it_has_the_settings_of_the_image_of_a_deployment(compose: Written) -> None:
    own, written = (ROOT / "Dockerfile").read_text(), compose.read("image/Dockerfile")
    assert steps(own, *SETTINGS) == steps(written, *SETTINGS)
    assert steps(own, "FROM")[-1] == steps(written, "FROM")[-1]


def test_its_comment_names_this_version() -> None:
    assert f"--tag cauce:{__version__} " in (ROOT / "Dockerfile").read_text()


def test_files_that_are_not_sources_stay_out_of_the_image() -> None:
    patterns = ignored_files(ROOT)
    kept = [path for path in (".git", ".venv", "out", "src/cauce/__pycache__") if not is_ignored(Path(path), patterns)]
    assert kept == []
    assert not is_ignored(Path("src/cauce"), patterns)
