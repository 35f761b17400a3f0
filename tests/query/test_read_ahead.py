"""The client holds only a bounded part of a result, however large it is and however slowly it is read.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import jpype
import pytest
from ingest_support import RUN
from loaded import LAYOUTS, batch_of, write

from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

MIB = 1 << 20
EVENTS = 7000
TEXT_BYTES = 20_000
BLOCK_ROWS = 25
BOUND = 116 * MIB
"""Twice what a scan reads ahead (32 MiB, ``ScanStream.READ_AHEAD_BYTES``: what it has handed over is read from while
as much again comes), the batch that was handed over and the one being made (16 MiB each), and the requests of two
shards' clients; the result has more."""
START = datetime(2024, 3, 1, tzinfo=UTC)


def source(layout: str) -> Source:
    fields = [
        {"name": "ts", "type": "time"},
        {"name": "text", "type": "string"},
        {"name": "kind", "type": "string", "indexed": True},
    ]
    definition = {"parser": {"format": "json"}, "timestamp": {"field": "ts"}, "shards": 2, "layout": layout}
    return parse_definition({**definition, "name": f"large{RUN}.{layout}", "fields": fields})


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    letters = random.Random(1)
    with Store.open(store_settings) as writer, writer.sink() as sink:
        for layout in LAYOUTS:
            kind = writer.catalog.register(source(layout))
            for item in range(10):
                moments = range(item, EVENTS, 10)
                texts = (letters.randbytes(TEXT_BYTES // 2).hex() for _ in moments)
                events = [
                    {"ts": START + timedelta(seconds=n), "text": t, "kind": "same"}
                    for n, t in zip(moments, texts, strict=True)
                ]
                write(sink, kind, item, batch_of(kind, events), BLOCK_ROWS)
        sink.flush()
    with Store.open(store_settings, role="query") as opened:
        yield opened


def held() -> int:
    """Bytes that the bridge has for us: of Java's heap what is reachable, and Arrow's buffers.

    A histogram of classes counts the objects that a full collection leaves; the plain wish for a collection is one
    that our JVM ignores.
    """
    server = jpype.JClass("java.lang.management.ManagementFactory").getPlatformMBeanServer()
    diagnostics = jpype.JClass("javax.management.ObjectName")("com.sun.management:type=DiagnosticCommand")
    arguments = jpype.JArray(jpype.JObject)([jpype.JArray(jpype.JString)(0)])
    signature = jpype.JArray(jpype.JString)(["[Ljava.lang.String;"])
    histogram = str(server.invoke(diagnostics, "gcClassHistogram", arguments, signature))
    name, _, heap = histogram.splitlines()[-1].split()
    assert name == "Total", histogram[-200:]
    return int(heap) + int(jpype.JClass("watchfloor.bridge.columns.ArrowMemory").allocated())


def test_a_result_that_is_read_slowly_waits_on_the_servers(layout: str, store: Store) -> None:
    service, name = QueryService(store), source(layout).name
    before = held()
    result = service.run(QueryRequest(name))
    batches = iter(result)
    rows = len(next(batches))
    most = 0
    for _ in range(2):
        time.sleep(2)
        most = max(most, held() - before)
        rows += len(next(batches))
    print(f"{layout}: {rows} of {EVENTS} events read, {most / MIB:.0f} MiB held")
    assert rows < EVENTS, "some of it is still to come"
    assert 4 * MIB < most < BOUND < EVENTS * TEXT_BYTES
    for batch in batches:
        rows += len(batch)
    assert rows == EVENTS


def test_a_look_up_that_waits_for_its_reader_loses_nothing(layout: str, store: Store) -> None:
    """The buffer fills and the servers drop the scan while its reader waits: the scan continues where it was."""
    request = QueryRequest(source(layout).name, where="kind = same", columns=("ts", "text"), scheme="index")
    times: list[datetime] = []
    pauses = 0
    for batch in QueryService(store).run(request):
        times += batch.column("ts").to_pylist()
        if pauses < 2 and len(times) > 800 * (pauses + 1):
            time.sleep(2.5)
            pauses += 1
    assert pauses == 2
    assert times == [START + timedelta(seconds=n) for n in reversed(range(EVENTS))]
