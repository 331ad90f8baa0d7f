from __future__ import annotations

import pytest

from cauce.errors import UsageError
from cauce.lab.deploy.sizes import GI, MI, bytes_of, compose_bytes, quantity


@pytest.mark.parametrize(
    ("text", "size"),
    [("512Mi", 512 * MI), ("20Gi", 20 * GI), ("1Ti", 1024 * GI), ("20G", 20 * 10**9), ("4096Ki", 4 * MI)],
)
def test_a_size_is_parsed(text: str, size: int) -> None:
    assert bytes_of(text, "--memory", 1) == size


@pytest.mark.parametrize("text", ["", "20", "Gi", "0Gi", "-1Gi", "1.5Gi", "20 Gi", "20GB", "20gi", "9" * 16 + "Gi"])
def test_an_invalid_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--memory .*is not a size"):
        bytes_of(text, "--memory", 1)


def test_a_size_that_is_too_small_is_refused() -> None:
    with pytest.raises(UsageError, match="--storage 1Gi is too small: it must be at least 2Gi"):
        bytes_of("1Gi", "--storage", 2 * GI)


def test_kubernetes_gets_the_largest_unit_that_is_exact() -> None:
    assert [quantity(size) for size in (2 * GI, 1536 * MI, 4 * 1024, 20 * 10**9 + 1)] == [
        "2Gi",
        "1536Mi",
        "4Ki",
        "20000000001",
    ]


def test_compose_gets_megabytes_or_bytes() -> None:
    assert [compose_bytes(size) for size in (2 * GI, 20 * 10**9)] == ["2048m", "20000000000b"]
