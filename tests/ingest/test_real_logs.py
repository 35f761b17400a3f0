"""Every line of real logs is an event or in quarantine with a reason, and loading again changes nothing.

Each on a stack of its own: the sources of these logs have names that cannot be chosen. All logs in the default layout,
and in both layouts some of each family that fills several sources: seventy sources take minutes.

In `make soak`: real logs are loaded twice in each layout, on stacks of their own.
"""

from __future__ import annotations

import gzip
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loaded import load, parse
from own_stack import stack_folder

from watchfloor.ingest.intake.sniff import sniff_file
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import DEFAULT_LAYOUT
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.stack import start_stack
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.timeout(900), pytest.mark.soak]
COMPARED = ("conn", "dns", "http")
"""Logs of which every value is compared."""


def lines_of(path: Path) -> int:
    """Returns the lines of a log, counted without any of the parsers: neither blank lines nor Zeek headers."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        return sum(1 for line in file if line.strip() and not line.startswith(b"#"))


def scanned(service: QueryService, name: str, column: str) -> int:
    return sum(len(b) for b in service.run(QueryRequest(name, scheme="scan", columns=(column,))))


def state(settings: Settings) -> dict[str, tuple[int, int, tuple[tuple[object, int], ...]]]:
    """Returns per source its events by scanning, by the aggregates, and the top values of its first indexed field."""
    with Store.open(settings, role="query") as store:
        service = QueryService(store)
        found = {}
        for name, source in store.catalog.read_sources().items():
            top = (
                tuple(service.rank_values(name, source.indexed_fields[0].name, limit=5))
                if source.indexed_fields
                else ()
            )
            found[name] = (scanned(service, name, source.time_field), service.count_events(name), top)
        return found


def hashable(event: dict[str, Any], names: list[str]) -> tuple[Any, ...]:
    return tuple(tuple(v) if isinstance(v := event[name], list) else v for name in names)


@pytest.fixture(scope="module")
def access_log(data_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    with zipfile.ZipFile(data_dir / "web_access" / "access3.log.zip") as archive:
        return Path(archive.extract("access3.log", tmp_path_factory.mktemp("access")))


@pytest.fixture
def logs(share: str, data_dir: Path, access_log: Path) -> list[Path]:
    brobeat = data_dir / "zeek" / "brobeat"
    if share == "some":
        return [*(brobeat / f"{name}.log" for name in (*COMPARED, "files")), data_dir / "suricata/aecid/eve.json"]
    # Of files with the same content only one is loaded.
    contents = {path.read_bytes(): path for path in sorted((data_dir / "zeek").rglob("*.log*")) if lines_of(path)}
    return [*contents.values(), *sorted((data_dir / "suricata").rglob("*.json")), access_log]


@pytest.fixture
def stack(layout: str, logs: list[Path]) -> Iterator[Settings]:
    """Starts an empty stack on which all sources of the logs have the layout, with two shards each."""
    with stack_folder() as settings:
        start_stack(settings)
        settings = replace(settings, shards=2)
        if layout != DEFAULT_LAYOUT:
            with Store.open(settings) as store:
                for path in logs:
                    for source in sniff_file(path, None, {}).sources:
                        store.catalog.register(source.replace_layout(layout))
        yield settings


@pytest.mark.parametrize(("layout", "share"), [("cell", "some"), (DEFAULT_LAYOUT, "some"), (DEFAULT_LAYOUT, "all")])
def test_every_line_is_accounted_for_and_loading_again_changes_nothing(
    stack: Settings, layout: str, logs: list[Path], access_log: Path, share: str
) -> None:
    result = load(stack, *logs, workers=2)
    assert not result.failed
    by_path = {Path(file.path).resolve(): file for file in result.files}
    for path in logs:
        file = by_path[path.resolve()]
        assert file.events + file.quarantined == lines_of(path), path
    with Store.open(stack) as store:
        assert {(source.layout, source.shards) for source in store.catalog.read_sources().values()} == {
            (layout, stack.shards)
        }
        reasons = Counter(line.path for line in Quarantine(store).open_lines() if line.reason.strip())
        for path in logs:
            assert reasons[str(path.resolve())] == by_path[path.resolve()].quarantined

    before = state(stack)
    if share == "all":
        assert before["web.access"][:2] == (206_860, 206_860)
    assert all(scan == counted for scan, counted, _ in before.values())

    with Store.open(stack, role="query") as store:
        for path in (path for path in logs if path.parent.name == "brobeat" and path.stem in COMPARED):
            (expected,) = parse(path)
            names = [field.name for field in expected.source.fields]
            rows = [row for b in QueryService(store).run(QueryRequest(expected.source.name)) for row in b.to_pylist()]
            stored = Counter(hashable(row, names) for row in rows)
            assert stored >= Counter(hashable(event, names) for event in expected.events), path

    known = load(stack, *logs)
    assert all(file.is_known for file in known.files)
    again = [path for path in logs if path.parent.name == "brobeat" or path.suffix == ".json" or path == access_log]
    repeated = load(stack, *again, workers=2, again=True)
    assert not any(file.is_known for file in repeated.files)
    assert repeated.events == sum(by_path[path.resolve()].events for path in again)
    assert state(stack) == before
    with Store.open(stack) as store:
        assert all(row.state == "done" for row in Ledger(store).read_rows() if Path(row.path) in by_path)
