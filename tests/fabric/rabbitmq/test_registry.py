"""The registry is a pure function of its facts in order: all readers get the same state."""

from __future__ import annotations

from itertools import permutations

from cauce.fabric.names import Log
from cauce.fabric.rabbitmq.queues import garbage_of
from cauce.fabric.rabbitmq.registry import (
    Create,
    Delete,
    Fact,
    Finished,
    LogGroups,
    Made,
    Offer,
    Offered,
    Refill,
    Registry,
    Remake,
    Renew,
    Swept,
    Trim,
    dump,
    load,
)


def after(*facts: Fact, start: int = 0) -> Registry:
    registry = Registry()
    for offset, fact in enumerate(facts, start=start):
        registry.apply(offset, load(dump([fact])))
    return registry


def manifests(registry: Registry) -> dict[str, bytes]:
    return {name: registry.jobs[name].manifest for name in registry.in_order()}


def test_the_first_creation_wins() -> None:
    assert manifests(after(Create("j", "1", b"a"), Create("j", "2", b"b"))) == {"j": b"a"}


def test_jobs_are_listed_by_their_creation() -> None:
    facts = [Create(name, name, b"") for name in "mzakb"]
    assert after(*facts, Create("a", "2", b"")).in_order() == list("mzakb")


def test_after_a_deletion_the_next_creation_wins() -> None:
    facts = (Create("j", "1", b"a"), Create("j", "2", b"b"), Delete("1"), Create("j", "3", b"c"))
    assert manifests(after(*facts)) == {"j": b"c"}
    assert manifests(after(*facts, Delete("1"), Delete("2"))) == {"j": b"c"}


def test_an_incarnation_is_never_revived() -> None:
    gone = (Create("j", "1", b"a"), Delete("1"))
    standing = after(gone[0]).jobs["j"].standing()
    assert manifests(after(*gone, gone[0])) == {}
    assert manifests(after(*gone, Renew(1, [standing]))) == {}
    assert manifests(after(*gone, LogGroups("1", ["s"]), Offer("1", "q", ["t"], "x"), Trim("1", []))) == {}


def test_duplicate_facts_change_nothing() -> None:
    facts: list[Fact] = [
        Create("j", "1", b"a"),
        LogGroups("1", ["s", "r"]),
        Offer("1", "q", ["t", "u"], "x"),
        Offered("1", "x"),
        Trim("1", ["s.a"]),
    ]
    once = after(*facts).jobs["j"]
    assert after(*(fact for fact in facts for _ in range(2))).jobs["j"].standing() == once.standing()
    assert after(*facts, *facts[:2]).jobs["j"].standing() == once.standing()


def test_the_first_offer_of_a_task_wins() -> None:
    job = after(Create("j", "1", b""), Offer("1", "q", ["a", "b"], "x"), Offer("1", "q", ["b", "c"], "y")).jobs["j"]
    assert job.offers == {"q": {"a": "x", "b": "x", "c": "y"}}


def test_a_replacement_offer_wins_only_over_an_unpublished_one() -> None:
    first = (Create("j", "1", b""), Offer("1", "q", ["a"], "x"))
    mended = (*first, Offer("1", "q", ["a"], "y", "x"), Offer("1", "q", ["a"], "z", "x"))
    assert after(*mended).jobs["j"].offers["q"] == {"a": "y"}
    fulfilled = (*first, Offered("1", "x"), Offer("1", "q", ["a"], "y", "x"))
    assert after(*fulfilled).jobs["j"].offers["q"] == {"a": "x"}


def test_lost_tasks_are_enqueued_again_once() -> None:
    facts = (Create("j", "1", b""), Offer("1", "q", ["a", "b"], "x"), Offered("1", "x"), Finished("1", "q", ["a"]))
    job = after(*facts, *(Refill("1", "q", ["b"], token, 1) for token in "yz"), Refill("1", "q", ["b"], "v", 3)).jobs[
        "j"
    ]
    assert job.offers["q"] == {"a": "x", "b": "y"}
    assert job.rounds == {"q": 1}
    assert job.under_way
    assert job.open_tasks("q") == ["b"]
    assert garbage_of("ns", job) == ["ns.1.lease.q", "ns.1.lease1.q"]


def test_a_trimmed_job_accepts_no_tasks() -> None:
    assert after(Create("j", "1", b""), Trim("1", []), Offer("1", "q", ["a"], "x")).jobs["j"].offers == {}


def test_a_second_trim_restores_no_log() -> None:
    job = after(Create("j", "1", b""), Trim("1", ["a", "b"]), Trim("1", ["b", "c"])).jobs["j"]
    assert [log for log in "abc" if job.accepts(Log(log))] == ["b"]


def test_garbage_of_trimmed_and_deleted_jobs() -> None:
    facts = (
        Create("j", "1", b""),
        LogGroups("1", ["raw", "home", "edges1"]),
        Offer("1", "q", ["t"], "x"),
    )
    trimmed = after(*facts, Trim("1", ["home.answer", "home.reports"]))
    assert garbage_of("ns", trimmed.unswept["1"]) == ["ns.1.edges1", "ns.1.raw", "ns.1.lease.q"]
    deleted = after(*facts, Delete("1"))
    assert garbage_of("ns", deleted.unswept["1"]) == ["ns.1.edges1", "ns.1.home", "ns.1.raw", "ns.1.lease.q"]
    assert not after(*facts, Delete("1"), Swept("1")).unswept


def test_pending_declarations_are_tracked() -> None:
    started: list[Fact] = [Create("j", "1", b""), LogGroups("1", ["s", "r"]), Offer("1", "q", ["t"], "x"), Delete("1")]
    for last in permutations([Made("1", ["s"]), Made("1", ["r"]), Offered("1", "x")]):
        for count in range(3):
            assert after(*started, *last[:count]).unswept["1"].under_way
        assert not after(*started, *last).unswept["1"].under_way


def test_a_deleted_job_accepts_no_streams_or_tasks() -> None:
    job = after(Create("j", "1", b""), Delete("1"), LogGroups("1", ["s"]), Offer("1", "q", ["t"], "x")).unswept["1"]
    assert not job.under_way
    assert not job.accepts(Log("s", "log"))


def test_a_late_reader_restores_the_state_from_renewals() -> None:
    facts = (
        Create("j", "1", b"a"),
        Create("i", "2", b"b"),
        LogGroups("1", ["s"]),
        Made("1", ["s"]),
        Offer("1", "q", ["t"], "x"),
        Offered("1", "x"),
        Refill("1", "q", ["t"], "y", 1),
        Finished("1", "q", ["t"]),
        Trim("1", ["s.a"]),
    )
    early = after(*facts)
    renewal = Renew(early.next, [job.standing() for job in early.jobs.values()])
    late = after(renewal, start=early.next)
    assert late.in_order() == early.in_order() == ["j", "i"]
    for name in early.jobs:
        assert late.jobs[name].standing() == early.jobs[name].standing()


def test_a_renewal_is_ignored_by_a_reader_that_missed_facts_since() -> None:
    """Retention may have dropped a deletion after the renewal."""
    standing = after(Create("j", "1", b"a")).jobs["j"].standing()
    assert manifests(after(Renew(1, [standing]), start=5)) == {}
    assert manifests(after(Delete("1"), Renew(5, [standing]), start=5)) == {}
    assert manifests(after(Renew(5, [standing]), start=5)) == {"j": b"a"}


def test_a_renewal_wins_over_a_later_creation() -> None:
    standing = after(Create("j", "1", b"a")).jobs["j"].standing()
    assert manifests(after(Create("j", "2", b"b"), Renew(10, [standing]), start=10)) == {"j": b"a"}


def test_readers_from_any_offset_agree_on_later_jobs() -> None:
    facts = [Create("j", "1", b"a"), Delete("1"), Create("j", "2", b"b"), Create("j", "3", b"c")]
    for order in permutations(facts):
        full = after(*order, Delete("1"), Delete("2"), Delete("3"), Create("j", "4", b"d"))
        late = after(Create("j", "4", b"d"), start=len(order) + 3)
        assert manifests(full) == manifests(late) == {"j": b"d"}


def test_a_usable_stream_is_not_replaced() -> None:
    facts: list[Fact] = [Create("j", "1", b""), LogGroups("1", ["s"])]
    assert after(*facts, Made("1", ["s"]), Remake("1", "s", 1)).jobs["j"].tries == {}
    again = after(*facts, Remake("1", "s", 1), Remake("1", "s", 1), Made("1", ["s"])).jobs["j"]
    assert (again.tries, again.made) == ({"s": 1}, set())
    made = after(*facts, Remake("1", "s", 1), Made("1", ["s"], {"s": 1}), Remake("1", "s", 2)).jobs["j"]
    assert (made.tries, made.made) == ({"s": 1}, {"s"})


def test_renewals_include_replaced_streams() -> None:
    old = after(Create("j", "1", b""), LogGroups("1", ["s"]), Remake("1", "s", 1), Made("1", ["s"], {"s": 1}))
    new = after(Renew(4, [old.jobs["j"].standing()]), start=4)
    assert (new.jobs["j"].tries, new.jobs["j"].made) == ({"s": 1}, {"s"})
