"""Options from variables and the configuration file: precedence, types, errors that name file and key."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from cauce.cli.entry import entry
from cauce.errors import UsageError
from tests.cli.parsing import commands, parse

OPTIONS = {
    name: {each.name: each for each in command.params if each.param_type_name == "option"}
    for name, command in commands().items()
    if not hasattr(command, "commands") and name != "bench"
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def given(toml: str, *arguments: str) -> dict[str, Any]:
    Path("cauce.toml").write_text(toml)
    return parse(list(arguments)).given


def refused(toml: str, *arguments: str) -> str:
    with pytest.raises(UsageError) as problem:
        given(toml, *arguments)
    return str(problem.value)


SERVE = ("serve", "--dir", "x")


def test_file_in_the_current_directory_sets_an_option() -> None:
    assert given("[serve]\nport = 9000", *SERVE)["port"] == 9000


def test_variable_overrides_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUCE_SERVE_PORT", "9001")
    assert given("[serve]\nport = 9000", *SERVE)["port"] == 9001


def test_option_overrides_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUCE_SERVE_PORT", "9001")
    assert given("[serve]\nport = 9000", *SERVE, "--port", "9002")["port"] == 9002


def test_default_is_used_without_any() -> None:
    assert given("", *SERVE)["port"] == 8080


def test_file_of_the_option_is_read_instead(here: Path) -> None:
    (here / "other.toml").write_text("[serve]\nport = 1")
    assert given("[serve]\nport = 2", *SERVE, "--config", "other.toml")["port"] == 1


def test_file_of_the_option_before_the_command_is_read(here: Path) -> None:
    (here / "other.toml").write_text("[serve]\nport = 1")
    assert given("[serve]\nport = 2", "--config", "other.toml", *SERVE)["port"] == 1


def test_file_of_the_variable_is_read(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "other.toml").write_text("[serve]\nport = 1")
    monkeypatch.setenv("CAUCE_CONFIG", "other.toml")
    assert given("[serve]\nport = 2", *SERVE)["port"] == 1


def test_empty_name_means_no_file() -> None:
    assert given("[serve]\nport = 2", *SERVE, "--config", "")["port"] == 8080


def test_key_outside_of_tables_is_for_every_command_with_the_option() -> None:
    toml = 'gateway = ["http://a:1"]\ndir = "service"'
    assert given(toml, "jobs")["gateway"] == ["http://a:1"]
    assert given(toml, "serve")["dir"] == Path("service")
    assert "gateway" not in given(toml, "serve")


def test_table_of_a_command_overrides_a_shared_key() -> None:
    assert given("workers = 3\n[serve]\nworkers = 4", *SERVE)["workers"] == 4


def test_table_of_a_group_is_shared_by_its_commands() -> None:
    toml = "[deploy]\nworkers = 3\n[deploy.compose]\ngateways = 5"
    compose = given(toml, "deploy", "compose")
    assert (compose["workers"], compose["gateways"]) == (3, 5)
    kubernetes = given(toml, "deploy", "kubernetes")
    assert (kubernetes["workers"], kubernetes["gateways"]) == (3, 2)


def test_option_with_dashes_is_named_with_dashes_or_underscores() -> None:
    assert given("[serve]\npower-safe = true", *SERVE)["power_safe"] is True
    assert given("[serve]\npower_safe = true", *SERVE)["power_safe"] is True


def test_names_with_values_may_be_a_table() -> None:
    given_timing = given("[serve.timing]\nhung = 60\nlost = 2.5", *SERVE)["timing"]
    assert given_timing == ["hung=60", "lost=2.5"]
    assert given('[sql.type]\norders.paid = "decimal"', "sql", "x")["type"] == ["orders.paid=decimal"]


def test_key_that_is_also_the_name_of_a_command_is_an_option_if_it_is_not_a_table() -> None:
    assert given('watch = "ring"', *SERVE)["watch"] == "ring"


def test_unknown_key_is_an_error_with_file_table_and_suggestion() -> None:
    assert refused("[serve]\nprt = 1", "jobs") == "cauce.toml: unknown key prt in [serve]; did you mean port?"


def test_unknown_table_is_an_error() -> None:
    assert refused("[server]\nport = 1", "jobs") == "cauce.toml: unknown key server; did you mean serve?"


@pytest.mark.parametrize("hidden", ["generation", "end_with", "config"])
def test_internal_options_are_no_keys(hidden: str) -> None:
    assert f"unknown key {hidden}" in refused(f'{hidden} = "1"', "jobs")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('port = "x"', "serve.port must be a whole number, not 'x'"),
        ("port = true", "serve.port must be a whole number, not True"),
        ("port = 1.5", "serve.port must be a whole number, not 1.5"),
        ("host = 5", "serve.host must be a text in quotes, not 5"),
        ("power_safe = 1", "serve.power_safe must be true or false, not 1"),
        ('limit = "jobs=5"', "serve.limit must be an array of texts, not 'jobs=5'"),
        ("limit = [5]", "serve.limit must be an array of texts, not [5]"),
        ("[serve.host]\nx = 1", "serve.host must be a text in quotes, not a table"),
    ],
)
def test_value_of_a_wrong_type_is_an_error_with_file_and_key(line: str, expected: str) -> None:
    assert refused(f"[serve]\n{line}", *SERVE) == f"cauce.toml: {expected}"


def test_value_out_of_range_is_an_error_with_file_and_key() -> None:
    assert refused("[serve]\nport = 99999", *SERVE).startswith("cauce.toml: invalid value of serve.port: ")


def test_invalid_variable_is_an_error_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUCE_SERVE_PORT", "many")
    assert refused("", *SERVE).startswith("invalid value of the variable CAUCE_SERVE_PORT: ")


def test_file_that_is_not_toml_is_an_error_with_the_line() -> None:
    assert "cauce.toml cannot be read" in refused("[serve\n", "jobs")


def test_missing_file_is_an_error() -> None:
    assert "gone.toml cannot be read" in refused("", "jobs", "--config", "gone.toml")


@pytest.mark.parametrize("words", OPTIONS)
def test_every_option_has_a_variable_and_is_named_as_its_key(words: str) -> None:
    for name, option in OPTIONS[words].items():
        if not option.hidden and name != "config":
            assert option.envvar or option.allow_from_autoenv, name
            assert f"--{name.replace('_', '-')}" in option.opts


def test_no_two_options_have_the_same_variable() -> None:
    seen: dict[str, str] = {}
    for words, options in OPTIONS.items():
        for name, option in options.items():
            if option.envvar is None:
                variable = "_".join(["CAUCE", *words.split(), name]).upper()
                assert seen.setdefault(variable, words) == words


def test_version_is_not_requested_by_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CAUCE_VERSION", "0.2.0")
    assert given("", "jobs")


def test_secret_in_a_file_that_others_can_read_gives_a_warning(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "cauce.toml").touch(mode=0o644)
    assert given('token = "t"', "jobs")["token"] == "t"
    assert "chmod 600 cauce.toml" in capsys.readouterr().err


def test_secret_in_a_private_file_gives_no_warning(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    (here / "cauce.toml").touch(mode=0o600)
    given('token = "t"', "jobs")
    assert capsys.readouterr().err == ""


def test_file_named_by_a_variable_overrides_a_secret_of_the_configuration(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "token").write_text("from variable\n")
    (here / "cauce.toml").touch(mode=0o600)
    monkeypatch.setenv("CAUCE_TOKEN_FILE", "token")
    assert given('token = "from file"', "jobs")["token"] == "from variable"


def test_file_that_another_user_can_write_is_read_only_if_it_is_named(here: Path) -> None:
    (here / "cauce.toml").touch()
    (here / "cauce.toml").chmod(0o666)
    assert "can be written by another user" in refused("[serve]\nport = 1", *SERVE)
    assert given("[serve]\nport = 1", *SERVE, "--config", "cauce.toml")["port"] == 1
    assert given("[serve]\nport = 1", *SERVE, "--config", "")["port"] == 8080


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a file to another user")
def test_file_of_another_user_is_read_only_if_it_is_named(here: Path) -> None:
    (here / "cauce.toml").touch(mode=0o644)
    os.chown(here / "cauce.toml", 12345, 12345)
    assert "can be written by another user" in refused("", *SERVE)


def test_kept_dataset_on_the_command_line_replaces_the_files_of_the_configuration() -> None:
    found = given('data = "files"', "submit", "coffee", "--on", "kept")
    assert (found["data"], found["on"]) == (None, "kept")


def printed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str) -> tuple[str, str]:
    monkeypatch.setattr(sys, "argv", ["cauce", *arguments])
    with pytest.raises(SystemExit):
        entry()
    output = capsys.readouterr()
    return output.out, output.err


def test_config_checks_values_of_all_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("cauce.toml").write_text("[serve]\nport = 99999\n")
    _, error = printed(capsys, monkeypatch, "config")
    assert "cauce.toml: invalid value of serve.port for serve: " in error
    Path("cauce.toml").write_text("[serve]\nport = 9999\nhost='::1'\n")
    assert printed(capsys, monkeypatch, "config")[0] == "cauce.toml: 2 settings, all valid\n"


def test_config_shows_values_with_their_sources_without_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("cauce.toml").touch(mode=0o600)
    Path("cauce.toml").write_text('fabric = "amqp://me:hidden@host/"\n[serve]\nport = 9999\n')
    monkeypatch.setenv("CAUCE_SERVE_WORKERS", "7")
    shown, _ = printed(capsys, monkeypatch, "config", "serve")
    rows = {line.split()[1]: line for line in shown.splitlines() if "--" in line}
    assert "cauce.toml: serve.port" in rows["--port"]
    assert "CAUCE_SERVE_WORKERS" in rows["--workers"]
    assert "hidden" not in shown
