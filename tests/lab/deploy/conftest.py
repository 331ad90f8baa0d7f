"""A written deployment for each platform; tests only read them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import cauce
from cauce.lab.deploy.deployment import PLATFORMS, Platform, deploy
from cauce.lab.deploy.plan import Plan
from tests.lab.deploy.reading import Written

PACKAGE = Path(cauce.__file__).parent
PLAN = Plan(workers=5, gateways=2, doctors=3, image="registry.example/cauce:1.0")


@pytest.fixture(scope="session")
def written_folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Platform, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to issue certificates with")
    folders = {platform: tmp_path_factory.mktemp(platform) for platform in PLATFORMS}
    for platform, folder in folders.items():
        deploy(platform, PLAN, folder, PACKAGE)
    return folders


@pytest.fixture(params=("compose", "kubernetes"))
def written(request: pytest.FixtureRequest, written_folders: dict[Platform, Path]) -> Written:
    return Written(request.param, written_folders[request.param])


@pytest.fixture
def compose(written_folders: dict[Platform, Path]) -> Written:
    return Written("compose", written_folders["compose"])


@pytest.fixture
def kubernetes(written_folders: dict[Platform, Path]) -> Written:
    return Written("kubernetes", written_folders["kubernetes"])


@pytest.fixture
def helm(written_folders: dict[Platform, Path]) -> Path:
    return written_folders["helm"]


@pytest.fixture(scope="session")
def operator(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """A deployment whose RabbitMQ the Cluster Operator runs."""
    folder = tmp_path_factory.mktemp("operator")
    deploy("kubernetes", replace(PLAN, operator=True), folder, PACKAGE)
    return Written("kubernetes", folder)
