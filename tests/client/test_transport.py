"""Requests reach a gateway whatever happens on the way, and are given up in time when nothing helps."""

from __future__ import annotations

import io
import random
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from cauce.client.transport import Broken, Stopped, Transport, is_loopback
from cauce.errors import Refused, RefusedRequest, Unreachable, UsageError
from tests.client.fake import Fake, FakeJob

HURRIED_S = 0.4


@pytest.fixture
def fake() -> Iterator[Fake]:
    with Fake() as running:
        running.jobs["j"] = FakeJob({"dataset": "books", "queries": []})
        yield running


def transport(*urls: str, patience_s: float = 20.0, token: str | None = None) -> Transport:
    return Transport(urls, token, patience_s=patience_s, chance=random.Random(1))


def dead_address() -> str:
    """One that nobody listens on."""
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{reserved.getsockname()[1]}"


@pytest.mark.parametrize("what", ["drop", "forget", "refuse", "torn"])
def test_a_request_that_fails_a_few_times_is_said_again(fake: Fake, what: str) -> None:
    fake.fail("GET /v1/jobs/j", what, times=3)  # type: ignore[arg-type]
    assert transport(fake.url).request("GET", "/v1/jobs/j").status == 200
    assert fake.count("GET /v1/jobs/j") == 4


@pytest.mark.parametrize("status", [429, 503, 425])
def test_retry_after_is_waited_for(fake: Fake, status: int) -> None:
    fake.fail("GET", "refuse", status=status, retry_after="0.3")
    transport(fake.url).request("GET", "/v1/jobs/j")
    first, second = fake.seen
    assert second.at - first.at >= 0.3


def test_a_retry_after_that_is_no_number_does_no_harm(fake: Fake) -> None:
    fake.fail("GET", "refuse", status=429, retry_after="soon")
    assert transport(fake.url).request("GET", "/v1/jobs/j").status == 200


def test_what_is_refused_for_good_is_not_asked_again(fake: Fake) -> None:
    fake.fail("PUT", "refuse", status=409, code="part-differs")
    with pytest.raises(Refused, match="it is part-differs") as refusal:
        transport(fake.url).request("PUT", "/v1/jobs/j", b"{}")
    assert (refusal.value.status, refusal.value.code) == (409, "part-differs")
    assert not isinstance(refusal.value, UsageError)
    assert fake.count("PUT") == 1


def test_a_job_that_is_not_there_is_a_wrong_request(fake: Fake) -> None:
    with pytest.raises(RefusedRequest) as refusal:
        transport(fake.url).request("GET", "/v1/jobs/none")
    assert refusal.value.code == "no-such-job"


def test_an_answer_that_is_no_problem_json_is_told_by_its_status(fake: Fake) -> None:
    with pytest.raises(Refused, match="404"):
        transport(fake.url).request("HEAD", "/v1/nothing")


@pytest.mark.parametrize("seed", range(4))
def test_a_dead_gateway_among_several_is_passed_over(fake: Fake, seed: int) -> None:
    several = [dead_address(), fake.url, dead_address()]
    over = Transport(several, patience_s=20, chance=random.Random(seed))
    started = time.monotonic()
    for _ in range(5):
        assert over.request("GET", "/v1/jobs/j").status == 200
    # Without a pause between the first looks at each: nothing is gained by waiting.
    assert time.monotonic() - started < 10


def test_a_gateway_that_says_503_is_left_for_another(fake: Fake) -> None:
    with Fake(beside=fake) as other:
        fake.fail("GET", "refuse", times=1000)
        over = transport(fake.url, other.url)
        for _ in range(3):
            over.request("GET", "/v1/jobs/j")
        assert other.count("GET") == 3
        assert fake.count("GET") <= 1


def test_silence_is_borne_only_so_long() -> None:
    with pytest.raises(
        Unreachable, match=r"no gateway has answered for 0\.4 s .*[Rr]efused.*see that the service runs"
    ):
        transport(dead_address(), patience_s=HURRIED_S).request("GET", "/v1/jobs")


def test_what_a_gateway_says_again_and_again_is_what_the_caller_hears(fake: Fake) -> None:
    fake.fail("PUT", "refuse", times=1000, status=429, code="too-many-jobs")
    with pytest.raises(Refused) as refusal:
        transport(fake.url, patience_s=HURRIED_S).request("PUT", "/v1/jobs/x", b"{}")
    assert refusal.value.code == "too-many-jobs"


def test_patience_begins_anew_with_every_success(fake: Fake) -> None:
    over = transport(fake.url, patience_s=1.0)
    stop = threading.Event()

    def succeed() -> None:
        while not stop.wait(0.05):
            over.request("GET", "/v1/jobs/j")

    helper = threading.Thread(target=succeed)
    helper.start()
    try:
        fake.fail("PUT", "refuse", times=6, status=429, retry_after="0.25")
        assert over.request("PUT", "/v1/jobs/j", b'{"dataset": "books", "queries": []}').status == 200
    finally:
        stop.set()
        helper.join()


def test_a_caller_who_gives_up_is_not_kept(fake: Fake) -> None:
    fake.fail("GET", "refuse", times=1000, status=429, retry_after="60")
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    with pytest.raises(Stopped):
        transport(fake.url, patience_s=1000).request("GET", "/v1/jobs/j", stop=stop)


def test_a_download_that_broke_is_begun_anew(fake: Fake) -> None:
    fake.jobs["j"].answers["q1"] = [[number, "x" * 50] for number in range(5000)]
    fake.fail("GET .*results", "torn", times=2)
    into = io.BytesIO()
    transport(fake.url).download("/v1/jobs/j/results/q1", "text/csv", into)
    assert into.getvalue() == b"a,b\n" + b"".join(b"%d,%s\n" % (number, b"x" * 50) for number in range(5000))


def test_a_download_that_is_refused_writes_nothing(fake: Fake) -> None:
    fake.fail("GET .*results", "refuse", status=404, code="no-such-query")
    into = io.BytesIO()
    with pytest.raises(Refused):
        transport(fake.url).download("/v1/jobs/j/results/q1", "text/csv", into)
    assert into.getvalue() == b""


def test_events_that_break_off_are_told(fake: Fake) -> None:
    fake.fail("GET .*events", "torn")
    with pytest.raises(Broken):
        list(transport(fake.url).events("/v1/jobs/j/events"))
    (event,) = transport(fake.url).events("/v1/jobs/j/events")
    assert event.startswith(b'{"owner"')


def test_the_token_travels_with_every_request(fake: Fake) -> None:
    fake.token = "secret"
    assert transport(fake.url, token="secret").request("GET", "/v1/jobs/j").status == 200
    with pytest.raises(RefusedRequest) as refusal:
        transport(fake.url, token="other").request("GET", "/v1/jobs/j")
    assert refusal.value.status == 401
    assert "other" not in str(refusal.value)


def test_connections_are_kept(fake: Fake) -> None:
    over = transport(fake.url)
    for _ in range(5):
        over.request("GET", "/v1/jobs/j")
    assert over.gateways[0].pool.num_connections == 1


@pytest.mark.parametrize("address", ["ftp://a", "http://", "http://a/b", "http://a?x=1", "http://u:p@a", "http://a:b"])
def test_an_address_that_is_none_is_a_wrong_request(address: str) -> None:
    with pytest.raises(UsageError, match="is no address of a gateway"):
        Transport([address])


def test_no_address_at_all_is_a_wrong_request() -> None:
    with pytest.raises(UsageError, match="no gateway was named"):
        Transport([])


@pytest.mark.parametrize(
    ("host", "is_it"), [("127.0.0.1", True), ("[::1]", True), ("localhost", True), ("10.0.0.1", False), ("a.b", False)]
)
def test_loopback_addresses_are_known(host: str, is_it: bool) -> None:
    assert is_loopback(host) is is_it
    assert Transport([f"http://{host}:80"]).loopback is is_it
