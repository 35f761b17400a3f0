"""Compaction merges only items that the ledger calls done, and items that are read again find their merged events.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from ingest_support import RUN, START, counts, line, load, own, source

from watchfloor.api.cli.main import main
from watchfloor.ingest.maintenance.compact import compact_source, settled_tags
from watchfloor.ingest.maintenance.retry import retry_lines
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store import store as store_module
from watchfloor.store.layouts.block.blocks.block_keys import make_item_tag
from watchfloor.store.layouts.block.compaction.merge_plan import list_blocks
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
FILES, LINES = 6, 60
DAYS = len({(START + number * 600) // 86_400 for number in range(FILES * LINES)})
COLOUR = ({"name": "colour", "type": "string", "indexed": True},)


@pytest.fixture
def store(store_settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setattr(store_module, "GRACE_SECONDS", 0.5)
    with Store.open(store_settings) as opened:
        yield opened


def files(folder: Path, colours: int = 0) -> list[Path]:
    """Small files of events of the same three days. Some lines of the first ``colours`` files have a field more."""
    made = []
    for number in range(FILES):
        texts = []
        for i in range(LINES):
            event = orjson.loads(line(i * FILES + number, f"f{number}-"))
            event["ts"] = START + (i * FILES + number) * 600
            if number < colours and i % 4 == 0:
                event["colour"] = f"c{i % 3}"
            texts.append(orjson.dumps(event).decode() + "\n")
        made.append(folder / f"{number}.log")
        made[-1].write_text("".join(texts))
    return made


def wanted(paths: list[Path], kind: Source, lacking: bool = False) -> Counter[Any]:
    """The events of files; ``lacking``: without the lines that have a colour."""
    names = [field.name for field in kind.fields]
    events = [orjson.loads(text) for path in paths for text in path.read_text().splitlines()]
    return Counter(tuple(e.get(n) for n in names if n != "ts") for e in events if not (lacking and "colour" in e))


def found(store: Store, kind: Source) -> Counter[Any]:
    service, names = QueryService(store), [field.name for field in kind.fields if field.name != "ts"]
    rows = [
        tuple(row.values())
        for batch in service.run(QueryRequest(kind.name, columns=tuple(names)))
        for row in batch.to_pylist()
    ]
    hosts = dict(service.rank_values(kind.name, "host", limit=9))
    assert hosts == Counter(row[names.index("host")] for row in rows)
    assert service.count_events(kind.name) == len(rows)
    return Counter(rows)


def merged(store: Store, kind: Source) -> int:
    """Merges, after which the tables hold each event once and nothing that is not seen; how many blocks they hold."""
    done = compact_source(store, kind.name, 0)
    in_tables, events = counts(store, kind), sum(found(store, kind).values())
    assert (in_tables.events, in_tables.total_days) == (events, events)
    assert len(list_blocks(store, kind).rows) == done.after
    return done.after


def test_the_command_and_reading_again(
    store_settings: Settings, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings, kind = own(store_settings, "compacted"), store.catalog.register(source("compacted", layout="block"))
    paths = files(tmp_path)
    assert load(settings, *paths, feed=kind.name).events == FILES * LINES
    assert main(["--home", str(settings.home), "compact", kind.name, "--older-than", "1h"]) == 0
    said = capsys.readouterr()
    assert f"{FILES * DAYS} blocks became {DAYS}: {FILES * LINES} events were moved" in said.err and not said.out
    assert found(store, kind) == wanted(paths, kind)

    assert load(settings, *paths[:2], feed=kind.name, again=True).events == 2 * LINES
    assert found(store, kind) == wanted(paths, kind), "the merged events of the two files are gone"
    assert load(settings, *paths[:2], feed=kind.name, again=True).events == 2 * LINES
    assert found(store, kind) == wanted(paths, kind)
    assert merged(store, kind) == DAYS
    assert found(store, kind) == wanted(paths, kind)

    ledger = Ledger(store)
    row = next(row for row in ledger.read_rows() if row.item and row.item.feed == kind.name)
    assert row.item is not None and make_item_tag(row.item.item_id) in settled_tags(store)
    ledger.write_queued([replace(row.item, ticket="more", again=True)], "")
    assert make_item_tag(row.item.item_id) not in settled_tags(store)
    ledger.close()


def test_another_definition_and_retried_lines(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    settings, kind = own(store_settings, "widened"), store.catalog.register(source("widened", layout="block"))
    paths = files(tmp_path, colours=2)
    assert load(settings, *paths, feed=kind.name).quarantined == 2 * LINES // 4
    assert merged(store, kind) == DAYS
    assert found(store, kind) == wanted(paths, kind, lacking=True)

    kind = store.catalog.register(source("widened", extra=COLOUR, layout="block"))
    assert retry_lines(store, str(paths[0])).events == LINES // 4
    assert merged(store, kind) == DAYS, "retried lines are merged too"
    others = wanted(paths[1:], kind, lacking=True)
    assert found(store, kind) == wanted(paths[:1], kind) + others

    assert load(settings, *paths[:2], feed=kind.name, again=True).quarantined == 0
    assert found(store, kind) == wanted(paths, kind), "once each: retried lines where they were, the others by the item"
    assert merged(store, kind) == DAYS
    assert found(store, kind) == wanted(paths, kind)


def test_reading_again_in_the_middle_of_a_compaction(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """Before the commit a worker does not wait for ever: it aborts the epoch, and the compaction looks again.

    After it, the item's blocks have died and are still there, and what is written must not have their names.
    """
    settings, kind = own(store_settings, "middle"), store.catalog.register(source("middle", layout="block"))
    paths, read = files(tmp_path), []
    load(settings, *paths, feed=kind.name)

    def step(done: str) -> None:
        if done == ("listed", "committed", "")[len(read)]:
            read.append(load(settings, paths[len(read)], feed=kind.name, again=True))
            assert found(store, kind) == wanted(paths, kind), "what the aborted epoch has written is not seen"

    done = compact_source(store, kind.name, 0, step)
    assert [result.events for result in read] == [LINES, LINES] and done.events >= FILES * LINES
    assert merged(store, kind) == done.after
    assert found(store, kind) == wanted(paths, kind)


def test_a_definition_that_grows_in_the_middle(store_settings: Settings, store: Store, tmp_path: Path) -> None:
    """Events that have the new field, with a label that is new too, come in and are merged by the same compaction."""
    settings, kind = own(store_settings, "grows"), store.catalog.register(source("grows", layout="block"))
    paths, wider = files(tmp_path, colours=2), []
    load(settings, *paths[2:], feed=kind.name)

    def step(done: str) -> None:
        if done == "committed" and not wider:
            colour = {**COLOUR[0], "visibility": f"hue{RUN}"}
            wider.append(store.catalog.register(source("grows", extra=(colour,), layout="block")))
            load(settings, *paths[:2], feed=kind.name)

    compact_source(store, kind.name, 0, step)
    with Store.open(store_settings) as seeing:
        assert merged(seeing, wider[0]) == DAYS
        assert found(seeing, wider[0]) == wanted(paths, wider[0])


def test_a_source_of_cells_has_nothing_to_merge(
    store_settings: Settings, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = store.catalog.register(source("single", layout="cell"))
    assert main(["--home", str(store_settings.home), "compact", kind.name]) == 2
    assert "layout cell" in capsys.readouterr().err
    assert main(["--home", str(store_settings.home), "compact", kind.name, "--older-than", "soon"]) == 2
    assert "'soon' is no duration; write it as 1h" in capsys.readouterr().err
