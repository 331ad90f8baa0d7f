from __future__ import annotations

from typing import Any

import pytest

from cauce.deploy.plan import BROKER_IMAGE, Plan, checked
from cauce.deploy.sizes import GI
from cauce.errors import UsageError

GIVEN: dict[str, Any] = {
    "workers": 8,
    "gateways": 2,
    "doctors": 3,
    "name": "cauce",
    "image": "cauce:latest",
    "broker_image": BROKER_IMAGE,
    "port": 8080,
    "storage": "20Gi",
    "memory": "2Gi",
    "broker_memory": "2Gi",
}


def test_the_defaults_of_the_command_are_those_of_the_plan() -> None:
    assert checked(**GIVEN) == Plan()


def test_sizes_become_bytes() -> None:
    assert checked(**{**GIVEN, "storage": "30Gi"}).storage == 30 * GI


@pytest.mark.parametrize(
    "image", ["cauce", "cauce:1", "registry.example:5000/team/cauce:1.0-rc_1", "ghcr.io/a/b@sha256:" + "0" * 64]
)
def test_names_of_images_are_taken(image: str) -> None:
    assert checked(**{**GIVEN, "image": image}).image == image


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"image": "Cauce Image"}, "--image Cauce Image is no name of an image"),
        ({"image": "x\ny"}, "is no name of an image"),
        ({"broker_image": ""}, "--broker-image  is no name of an image"),
        ({"broker_image": "rabbitmq:3.12"}, "too old: 3.13"),
        ({"name": "My_Cluster"}, "--name My_Cluster cannot be a name"),
        ({"name": "x" * 41}, "cannot be a name"),
        ({"port": 65535}, "leaves no room for 2 gateways"),
        ({"storage": "1Gi"}, "--storage 1Gi is too little"),
        ({"memory": "lots"}, "--memory lots is no size"),
        ({"broker_memory": "1Mi"}, "--broker-memory 1Mi is too little"),
    ],
)
def test_a_wrong_option_is_told_by_its_name(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as told:
        checked(**{**GIVEN, **wrong})
    assert sentence in str(told.value)


@pytest.mark.parametrize(
    ("image", "version"),
    [("rabbitmq:4.1", (4, 1)), ("rabbitmq:4.2.3-management", (4, 2)), ("own.example:5000/rabbitmq:3.13", (3, 13))],
)
def test_the_version_of_the_broker_is_that_of_its_tag(image: str, version: tuple[int, ...]) -> None:
    assert Plan(broker_image=image).broker_version == version


def test_a_tag_without_a_version_counts_as_the_one_we_know() -> None:
    assert Plan(broker_image="rabbitmq:latest").broker_version == Plan().broker_version
