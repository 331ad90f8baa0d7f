from __future__ import annotations

from typing import Any

import pytest

from cauce.errors import UsageError
from cauce.lab.deploy.plan import Plan


@pytest.mark.parametrize(
    "image", ["cauce", "cauce:1", "registry.example:5000/team/cauce:1.0-rc_1", "ghcr.io/a/b@sha256:" + "0" * 64]
)
def test_names_of_images_are_accepted(image: str) -> None:
    Plan(image=image).check()


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"image": "Cauce Image"}, "--image Cauce Image is not the name of an image"),
        ({"image": "x\ny"}, "is not the name of an image"),
        ({"broker_image": ""}, "--broker-image  is not the name of an image"),
        ({"broker_image": "rabbitmq:3.12"}, "too old: 3.13"),
        ({"name": "My_Cluster"}, "--name My_Cluster is invalid"),
        ({"name": "x" * 41}, "is invalid: use at most 40"),
        ({"port": 65535}, "--port 65535 is too high for 2 gateways"),
    ],
)
def test_an_error_names_the_wrong_option(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as raised:
        Plan(**wrong).check()
    assert sentence in str(raised.value)


@pytest.mark.parametrize(
    ("image", "version"),
    [("rabbitmq:4.1", (4, 1)), ("rabbitmq:4.2.3-management", (4, 2)), ("own.example:5000/rabbitmq:3.13", (3, 13))],
)
def test_the_version_of_the_broker_is_that_of_its_tag(image: str, version: tuple[int, ...]) -> None:
    assert Plan(broker_image=image).broker_version == version


def test_a_tag_without_a_version_means_the_newest_known_one() -> None:
    assert Plan(broker_image="rabbitmq:latest").broker_version == Plan().broker_version
