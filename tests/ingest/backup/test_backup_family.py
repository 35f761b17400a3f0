"""One source of a family is exported alone, and imported where the others are not: each event is there once in the end.

In `make test`: a real log of Zeek and drawn ones of some hundred lines.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from command_line import run_command
from ingest_support import RUN, START, ledger_rows, load, own

from watchfloor.ingest.backup.export import export_sources
from watchfloor.ingest.backup.restore import import_sources
from watchfloor.ingest.maintenance.compact import compact_source
from watchfloor.ingest.records.ledger import Ledger
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import drop_source
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
ZEEK = f"zeek.conn{RUN}", f"zeek.http{RUN}"
SURICATA = f"suricata.flow{RUN}", f"suricata.dns{RUN}"


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        opened.grace = 0.0
        yield opened


def forget(store: Store, names: Sequence[str], files: Sequence[Path]) -> None:
    """Removes sources and the ledger's rows of files: the store is then like one that has never had them."""
    Ledger(store).delete_items([row.item for file in files for row in ledger_rows(store, file) if row.item is not None])
    known = store.catalog.read_sources()
    for name in names:
        drop_source(store.connection, known[name])


def count_values(store: Store, name: str, column: str) -> Counter[object]:
    """Returns how often each value is among the events of a source; the counts must say the same of all together."""
    service = QueryService(store)
    batches = service.run(QueryRequest(name, columns=(column,), scheme="scan"))
    found = Counter(value for batch in batches for value in batch.column(column).to_pylist())
    assert service.count_events(name) == found.total()
    return found


def states_of(store: Store, file: Path) -> set[tuple[str, float]]:
    """Returns the states of a file's items, with the times at which they ended."""
    return {(row.state, row.at) for row in ledger_rows(store, file)}


def write_zeek(path: Path, logs: Sequence[str]) -> Path:
    """Writes JSON lines of some logs in turn."""
    events = [
        {"_path": logs[n % len(logs)].partition(".")[2], "ts": START + n, "uid": f"{path.stem}{n}"} for n in range(200)
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def write_eve(path: Path, types: Sequence[str], first: int) -> Path:
    events = [
        {
            "timestamp": f"2024-01-02T{n // 60:02}:{n % 60:02}:00.000000+0000",
            "event_type": types[n % len(types)].partition(".")[2],
            "flow_id": first + n,
        }
        for n in range(200)
    ]
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


def test_a_log_of_zeek_counts_as_done_where_its_source_is_imported(
    store_settings: Settings, store: Store, tmp_path: Path, data_dir: Path
) -> None:
    """A whole log is not read again, one of another source is, and one of both is."""
    whole, other, nothing = tmp_path / "conn.log", tmp_path / "http.log", tmp_path / "nothing.log"
    for path in (whole, other):
        text = (data_dir / "zeek" / "brobeat" / path.name).read_text()
        path.write_text(text.replace(f"#path\t{path.stem}\n", f"#path\t{path.stem}{RUN}\n"))
    nothing.write_text("no event\n" * 3)
    both = write_zeek(tmp_path / "both.log", ZEEK)
    files, settings = (whole, other, nothing, both), own(store_settings, "zeek", item_bytes=256 << 10)
    loaded = load(settings, *files, feed="zeek")
    assert loaded.quarantined == 3
    conn, http = (count_values(store, name, "uid") for name in ZEEK)
    assert conn.total() > 6_000 and http.total() > 2_000 and conn.total() + http.total() == loaded.events
    done = export_sources(store, [ZEEK[0]], tmp_path / "backup")
    assert (done.manifest.sources[ZEEK[0]].events, done.partial, done.untold) == (conn.total(), 1, 0)
    before = {path: states_of(store, path) for path in files}

    forget(store, ZEEK, files)
    import_sources(store, tmp_path / "backup")
    assert [states_of(store, path) == before[path] for path in files] == [True, False, True, False]
    assert not ledger_rows(store, other)
    ((row),) = ledger_rows(store, both)
    assert row.state == "failed" and f"only those of {ZEEK[0]} were imported" in row.reason
    again = load(settings, *files, feed="zeek")
    assert again.events == http.total() + 100
    assert states_of(store, whole) == before[whole] and states_of(store, nothing) == before[nothing]
    assert [count_values(store, name, "uid") for name in ZEEK] == [conn, http]


def test_a_file_of_several_suricata_sources_is_read_again_where_one_of_them_is_lacking(
    store_settings: Settings, store: Store, tmp_path: Path
) -> None:
    """Its events are in merged blocks, and none of them is doubled."""
    both, flows = write_eve(tmp_path / "both.json", SURICATA, 0), write_eve(tmp_path / "f.json", SURICATA[:1], 1000)
    files, settings = (both, flows), own(store_settings, "suricata", item_bytes=1 << 20)
    load(settings, *files, feed="suricata")
    flow, dns = (count_values(store, name, "flow_id") for name in SURICATA)
    assert (flow.total(), dns.total()) == (300, 100)
    compact_source(store, SURICATA[0], 0)
    before = {path: states_of(store, path) for path in files}
    status, _, said = run_command(store_settings, "export", SURICATA[0], str(tmp_path / "one"))
    assert status == 0 and "only a part of their events is in the export: 1 work item, " in said

    # Where the other source still is, a file of both stays done.
    forget(store, SURICATA[:1], [])
    status, _, said = run_command(store_settings, "import", str(tmp_path / "one"))
    assert status == 0 and f"{SURICATA[0]}: 300 events" in said
    assert {path: states_of(store, path) for path in files} == before

    forget(store, SURICATA, files)
    import_sources(store, tmp_path / "one")
    assert load(settings, *files, feed="suricata").events == 200
    assert states_of(store, flows) == before[flows]
    assert [count_values(store, name, "flow_id") for name in SURICATA] == [flow, dns]
