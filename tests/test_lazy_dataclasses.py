"""Dataclasses whose methods are compiled at their first call, compared with those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest

from cauce.lazy_dataclasses import compile_at_first_call

pytestmark = pytest.mark.skipif(sys.version_info >= (3, 13), reason="only for versions that compile every method")


@pytest.fixture(autouse=True)
def _restored() -> Iterator[None]:
    standard = {name: vars(dataclasses)[name] for name in ("_create_fn", "_process_class")}
    compile_at_first_call()
    yield
    vars(dataclasses).update(standard)


def point(**options: Any) -> Any:
    @dataclass(**options)
    class Point:
        x: int
        y: list[int] = field(default_factory=list)
        z: int = field(default=3, compare=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("x must not be negative")

    return Point


def test_no_method_is_compiled_when_the_class_is_declared() -> None:
    made = point(frozen=True)
    assert made.__init__.__code__.co_filename.endswith("lazy_dataclasses.py")
    made(1)
    assert made.__init__.__code__.co_filename == "<string>"


def test_a_class_keeps_its_docstring_and_gets_its_name_as_one_otherwise() -> None:
    @dataclass
    class Described:
        """A description."""

    assert (Described.__doc__, point().__doc__) == ("A description.", "Point")


def test_arguments_and_defaults_are_those_of_the_fields() -> None:
    made = point()(1, z=5)
    assert (made.x, made.y, made.z) == (1, [], 5)
    assert [each.name for each in fields(made)] == ["x", "y", "z"]


@pytest.mark.parametrize("given", [{}, {"x": 1, "w": 2}])
def test_wrong_arguments_are_refused_with_the_name_of_the_method(given: dict[str, int]) -> None:
    with pytest.raises(TypeError, match=r"Point\.__init__\(\)"):
        point()(**given)


def test_a_check_after_the_initialisation_runs() -> None:
    with pytest.raises(ValueError, match="negative"):
        point()(-1)


def test_fields_are_compared_and_shown() -> None:
    made = point()
    assert made(1, [2], 3) == made(1, [2], 4)
    assert made(1) != made(2)
    assert repr(made(1)).endswith("Point(x=1, y=[], z=3)")


def test_a_frozen_one_has_a_hash_and_cannot_be_changed() -> None:
    made = point(frozen=True)
    assert hash(made(1, (2,))) == hash(made(1, (2,), 9)) == hash((1, (2,)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        made(1).x = 2
    assert replace(made(1), x=2).x == 2


def test_a_subclass_extends_an_unused_class() -> None:
    base = point(frozen=True)

    @dataclass(frozen=True)
    class Named(base):  # type: ignore[misc, valid-type]
        name: str = ""

    assert (Named(1, name="a").x, Named(1, name="a").name) == (1, "a")
    assert base(1) == base(1)


def test_a_subclass_calls_the_method_of_an_unused_class() -> None:
    class Doubled(point()):  # type: ignore[misc]
        def __init__(self, x: int) -> None:
            super().__init__(2 * x)

    assert Doubled(2).x == 4
    assert Doubled(3).x == 6


@dataclass(frozen=True)
class Sent:
    number: int


def test_copies_equal_the_original() -> None:
    assert copy.deepcopy(Sent(1)) == Sent(1)


def test_threads_may_use_a_class_for_the_first_time_together() -> None:
    made = point()
    together = threading.Barrier(8)
    found: list[int] = []

    def use(number: int) -> None:
        together.wait()
        found.append(made(number).x)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(found) == list(range(8))
