"""Kernels: accepted and rejected arguments, and loading of cached kernels without numba."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cauce.scan.csv.kernel import count_lines
from cauce.scan.native import F8, I8, VOID, Array, Struct, kernel, piece
from cauce.scan.native.types import Type


@piece
def _double(x: int) -> int:
    return x + x


@kernel(I8, Array("int64", read=True), I8)
def _weighted(values: np.ndarray, weight: int) -> int:
    total = 0
    for i in range(values.size):
        total += _double(values[i]) * weight
    return total


@kernel(VOID, Array("float64", 2), F8)
def _scale(values: np.ndarray, factor: float) -> None:
    for i in range(values.shape[0]):
        for k in range(values.shape[1]):
            values[i, k] *= factor


@pytest.mark.slow
def test_a_kernel_returns_a_number() -> None:
    assert _weighted(np.array([1, 2, 3]), 10) == 120
    assert _weighted(np.empty(0, np.int64), 10) == 0


def test_arrays_are_written_in_place() -> None:
    values = np.arange(6, dtype=np.float64).reshape(2, 3)
    _scale(values, 0.5)
    assert values.tolist() == [[0.0, 0.5, 1.0], [1.5, 2.0, 2.5]]


@pytest.mark.parametrize(
    "wrong",
    [np.arange(4, dtype=np.int32), np.arange(8)[::2], np.arange(4).reshape(2, 2), np.arange(4, dtype=">i8")],
    ids=["another type", "gaps", "two dimensions", "another byte order"],
)
def test_arrays_of_another_type_are_rejected(wrong: np.ndarray) -> None:
    with pytest.raises(TypeError, match="the kernel takes"):
        _weighted(wrong, 1)


def test_a_read_only_array_is_not_accepted_for_writing() -> None:
    values = np.ones((1, 1))
    values.flags.writeable = False
    with pytest.raises(TypeError, match="read-only"):
        _scale(values, 2.0)


def test_a_wrong_number_of_arguments_is_rejected() -> None:
    with pytest.raises(ValueError, match="zip"):
        _weighted(np.arange(3))  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [Array("uint8"), Struct(tuple, (Array("int64"), I8)), I8])
def test_as_many_values_as_the_call_takes(kind: Type) -> None:
    given = {Array: np.zeros(3, np.uint8), Struct: (np.zeros(2, np.int64), 3)}.get(type(kind), 5)
    assert len(list(kind.natives())) == len(kind.values(given))


def test_a_compiled_kernel_is_loaded_without_numba() -> None:
    count_lines(np.zeros(64, np.uint8), 0, 0)
    code = (
        "import sys, numpy as np\n"
        "from cauce.scan.csv.kernel import count_lines\n"
        "assert count_lines(np.full(128, 10, np.uint8), 0, 64) == 64\n"
        "print('numba' in sys.modules)"
    )
    outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert outcome.stdout.strip() == "False"


@pytest.mark.slow
def test_a_changed_source_is_compiled_anew(tmp_path: Path) -> None:
    """Cache files are named after the sources, so an edited piece in another file counts too."""
    source = tmp_path / "mykernel.py"
    helper = tmp_path / "mypiece.py"
    source.write_text(
        "from mypiece import more\n"
        "from cauce.scan.native import I8, kernel\n"
        "@kernel(I8, I8)\n"
        "def grown(x):\n"
        "    return more(x)\n"
    )
    for step in (1, 2):
        helper.write_text(f"from cauce.scan.native import piece\n@piece\ndef more(x):\n    return x + {step}\n")
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); sys.dont_write_bytecode = True\n"
        code += "from mykernel import grown; print(grown(40))"
        outcome = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert outcome.stdout.strip() == str(40 + step)
