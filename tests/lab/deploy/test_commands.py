"""Cauce's command line accepts every command in the written files."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cauce.cli.options import FABRIC, FABRIC_FILE
from cauce.job.crashes import PROVEN
from cauce.lab.deploy.plan import Plan
from tests.cli.parsing import parse
from tests.lab.deploy.conftest import PLAN
from tests.lab.deploy.reading import Process, Written

PAGE = Path(__file__).parents[3] / "docs" / "deployment.md"
COMMAND = re.compile(r"(?:^|[ `])(?:\./)?cauce ((?:submit|token|deploy)[^`\n]*)", re.MULTILINE)


def test_every_process_runs_a_command_of_cauce(written: Written) -> None:
    processes = written.processes()
    assert {process.arguments[0] for process in processes} == {"gateway", "worker", "doctor"}
    for process in processes:
        parse(process.arguments)


def variables(process: Process) -> set[str]:
    return {name for name in process.environment if name.startswith("CAUCE_")}


def test_every_variable_is_one_that_its_command_reads(written: Written) -> None:
    for process in written.processes():
        assert variables(process) == {FABRIC_FILE}
        assert FABRIC in parse(process.arguments).variables


def test_no_argument_holds_a_secret(written: Written) -> None:
    for process in written.processes():
        assert [each for each in process.arguments if re.search(r"[0-9a-f]{32}", each)] == []


def test_jobs_have_as_many_lanes_as_there_are_workers(written: Written) -> None:
    for process in written.processes():
        if process.arguments[0] == "gateway":
            limits = parse(process.arguments).given["limit"]
            assert limits == [f"lanes={PLAN.workers}", f"partitions={PLAN.workers}"]


def test_as_many_crashes_of_any_kind_quarantine_a_job_as_proven_ones_do(written: Written) -> None:
    workers = [parse(each.arguments).given for each in written.processes() if each.arguments[0] == "worker"]
    assert {given["attempts"] for given in workers} == {PROVEN}


def test_every_command_of_the_readme_is_accepted(written: Written) -> None:
    commands = COMMAND.findall(written.read("README.md"))
    assert {command.split()[0] for command in commands} == {"submit", "token", "deploy"}
    for command in commands:
        parse(shlex.split(command))


@pytest.mark.parametrize(
    "arguments",
    [["worker", "--dir", "x", "--sugar"], ["brew"], ["gateway", "--dir", "x", "--port", "many"], ["token", "create"]],
)
def test_an_invalid_command_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(arguments)
    assert ended.value.code == 2


def test_the_command_has_the_defaults_of_the_plan() -> None:
    given = parse(["deploy", "compose"]).given
    plan = Plan()
    assert (given["workers"], given["gateways"], given["doctors"]) == (plan.workers, plan.gateways, plan.doctors)
    assert (given["image"], given["broker_image"], given["name"]) == (plan.image, plan.broker_image, plan.name)
    assert given["port"] == plan.port


def test_the_commands_of_the_deployment_page_are_valid() -> None:
    commands = re.findall(r"^\./cauce (.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [command.split()[1] for command in commands] == ["compose", "kubernetes", "helm"]
    for command in commands:
        parse(shlex.split(command))


def test_the_deployment_page_documents_every_option() -> None:
    page = PAGE.read_text(encoding="utf-8")
    given = {**parse(["deploy", "compose"]).given, **parse(["deploy", "kubernetes"]).given}
    options = {name.replace("_", "-") for name in given}
    assert [option for option in sorted(options) if f"`--{option}" not in page] == []
