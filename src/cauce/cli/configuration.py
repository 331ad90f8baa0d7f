"""The configuration file `cauce.toml`: defaults of options, shared by all commands or for one of them.

Precedence: an option of the command line, its variable, the file, the default. Reads nothing if there is no file, and
loads the parser of TOML only then.
"""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from cauce.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from typer.models import CommandInfo

FILE = "cauce.toml"
VARIABLE = "CAUCE_CONFIG"
PREFIX = "CAUCE"
"""Variables are named by it, the command and the option, as in CAUCE_SERVE_PORT."""
META = "cauce.configuration"
"""The key of the configuration among the values that a context shares with its children."""
SECRETS = ("fabric", "token")
ALTERNATIVES = {"data": "on", "on": "data", "dir": "gateway", "gateway": "dir"}
"""Options of which a command takes one. That of the command line wins over the other in a variable or the file."""
_TYPES: dict[Any, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    list: ((list,), "an array of texts"),
}
_TEXT = ((str,), "a text in quotes")

Tree = Mapping[str, "Tree | frozenset[str]"]
"""The names of commands, with those of the commands of a group or the names of the options."""


@dataclass(frozen=True)
class Configuration:
    """The content of a file. Names of options have underscores."""

    path: Path
    content: Mapping[str, Any]
    tree: Tree

    def check_names(self) -> None:
        """Raises for a key that is neither a command nor an option of the commands that it stands for."""
        self._check(self.content, self.tree, ())

    def _check(self, table: Mapping[str, Any], tree: Tree, path: tuple[str, ...]) -> None:
        options = {name for names in _leaves(tree) for name in names}
        for name, value in table.items():
            below = tree.get(name)
            if isinstance(value, dict) and isinstance(below, Mapping):
                self._check(value, below, (*path, name))
            elif isinstance(value, dict) and below is not None:
                self._check(value, {"": below}, (*path, name))
            elif _plain(name) not in options:
                known = sorted({*options, *filter(None, tree)})
                where = f" in [{'.'.join(path)}]" if path else ""
                raise self.error(f"unknown key {name}{where}{did_you_mean(_plain(name), known)}")

    def settings(self, words: Sequence[str]) -> Iterator[Setting]:
        """The settings for a command, the general ones first. Some may not be among its options."""
        table: Any = self.content
        for depth in range(len(words) + 1):
            for name, value in table.items():
                if not isinstance(value, dict) or not self._is_command(words[:depth], name):
                    yield Setting(self, ".".join((*words[:depth], name)), _plain(name), value)
            table = table.get(words[depth], {}) if depth < len(words) else {}
            if not isinstance(table, dict):
                return

    def _is_command(self, words: Sequence[str], name: str) -> bool:
        tree: Any = self.tree
        for word in words:
            tree = tree.get(word, {}) if isinstance(tree, Mapping) else {}
        return isinstance(tree, Mapping) and name in tree

    def error(self, message: str) -> UsageError:
        return UsageError(f"{self.path}: {message}")

    @property
    def is_private(self) -> bool:
        try:
            return not self.path.stat().st_mode & (stat.S_IRGRP | stat.S_IROTH)
        except OSError:
            return True


@dataclass(frozen=True)
class Setting:
    configuration: Configuration
    key: str
    """As in the file: `serve.port`."""
    option: str
    value: Any

    def checked(self, parameter: Any) -> Any:
        """The value as the option takes it. Raises if it has another type."""
        annotation = parameter.type_descriptor.annotation
        is_list = get_origin(annotation) is list
        value = self.value
        if is_list and isinstance(value, dict) and "=" in (parameter.metavar or ""):
            value = [f"{name}={each}" for name, each in _flat(value)]
        types, expected = _TYPES.get(list if is_list else annotation, _TEXT)
        right = isinstance(value, types) and (annotation is bool or not isinstance(value, bool))
        if not right or (is_list and not all(isinstance(each, str) for each in value)):
            shown = "a table" if isinstance(self.value, dict) else repr(self.value)
            raise self.configuration.error(f"{self.key} must be {expected}, not {shown}")
        return value


def find(given: str | None) -> Path | None:
    """The file to read: the given one, that of the variable, or `cauce.toml` here. An empty name means none."""
    named = os.environ.get(VARIABLE) if given is None else given
    if named is not None:
        return Path(named) if named else None
    return _here() if os.path.isfile(FILE) else None


def _here() -> Path:
    """The file in the current directory. It may name a gateway that gets our token, or a dataset whose code runs: one
    that another user could have put here is not read unasked."""
    path = Path(FILE)
    found = path.stat()
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & stat.S_IWOTH:
        raise UsageError(
            f"{FILE} in the current directory can be written by another user, and is not read; name it with "
            f'--config {FILE} to read it, or pass --config ""'
        )
    return path


def read(path: Path, tree: Tree) -> Configuration:
    import tomllib

    try:
        with path.open("rb") as file:
            made = Configuration(path, tomllib.load(file), tree)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise UsageError(f"the configuration file {path} cannot be read: {problem}") from None
    made.check_names()
    return made


def tree_of(app: Any) -> Tree:
    """The commands of a Typer application. Builds none of them, which would take a tenth of a second."""
    commands: dict[str, Tree | frozenset[str]] = {
        command_name(each): option_names(each) for each in app.registered_commands
    }
    return commands | {group.name: tree_of(group.typer_instance) for group in app.registered_groups}


def command_name(info: CommandInfo) -> str:
    return info.name or info.callback.__name__.replace("_", "-")  # type: ignore[union-attr]


def option_names(info: CommandInfo) -> frozenset[str]:
    from typer.models import OptionInfo

    assert info.callback is not None
    parameters = inspect.signature(info.callback).parameters
    return frozenset(
        name
        for name, parameter in parameters.items()
        for each in get_args(parameter.annotation)
        if isinstance(each, OptionInfo) and not each.hidden and each.expose_value
    )


def defaults(configuration: Configuration, words: Sequence[str], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The values of the file for the options of a command, by name."""
    found: dict[str, Any] = {}
    for setting in configuration.settings(words):
        if setting.option in parameters:
            found[setting.option] = setting.checked(parameters[setting.option])
    return found


def key_of(configuration: Configuration, words: Sequence[str], option: str) -> str:
    return [each.key for each in configuration.settings(words) if each.option == option][-1]


def _leaves(tree: Tree) -> Iterator[frozenset[str]]:
    for below in tree.values():
        if isinstance(below, Mapping):
            yield from _leaves(below)
        else:
            yield below


def _flat(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _plain(name: str) -> str:
    return name.replace("-", "_")
