"""The queue of work items: a partitioned Kafka topic, read by all workers as one consumer group.

kafka-python sends heartbeats from a thread of its own, so a long item does not cost a worker its membership. But a
rebalance (a worker comes or goes) waits until every member has polled; ``ItemConsumer.keep_membership`` therefore keeps
polling while an item is worked on. Partitions are assigned cooperatively: a member keeps those it has unless they must
move.
"""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from random import randrange
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import KafkaError, RebalanceInProgressError, RetriableError, TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

from watchfloor.schema.errors import QueueError
from watchfloor.schema.settings.settings import Settings

from .item import WorkItem
from .item_buffer import Delivery, ItemBuffer
from .message import InvalidMessageError, read_message, sign_item

_CONNECT_MS = 5_000
_REQUEST_MS = 8_000
_SESSION_MS = 6_000
_HEARTBEAT_MS = 1_500
_MAX_POLL_MS = 600_000
_KEEP_SECONDS = 0.5
_TURN_SECONDS = 0.2
"""Seconds of a poll that only keeps the membership in the group."""
_GAP_SECONDS = 0.002
"""Seconds for which a thread that polls repeatedly leaves the consumer's lock free. Without the pause other threads
might never get it, because a lock does not serve threads in the order of their requests."""
_KEEP_RECORDS = {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"}
"""The topic's settings, by which Kafka deletes no record by itself: an item may wait for longer than any limit, and
would be lost while the ledger calls it queued. ``trim_topic`` deletes the records of what is done."""
_COMMIT_TRIES = 10
_ASK_SECONDS = 5.0
log = logging.getLogger(__name__)


@contextmanager
def queue_errors(settings: Settings, doing: str) -> Iterator[None]:
    """Turns errors of Kafka into ``QueueError``; ``doing`` says what failed."""
    try:
        yield
    except (KafkaError, OSError, ValueError) as error:
        raise QueueError(
            f"the queue (Kafka at {settings.bootstrap_servers}) failed while {doing}: {_describe_error(error)}; "
            "see `watchfloor status`, start it with `watchfloor up`"
        ) from error


def _describe_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _client_options(settings: Settings) -> dict[str, Any]:
    certificates = settings.kafka_certificates
    login: dict[str, Any] = {"security_protocol": "SSL"} if certificates else {}
    if credentials := settings.read_kafka_credentials():
        local = "SASL_SSL" if certificates else "SASL_PLAINTEXT"
        login = {
            "security_protocol": local if settings.is_kafka_local else settings.kafka_protocol,
            "sasl_mechanism": "SCRAM-SHA-512",
            "sasl_plain_username": credentials.user,
            "sasl_plain_password": credentials.password,
        }
    if certificates:
        login["ssl_cafile"] = str(certificates)
    return {
        **login,
        "bootstrap_servers": settings.bootstrap_servers.split(","),
        "bootstrap_timeout_ms": _CONNECT_MS,
        "request_timeout_ms": _REQUEST_MS,
        "reconnect_backoff_max_ms": 2_000,
    }


def make_topic(settings: Settings) -> None:
    """Makes the topic with ``settings.partitions`` partitions, or corrects and trims the one that exists.

    Raises ``QueueError`` within seconds, also if the topic cannot be made to keep its records.
    """
    with queue_errors(settings, "making its topic"), open_admin(settings) as admin:
        if settings.topic in admin.list_topics():
            _keep_records(admin, settings.topic)
            _delete_done_records(admin, settings)
            return
        topic = {"num_partitions": settings.partitions, "replication_factor": -1, "configs": _KEEP_RECORDS}
        with suppress(TopicAlreadyExistsError):
            admin.create_topics({settings.topic: topic}, wait_for_metadata=True)


def _keep_records(admin: KafkaAdminClient, topic: str) -> None:
    """Makes an existing topic keep its records. Raises ``KafkaError`` if the broker refuses that."""
    asked = ConfigResource(ConfigResourceType.TOPIC, topic, configs=dict.fromkeys(_KEEP_RECORDS))
    found = admin.describe_configs([asked], config_filter="all").get("topic", {}).get(topic, {})
    wrong = {name: value for name, value in _KEEP_RECORDS.items() if found.get(name, {}).get("value") != value}
    if not wrong:
        return
    answer = admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, configs=wrong)])
    if (result := answer["topic"][topic]) != "OK":
        wanted = ", ".join(f"{name}={value}" for name, value in wrong.items())
        raise KafkaError(f"topic {topic} may delete work items that wait: set {wanted} for it ({result})")


def trim_topic(settings: Settings) -> None:
    """Deletes the records that the group has committed from the topic. Raises ``QueueError`` within seconds."""
    with queue_errors(settings, "trimming its topic"), open_admin(settings) as admin:
        if settings.topic in admin.list_topics():
            _delete_done_records(admin, settings)


def _delete_done_records(admin: KafkaAdminClient, settings: Settings) -> None:
    """Deletes the records that are committed: their items have ended, and nobody reads them again."""
    offsets = read_offsets(admin, settings)
    done = {partition: found.next for partition, found in offsets.items() if found.next > found.begin}
    if done:
        admin.delete_records(done)


def delete_topic(settings: Settings) -> None:
    """Deletes the topic if it exists. Raises ``QueueError`` within seconds."""
    with queue_errors(settings, "deleting its topic"), open_admin(settings) as admin:
        if settings.topic in admin.list_topics():
            admin.delete_topics([settings.topic])


def queue_lag(settings: Settings) -> int:
    """Returns the number of messages of the topic that the group has not committed; 0 if there is no topic yet."""
    with queue_errors(settings, "reading its lag"), open_admin(settings) as admin:
        if settings.topic not in admin.list_topics():
            return 0
        return sum(offsets.end - offsets.next for offsets in read_offsets(admin, settings).values())


@dataclass(frozen=True)
class PartitionOffsets:
    """The records of a partition are those from ``begin`` up to ``end``; from ``next`` on they are not done."""

    begin: int
    next: int
    end: int


def read_offsets(admin: KafkaAdminClient, settings: Settings) -> dict[TopicPartition, PartitionOffsets]:
    """Returns the offsets of all partitions of the topic, which must exist. Raises ``KafkaError``."""
    partitions = [
        TopicPartition(settings.topic, p["partition_index"])
        for p in admin.describe_topics([settings.topic])[0]["partitions"]
    ]
    # The group's offsets are read first: an item that is done in between counts as waiting, not the other way round.
    done = ask_again(lambda: admin.list_group_offsets({settings.group: partitions})).get(settings.group, {})
    earliest = admin.list_partition_offsets(dict.fromkeys(partitions, -2))
    latest = admin.list_partition_offsets(dict.fromkeys(partitions, -1))
    offsets = {}
    for partition in partitions:
        begin, end = earliest[partition].offset, latest[partition].offset
        committed = done[partition].offset if partition in done else -1
        # A topic that was made anew may be shorter than what was committed of the one before.
        offsets[partition] = PartitionOffsets(begin, committed if begin <= committed <= end else begin, end)
    return offsets


def ask_again(ask: Callable[[], Any]) -> Any:
    """Repeats a request until a broker answers it: a broker that has just started does not answer at once."""
    until = time.monotonic() + _CONNECT_MS / 1000
    while True:
        try:
            return ask()
        except RetriableError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


@contextmanager
def open_admin(settings: Settings) -> Iterator[KafkaAdminClient]:
    admin = KafkaAdminClient(**_client_options(settings))
    try:
        yield admin
    finally:
        admin.close()


@contextmanager
def open_reader(settings: Settings) -> Iterator[KafkaConsumer]:
    """Opens a consumer that belongs to no group and commits nothing."""
    consumer = KafkaConsumer(**_client_options(settings), group_id=None, enable_auto_commit=False)
    try:
        yield consumer
    finally:
        consumer.close()


class ItemProducer:
    """Signs and appends work items; ``send`` returns when all are acknowledged. A context manager."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._key = settings.read_queue_key()
        self.topic = settings.topic
        make_topic(settings)
        with queue_errors(settings, "connecting"):
            self._producer = KafkaProducer(
                **_client_options(settings), acks="all", delivery_timeout_ms=15_000, max_block_ms=_REQUEST_MS
            )
            self._partitions = len(self._producer.partitions_for(settings.topic))
        self._next = randrange(self._partitions)

    def send(self, items: Iterable[WorkItem], to: int | None = None) -> int:
        """Sends all items, waits for the broker's acknowledgement, and returns their number.

        Partition ``to`` gets them, or all in turn. Raises ``QueueError`` if any is in doubt.
        """
        with queue_errors(self._settings, "sending"):
            sent = []
            for item in items:
                text, headers = sign_item(item, self.topic, self._key)
                partition = self._next_partition() if to is None else to
                sent.append(self._producer.send(self.topic, value=text, headers=headers, partition=partition))
            for future in sent:
                future.get(timeout=20)
        return len(sent)

    def _next_partition(self) -> int:
        # Neighbouring items go to partitions that are far from each other, so that few items reach all workers.
        self._next = (self._next + _partition_step(self._partitions)) % self._partitions
        return self._next

    def close(self) -> None:
        self._producer.close(timeout=5)

    def __enter__(self) -> ItemProducer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _partition_step(partitions: int) -> int:
    """Returns a step near partitions / golden ratio, coprime with ``partitions``, so that all are visited."""
    step = max(1, round(partitions * 0.618))
    while _gcd(step, partitions) != 1:
        step += 1
    return step


def _gcd(a: int, b: int) -> int:
    return _gcd(b, a % b) if b else a


class ItemConsumer:
    """One member of the group. For each item: ``poll``, work in ``keep_membership``, then ``commit`` or ``defer``.

    Items that a poll brings besides the next one are held here. kafka-python's own means for that, pausing a partition
    and seeking back, cannot be used: version 3.0.12 may forget a paused partition for good.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._key = settings.read_queue_key()
        make_topic(settings)
        with queue_errors(settings, "connecting"):
            self._consumer = KafkaConsumer(
                **_client_options(settings),
                client_id=socket.gethostname(),
                group_id=settings.group,
                enable_auto_commit=False,
                auto_offset_reset="earliest",
                session_timeout_ms=_SESSION_MS,
                heartbeat_interval_ms=_HEARTBEAT_MS,
                max_poll_interval_ms=_MAX_POLL_MS,
                fetch_max_wait_ms=500,
                partition_assignment_strategy=(CooperativeStickyAssignor,),
                metadata_max_age_ms=30_000,
            )
            self._consumer.subscribe([settings.topic])
        self._lock = threading.Lock()
        self._buffer = ItemBuffer()
        # The offset to commit of each partition whose last commit failed, or has not been tried.
        self._due: dict[TopicPartition, int] = {}
        self._heard = time.monotonic()

    def poll(self, seconds: float) -> Delivery | None:
        """Returns the next item, or None if none came within ``seconds``. Raises ``QueueError``."""
        time.sleep(_GAP_SECONDS)
        with self._lock, queue_errors(self._settings, "waiting for items"):
            now = time.monotonic()
            delivery = self._buffer.take_next(now)
            if delivery is None:
                self._poll_group(min(seconds, self._buffer.next_due - now))
                delivery = self._buffer.take_next(time.monotonic())
            if delivery is None:
                self._commit_due()
            if delivery is None and time.monotonic() - self._heard > _ASK_SECONDS:
                # A consumer whose broker is gone finds no items and raises nothing; a request for offsets raises.
                self._consumer.end_offsets([TopicPartition(self._settings.topic, 0)], timeout_ms=_CONNECT_MS)
                self._heard = time.monotonic()
            return delivery

    @property
    def has_partitions(self) -> bool:
        """True once the group has given this member partitions to read."""
        return bool(self._consumer.assignment())

    def commit(self, delivery: Delivery) -> None:
        """Commits that the item is done. If that fails, a later commit or poll tries again.

        If its partition has moved, the new owner gets the item again, which is harmless.
        """
        with self._lock, queue_errors(self._settings, "committing an offset"):
            self._due[TopicPartition(self._settings.topic, delivery.partition)] = self._buffer.mark_done(delivery)
            self._commit_due()

    def defer(self, delivery: Delivery, seconds: float) -> None:
        """Gives the item back for ``seconds``; other items go on meanwhile."""
        with self._lock:
            self._buffer.defer(delivery, time.monotonic() + seconds)

    @contextmanager
    def keep_membership(self) -> Iterator[None]:
        """Stays in the group while an item is worked on, however long that takes."""
        stop = threading.Event()
        keeper = threading.Thread(target=self._poll_meanwhile, args=(stop,), name="queue-keeper", daemon=True)
        keeper.start()
        try:
            yield
        finally:
            stop.set()
            keeper.join()

    def close(self) -> None:
        """Leaves the group, so that its partitions move at once."""
        with self._lock, suppress(Exception):
            self._consumer.close(autocommit=False, timeout_ms=3_000)

    def _commit_due(self) -> None:
        """Commits the offsets that are due, of those partitions that have not moved."""
        for left in reversed(range(_COMMIT_TRIES)):
            assigned = self._consumer.assignment()
            self._due = {partition: offset for partition, offset in self._due.items() if partition in assigned}
            if not self._due:
                return
            try:
                after = {partition: OffsetAndMetadata(offset, "", -1) for partition, offset in self._due.items()}
                self._consumer.commit(after, timeout_ms=_REQUEST_MS)
                self._due.clear()
                return
            except RebalanceInProgressError:
                if not left:
                    raise
                self._poll_group(_TURN_SECONDS)

    def _poll_meanwhile(self, stop: threading.Event) -> None:
        while not stop.wait(_KEEP_SECONDS):
            try:
                with self._lock:
                    self._poll_group(_TURN_SECONDS)
            except Exception as error:
                log.warning("queue: %s; the item goes on", _describe_error(error))

    def _poll_group(self, seconds: float) -> None:
        """Polls once, which keeps the membership, and buffers an item if one comes."""
        self._mend_membership()
        for records in self._consumer.poll(timeout_ms=max(0, int(seconds * 1000)), max_records=1).values():
            for record in records:
                self._heard = time.monotonic()
                self._buffer.add_delivery(self._make_delivery(record))
        self._buffer.keep_partitions({partition.partition for partition in self._consumer.assignment()})

    def _mend_membership(self) -> None:
        """Makes the consumer join the group anew if the library has lost its membership.

        In kafka-python 3.0.12 a poll that timed out goes on beside the next one. When the first has joined the group,
        the second may request to join once more and ignore the answer; then the member has no partitions for good.
        """
        coordinator = self._consumer._coordinator
        if coordinator.rejoining and not coordinator.need_rejoin():
            coordinator.request_rejoin()

    def _make_delivery(self, record: Any) -> Delivery:
        raw = record.value or b""
        try:
            item = read_message(raw, record.headers, self._settings.topic, self._key)
        except InvalidMessageError as error:
            return Delivery(None, record.partition, record.offset, str(error), raw)
        return Delivery(item, record.partition, record.offset, raw=raw)
