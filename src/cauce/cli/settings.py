"""The options of gateways, checked and turned into their settings."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cauce.cli.invocation import command
from cauce.cli.output import warn
from cauce.errors import UsageError, unknown

if TYPE_CHECKING:
    from cauce.cli.bodies import Launching
    from cauce.gateway.settings import GatewaySettings


def checked(given: Launching, folder: Path, *, shared: bool = False) -> Launching:
    """Before anything is started: a dataset that cannot be used, a port that is taken, an address that is not ours.
    A `shared` port may be in use by gateways of the same service."""
    from cauce.gateway.catalogue import catalogue
    from cauce.gateway.jobs import register as register_datasets
    from cauce.gateway.process import needs_token
    from cauce.gateway.tokens import FILE, read_tokens

    place = given.place()
    place.check()
    for each in given.allow_files:
        if not Path(each).is_dir():
            raise UsageError(f"--allow-files {each} is not a directory")
    for info in catalogue(register_datasets([Path(each) for each in given.datasets])).datasets:
        if info.error:
            warn(f"dataset {info.name} cannot be used, and is listed as unavailable: {info.error}")
    with replace(place, shared=shared).bind() as bound:
        remote = given.require_token or needs_token(bound)
    file = Path(given.tokens) if given.tokens else folder / FILE
    if not read_tokens(file) and remote:
        warn(
            f"clients of {given.host} need a token, and there is none yet; create one with: "
            f"{command('token', 'create', 'NAME', '--dir', str(folder))}"
        )
    found = {"remote": remote, "tokens": str(file.resolve())}
    paths = {name: [str(Path(each).resolve()) for each in getattr(given, name)] for name in ("datasets", "allow_files")}
    made = _replaced(given, **found, **paths)
    gateway_settings(made, folder)
    return made


def gateway_settings(given: Launching, folder: Path) -> GatewaySettings:
    from cauce.gateway.limits import ServiceLimits
    from cauce.gateway.settings import GatewaySettings

    lanes = max(given.lanes, 1)
    settings = GatewaySettings(
        folder.resolve(),
        Path(given.tokens),
        given.remote,
        ServiceLimits(references=tuple(map(Path, given.allow_files)), lanes=lanes, partitions=lanes),
        tuple(map(Path, given.datasets)),
        "power" if given.power_safe else "process",
        fabric=given.fabric,
    )
    return _limited(settings, given.limits)


def _limited(settings: GatewaySettings, given: list[str]) -> GatewaySettings:
    """With limits given as NAME=NUMBER, those of the jobs and those of a gateway itself."""
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


def _replaced(given: Launching, **changed: object) -> Launching:
    import msgspec

    return msgspec.structs.replace(given, **changed)
