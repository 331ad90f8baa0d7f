"""Validates the options of gateways and converts them to settings."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cauce.errors import UsageError, unknown
from cauce.terminal.console import warn
from cauce.terminal.invocation import command

if TYPE_CHECKING:
    from cauce.gateway.settings import GatewaySettings
    from cauce.service.entrypoints import ServiceConfig


def checked(given: ServiceConfig, folder: Path, *, shared: bool = False) -> ServiceConfig:
    """Validates datasets, port and address before any process is started. Returns the options with resolved paths.
    A `shared` port may be in use by gateways of the same service."""
    from cauce.datasets.registry import Registry
    from cauce.fabric.address import folder_of
    from cauce.gateway.jobs.catalogue import catalogue
    from cauce.gateway.process import needs_token
    from cauce.gateway.tokens import FILE, read_tokens

    place = given.place()
    place.check()
    root = folder_of(given.address(folder))
    for each in given.allow_files:
        _check_allowed(Path(each), [folder.resolve(), *([root] if root is not None else [])])
    Registry(given.datasets).check()
    # Without the built-in ones: planning them would start Polars threads, and forks would deadlock on their locks.
    for info in catalogue(Registry(given.datasets, built_in=())):
        if info.error:
            warn(f"dataset {info.name} cannot be used and is listed as unavailable: {info.error}")
    with replace(place, shared=shared).bind() as bound:
        remote = given.require_token or needs_token(bound)
    file = Path(given.tokens) if given.tokens else folder / FILE
    if not read_tokens(file) and remote:
        warn(
            f"clients of {given.host} need a token, and no token exists yet; create one with: "
            f"{command('token', 'create', 'NAME', '--dir', str(folder))}"
        )
    found: dict[str, object] = {"remote": remote, "tokens": str(file.resolve())}
    if given.fabric and root is not None:
        # Processes in containers have another working directory.
        found["fabric"] = f"files:{root}"
    paths = {name: [str(Path(each).resolve()) for each in getattr(given, name)] for name in ("datasets", "allow_files")}
    made = msgspec.structs.replace(given, **found, **paths)
    gateway_settings(made, folder)
    return made


def _check_allowed(path: Path, own: list[Path]) -> None:
    """Raises a UsageError if a directory that clients may read is inside a directory of the service."""
    if not path.is_dir():
        raise UsageError(f"--allow-files {path} is not a directory")
    for folder in own:
        if path.resolve().is_relative_to(folder):
            raise UsageError(
                f"--allow-files {path} is inside the service's own directory {folder}, which clients must not read; "
                "choose a directory outside it"
            )


def gateway_settings(given: ServiceConfig, folder: Path) -> GatewaySettings:
    from cauce.gateway.limits import ServiceLimits
    from cauce.gateway.settings import GatewaySettings
    from cauce.job.manifest import MemoryShares

    lanes = max(given.lanes, 1)
    settings = GatewaySettings(
        folder.resolve(),
        Path(given.tokens),
        given.remote,
        ServiceLimits(
            references=tuple(map(Path, given.allow_files)),
            private=_private(given, folder.resolve()),
            lanes=lanes,
            partitions=lanes,
            memory=MemoryShares.of(given.budget),
        ),
        tuple(map(Path, given.datasets)),
        "power" if given.power_safe else "process",
        fabric=given.fabric,
    )
    return _limited(settings, given.limits)


def _private(given: ServiceConfig, folder: Path) -> tuple[Path, ...]:
    """Directories and files of the service itself, which no client may read."""
    from cauce.fabric.address import ADDRESS_FILE_VARIABLE, private_paths

    files = (given.tokens, given.tls_cert, given.tls_key, given.key_file, os.environ.get(ADDRESS_FILE_VARIABLE))
    named = [folder, *(Path(each) for each in files if each), *private_paths(given.address(folder))]
    return tuple(dict.fromkeys(named))


def _limited(settings: GatewaySettings, given: list[str]) -> GatewaySettings:
    """Applies limits given as NAME=NUMBER, of jobs and of the gateway itself."""
    of_jobs, own = ({name: value for name, value in vars(each).items() if type(value) in (int, float)}
                    for each in (settings.limits, settings))  # fmt: skip
    for text in given:
        name, _, value = text.partition("=")
        place = of_jobs if name in of_jobs else own
        try:
            number = type(place[name])(value)
        except (KeyError, ValueError):
            raise _invalid_limit(text, {**of_jobs, **own}) from None
        if not number >= 1:
            raise UsageError(f"invalid --limit {text}; the value must be at least 1")
        place[name] = number
    return replace(settings, limits=replace(settings.limits, **of_jobs), **own)


def _invalid_limit(text: str, known: dict[str, float]) -> UsageError:
    name, _, value = text.partition("=")
    if name in known:
        return UsageError(f"invalid value {value!r} of --limit {name}; expected a number, as in {name}={known[name]}")
    return unknown("limit", name, [f"{each}={known[each]}" for each in sorted(known)])
