"""Reading streams: chunked records, any position, crashed writers, damage, bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import amqp
import pytest

from cauce.errors import CorruptRecord
from cauce.fabric.address import parse
from cauce.fabric.contract import START, Position
from cauce.fabric.names import Log
from cauce.fabric.rabbitmq import queues as rabbitmq_queues
from cauce.fabric.rabbitmq import registry_client
from cauce.fabric.rabbitmq import session as rabbitmq_session
from cauce.fabric.rabbitmq.fabric import RabbitFabric
from cauce.fabric.rabbitmq.queues import registry_name, stream_name
from cauce.fabric.rabbitmq.streams import reader as rabbitmq_reader
from cauce.fabric.rabbitmq.streams import subscription as rabbitmq_subscription
from cauce.fabric.rabbitmq.streams.messages import CHUNK_BYTES, encode
from cauce.fabric.rabbitmq.streams.reader import cursor_of, offset_of
from cauce.fabric.records import Kind, Record, record
from tests.conformance.worlds import data, drain, names
from tests.fabric.rabbit import direct, publish

Open = Callable[[], RabbitFabric]
PATIENCE_S = 30.0
SOON_S = 0.3
CRASHED, LIVE = b"d" * 16, b"l" * 16


@pytest.fixture
def fabric(rabbit: Open) -> RabbitFabric:
    made = rabbit()
    made.create_job("j", b"")
    made.append("j", Log("log"), data(0, 0))
    return made


def stream_of(fabric: RabbitFabric, log: str = "log") -> str:
    session = fabric._open.session
    return stream_name(session.namespace, session.registry_client.registry.jobs["j"], log)


def big(seq: int, chunks: int = 3) -> Record:
    return record(Kind.DATA, 9, seq, bytes([seq]) * (chunks * CHUNK_BYTES - 1000))


def test_an_incomplete_record_of_a_crashed_writer_blocks_no_reader(
    fabric: RabbitFabric, rabbit: Open, namespace: str
) -> None:
    half = encode(CRASHED, 0, "log", [big(1)])[:2]
    whole = encode(LIVE, 0, "log", [big(2)])
    mixed = [half[0], whole[0], half[1], whole[1], whole[2]]
    publish(parse(namespace), stream_of(fabric), mixed)
    fabric.append("j", Log("log"), data(0, 3))
    found, position = drain(rabbit(), "j", Log("log"))
    assert names(found) == [(0, 0), (0, 3), (9, 2)]
    assert [each for each in found if each.producer == 9] == [big(2)]
    fabric.append("j", Log("log"), data(0, 4))
    assert names(drain(rabbit(), "j", Log("log"), position)[0]) == [(0, 4)]


def test_a_position_between_the_pieces_of_a_record_loses_nothing(
    fabric: RabbitFabric, rabbit: Open, namespace: str
) -> None:
    first, second = encode(CRASHED, 0, "log", [big(1)]), encode(LIVE, 0, "log", [big(2)])
    small = [encode(LIVE, 100 + seq, "log", data(5, seq))[0] for seq in range(200)]
    mixed = [first[0], *small[:100], second[0], first[1], *small[100:], second[1], first[2], second[2]]
    publish(parse(namespace), stream_of(fabric), mixed)
    every = {(0, 0), (9, 1), (9, 2), *((5, seq) for seq in range(200))}
    for limit in (1, 500, 5_000, 1 << 30):
        reader = rabbit()
        position: Position = START
        found: list[Record] = []
        reader.read_barrier("j", Log("log"))
        while (batch := reader.read("j", Log("log"), position, limit)).position != position:
            found += batch.records
            position = batch.position
            if len(found) == 150:
                # Another process resumes from here.
                reader = rabbit()
                reader.read_barrier("j", Log("log"))
        assert set(names(found)) == every
        assert [each for each in found if each.producer == 9] == [big(1), big(2)]


def test_dropped_pieces_are_read_again(
    fabric: RabbitFabric, rabbit: Open, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_reader, "PATIENCE", 20)
    pieces = encode(CRASHED, 0, "log", [big(1)])
    between = [encode(LIVE, seq, "log", data(5, seq))[0] for seq in range(300)]
    other = encode(LIVE, 1000, "log", [big(2)])
    publish(parse(namespace), stream_of(fabric), [pieces[0], *between, *other, *pieces[1:]])
    found, _ = drain(rabbit(), "j", Log("log"))
    assert [each.seq for each in found if each.producer == 9] == [2, 1]
    assert len([each for each in found if each.producer == 5]) == 300


def test_the_end_of_a_record_without_its_beginning_is_damage(
    fabric: RabbitFabric, rabbit: Open, namespace: str
) -> None:
    publish(parse(namespace), stream_of(fabric), encode(CRASHED, 0, "log", [big(1)])[1:])
    reader = rabbit()
    for _ in range(2):
        with pytest.raises(CorruptRecord, match="the beginning of the record"):
            drain(reader, "j", Log("log"))


def test_damage_is_reported_with_its_offset_and_earlier_records_can_be_read(
    fabric: RabbitFabric, rabbit: Open, namespace: str
) -> None:
    damaged = bytearray(encode(LIVE, 0, "log", data(0, 2))[0])
    damaged[-1] ^= 1
    publish(parse(namespace), stream_of(fabric), [encode(LIVE, 0, "log", data(0, 1))[0], bytes(damaged)])
    reader = rabbit()
    reader.read_barrier("j", Log("log"))
    first = reader.read("j", Log("log"), START, 1)
    second = reader.read("j", Log("log"), first.position, 1)
    assert names([*first.records, *second.records]) == [(0, 0), (0, 1)]
    for _ in range(3):
        with pytest.raises(CorruptRecord, match="message 3: a message is damaged"):
            reader.read("j", Log("log"), second.position, 1)


def test_messages_dropped_by_a_policy_are_detected(fabric: RabbitFabric, rabbit: Open, namespace: str) -> None:
    short = {"x-queue-type": "stream", "x-max-length-bytes": 20_000, "x-stream-max-segment-size-bytes": 4_000}
    with direct(parse(namespace)) as connection, connection.channel() as channel:
        channel.queue_declare(stream_of(fabric, "short"), durable=True, auto_delete=False, arguments=short)
    for seq in range(60):
        fabric.append("j", Log("short"), data(0, seq, body=bytes(1_000)))
    with pytest.raises(CorruptRecord, match="no policy of the broker"):
        drain(rabbit(), "j", Log("short"))


def test_a_log_of_many_segments_is_read_whole(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker skips an offset at the start of each segment."""
    monkeypatch.setattr(rabbitmq_queues, "_SEGMENT_BYTES", 20_000)
    for seq in range(100):
        fabric.append("j", Log("long"), data(0, seq, body=bytes(1_000)))
    found, position = drain(rabbit(), "j", Log("long"))
    assert names(found) == [(0, seq) for seq in range(100)]
    assert offset_of(cursor_of(position)) > 102
    reader = rabbit()
    at: Position = START
    for seq in range(100):
        reader.read_barrier("j", Log("long"))
        batch = reader.read("j", Log("long"), at, 1)
        assert names(list(batch.records)) == [(0, seq)]
        at = batch.position
        if seq % 7 == 0:
            reader = rabbit()


@pytest.mark.parametrize("skipped", [1, 3, 20])
def test_messages_that_one_subscription_skips_are_read_by_the_next(
    skipped: int, fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A node that has just started may deliver from a later message on."""
    for seq in range(1, 40):
        fabric.append("j", Log("log"), data(0, seq))
    deliver, skip = rabbitmq_subscription.Subscription._deliver, set(range(5, 5 + skipped))

    def deliver_late(subscription: rabbitmq_subscription.Subscription, message: amqp.Message) -> None:
        offset = message.headers["x-stream-offset"]
        if subscription.stream == stream_of(fabric) and offset in skip:
            skip.discard(offset)
        else:
            deliver(subscription, message)

    monkeypatch.setattr(rabbitmq_subscription.Subscription, "_deliver", deliver_late)
    assert names(drain(rabbit(), "j", Log("log"))[0]) == [(0, seq) for seq in range(40)]
    assert not skip


def test_a_log_that_was_not_requested_is_read_again_on_request(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_reader, "UNREQUESTED_BYTES", 2_000)
    monkeypatch.setattr(rabbitmq_reader, "BUFFERED_BYTES", 5_000)
    logs = [Log("group", name) for name in "abc"]
    reader = rabbit()
    positions: dict[Log, Position] = dict.fromkeys(logs, START)
    found: dict[Log, list[Record]] = {log: [] for log in logs}
    for round_ in range(6):
        for seq in range(30):
            for producer, log in enumerate(logs):
                fabric.append("j", log, data(producer, 30 * round_ + seq, body=bytes(100)))
        for log in logs if round_ % 2 else logs[:1]:
            more, positions[log] = drain(reader, "j", log, positions[log], limit_bytes=1_000)
            found[log] += more
    for producer, log in enumerate(logs):
        assert names(found[log]) == [(producer, seq) for seq in range(180)]
    assert len(reader._open.session._reader_groups[stream_of(reader, "group")].readers) == 1


def test_idle_logs_of_a_stream_are_read_on_with_one_subscription(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also logs without any record, whose position is the start of the stream."""
    busy, idle = Log("group", "busy"), [Log("group", name) for name in "abc"]
    fabric.append("j", busy, data(0, 0))
    reader = rabbit()
    positions = {log: drain(reader, "j", log)[1] for log in (busy, *idle)}
    monkeypatch.setattr(rabbitmq_session, "IDLE_S", -1.0)
    reader._open.session._next_idle_check = 0.0
    reader._open.session.keep_few_readers()
    monkeypatch.undo()
    for producer, log in enumerate((busy, *idle)):
        fabric.append("j", log, data(producer, 7))
    opened: list[str] = []
    start = rabbitmq_subscription.Subscriptions.start

    def count(subscriptions: rabbitmq_subscription.Subscriptions, stream: str, *args: object) -> object:
        opened.append(stream)
        return start(subscriptions, stream, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(rabbitmq_subscription.Subscriptions, "start", count)
    for producer, log in enumerate((busy, *idle)):
        assert names(drain(reader, "j", log, positions[log])[0]) == [(producer, 7)]
    assert opened.count(stream_of(reader, "group")) == 1


def test_buffered_records_are_not_skipped_after_a_connection_broke(fabric: RabbitFabric, rabbit: Open) -> None:
    first, second = Log("group", "first"), Log("group", "second")
    reader = rabbit()
    fabric.append("j", second, data(0, 0))
    position = drain(reader, "j", second)[1]
    fabric.append("j", second, data(0, 1))
    # Its reader buffers the record of the other log.
    assert not drain(reader, "j", first)[0]
    reader._open.session._reading.reset()
    found, position = drain(reader, "j", second, position)
    assert names(found) == [(0, 1)]


def test_buffered_messages_are_bounded(fabric: RabbitFabric, rabbit: Open) -> None:
    for seq in range(1, 41):
        fabric.append("j", Log("log"), data(0, seq, body=bytes(CHUNK_BYTES - 1000)))
    reader = rabbit()
    reader.read_barrier("j", Log("log"))
    first = reader.read("j", Log("log"), START, 1)
    reader.read_barrier()
    (subscription,) = [each for each in reader._open.session._subscriptions._open if "registry" not in each.stream]
    assert subscription.waiting_bytes <= (rabbitmq_subscription.PREFETCH + 1) * CHUNK_BYTES
    found, _ = drain(reader, "j", Log("log"), first.position)
    assert names(found) == [(0, seq) for seq in range(1, 41)]


def test_the_least_recently_read_subscriptions_are_closed(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_subscription, "MOST_BYTES", 3 * CHUNK_BYTES)
    for log in range(4):
        for seq in range(6):
            fabric.append("j", Log(f"log-{log}"), data(log, seq, body=bytes(CHUNK_BYTES - 1000)))
    reader = rabbit()
    positions: list[Position] = [START] * 4
    found: list[Record] = []
    for _ in range(6):
        for log in range(4):
            reader.read_barrier("j", Log(f"log-{log}"))
            batch = reader.read("j", Log(f"log-{log}"), positions[log], 1)
            found += batch.records
            positions[log] = batch.position
    assert names(found) == [(log, seq) for log in range(4) for seq in range(6)]


def test_readers_are_few_however_many_logs_are_read(
    fabric: RabbitFabric, rabbit: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_session, "MOST_READERS", 5)
    reader = rabbit()
    for round_ in range(3):
        for log in range(12):
            fabric.append("j", Log(f"log-{log}"), data(log, round_))
        for log in range(12):
            found, _ = drain(reader, "j", Log(f"log-{log}"))
            assert names(found) == [(log, seq) for seq in range(round_ + 1)]
        reader.read_barrier()
        assert len(reader._open.session._subscriptions) <= 7


def lose(fabric: RabbitFabric, stream: str) -> None:
    """Makes the broker lose all messages of a stream, as in a power failure of all its nodes."""
    session = fabric._open.session
    session.queues.remove([stream], monotonic() + PATIENCE_S)
    session.queues.make_streams([stream], monotonic() + PATIENCE_S)


def test_a_reader_that_was_ahead_of_a_stream_that_lost_messages_reports_it(
    fabric: RabbitFabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rabbitmq_reader, "SILENT_S", SOON_S)
    for seq in range(1, 40):
        fabric.append("j", Log("log"), data(0, seq))
    _, position = drain(fabric, "j", Log("log"))
    lose(fabric, stream_of(fabric))
    fabric.append("j", Log("log"), data(0, 40))
    for _ in range(2):
        with pytest.raises(CorruptRecord, match="the broker has lost confirmed messages"):
            fabric.read("j", Log("log"), position, 1 << 20)


def test_own_messages_that_were_read_before_are_not_reported_as_lost(fabric: RabbitFabric) -> None:
    _, position = drain(fabric, "j", Log("log"))
    fabric.append("j", Log("log"), [record(Kind.DATA, 0, seq, b"x") for seq in range(1, 40)])
    found, position = drain(fabric, "j", Log("log"), position)
    assert len(found) == 39
    (reader,) = fabric._open.session._reader_groups[stream_of(fabric)].readers
    # As after a time without the message that is awaited: the last messages of the stream are read once more.
    reader.close()
    reader._at_end = True
    arrived = monotonic() + SOON_S
    while monotonic() < arrived:
        assert fabric.read("j", Log("log"), position, 1 << 20).records == []
    fabric.append("j", Log("log"), data(0, 40))
    assert names(drain(fabric, "j", Log("log"), position)[0]) == [(0, 40)]


def test_a_new_reader_of_a_stream_that_lost_messages_reports_it(fabric: RabbitFabric) -> None:
    for seq in range(1, 40):
        fabric.append("j", Log("log"), data(0, seq))
    drain(fabric, "j", Log("log"))
    lose(fabric, stream_of(fabric))
    with pytest.raises(CorruptRecord, match="the broker has lost confirmed messages"):
        fabric.read("j", Log("log"), START, 1 << 20)


def test_a_registry_that_lost_messages_is_read_from_its_start(
    fabric: RabbitFabric, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_client, "SILENT_S", SOON_S)
    fabric.create_job("k", b"")
    lose(fabric, registry_name(fabric._open.session.namespace))
    fabric.create_job("l", b"l")
    assert fabric.jobs() == ["l"]
