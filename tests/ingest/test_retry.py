"""Quarantined lines are listed, shown and tried again with another definition, exactly once whatever is interrupted.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from ingest_support import counts, exactly, ledger_rows, line, load, own, source

from watchfloor.ingest.maintenance.retry import _Retry, retry_lines
from watchfloor.ingest.records.quarantine import Quarantine
from watchfloor.schema.errors import StoreError, UserError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


def open_keys(store: Store, path: Path) -> list[str]:
    return [quarantined.key for quarantined in Quarantine(store).open_lines(str(path))]


def bad_lines(path: Path) -> Path:
    """Writes 300 lines, of which 100 carry a field that the definition lacks, and three are no events by any."""
    texts = [line(i, extra=i) if i % 3 == 0 else line(i) for i in range(297)]
    path.write_text("\n".join([*texts, "{", '{"host": "no time"}', "x" * 300]) + "\n")
    return path


WIDER = ({"name": "extra", "type": "int"},)


def test_quarantine_lists_shows_and_retries(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path
) -> None:
    settings, kind = (
        own(store_settings, "quarantine", item_bytes=8192),
        store.catalog.register(source("quarantine", layout)),
    )
    file = bad_lines(tmp_path / "a.log")
    result = load(settings, file, feed=kind.name)
    assert (result.lines, result.events, result.clean) == (300, 198, False)
    quarantine = Quarantine(store)
    lines = sorted(quarantine.open_lines(str(file)), key=lambda q: q.offset)
    assert len(lines) == 102 and all(q.reason and q.path == str(file) for q in lines)
    text = file.read_bytes()
    assert all(text[q.offset :].startswith(q.raw) for q in lines)
    shown = quarantine.find_line(lines[0].key)
    assert shown == lines[0] and shown.raw.decode() == line(0, extra=0)
    for key in ("nonsense", "00", f"{lines[0].item_id.hex()}:1"):
        with pytest.raises(UserError):
            quarantine.find_line(key)

    assert retry_lines(store, path=str(file)).events == 0
    kind = store.catalog.register(source("quarantine", layout, WIDER))
    one = retry_lines(store, key=lines[0].key)
    assert (one.lines, one.events) == (1, 1)
    with pytest.raises(UserError, match="retried already"):
        retry_lines(store, key=lines[0].key)
    done = retry_lines(store, path=str(file))
    assert (done.events, sum(done.kept.values())) == (98, 3)
    assert counts(store, kind) == exactly(kind, 297)
    rows = ledger_rows(store, file)
    assert (sum(r.events for r in rows), sum(r.quarantined for r in rows)) == (297, 3)
    assert retry_lines(store, path=str(file)).events == 0
    # Reading the whole file again finds the retried lines good now, and must not count them a second time.
    again = load(settings, file, feed=kind.name, again=True)
    assert (again.events, again.quarantined) == (297, 3)
    assert counts(store, kind) == exactly(kind, 297)


def test_lines_that_fit_in_a_second_reading_leave_quarantine(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path
) -> None:
    settings, kind = own(store_settings, "cleared"), store.catalog.register(source("cleared", layout))
    file = bad_lines(tmp_path / "a.log")
    load(settings, file, feed=kind.name)
    kind = store.catalog.register(source("cleared", layout, WIDER))
    again = load(settings, file, feed=kind.name, again=True)
    assert (again.events, again.quarantined, len(open_keys(store, file))) == (297, 3, 3)
    assert counts(store, kind) == exactly(kind, 297)


@pytest.mark.parametrize("step", ["claim_lines", "_write_events", "_mark_retried"])
def test_a_retry_that_broke_off_is_completed(
    step: str, store_settings: Settings, store: Store, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"broken{step.strip('_')}"
    settings, kind = own(store_settings, name), store.catalog.register(source(name, layout))
    file = bad_lines(tmp_path / "a.log")
    load(settings, file, feed=kind.name)
    kind = store.catalog.register(source(name, layout, WIDER))
    with monkeypatch.context() as patch:

        def broken(*_: object) -> None:
            raise StoreError("gone")

        patch.setattr(Quarantine if step == "claim_lines" else _Retry, step, broken)
        with pytest.raises(StoreError, match="gone"):
            retry_lines(store, path=str(file))
    # The file is read again in between, when it is not clear which lines are in the store by the retry.
    assert load(settings, file, feed=kind.name, again=True).lines == 300
    retry_lines(store, path=str(file))
    assert counts(store, kind) == exactly(kind, 297)
    rows = ledger_rows(store, file)
    assert (sum(r.events for r in rows), sum(r.quarantined for r in rows)) == (297, 3)


def test_a_half_marked_retry_is_not_written_again(
    store_settings: Settings, store: Store, layout: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, kind = own(store_settings, "half"), store.catalog.register(source("half", layout))
    file = bad_lines(tmp_path / "a.log")
    load(settings, file, feed=kind.name)
    kind = store.catalog.register(source("half", layout, WIDER))
    whole = Quarantine.close_lines

    def half(self, sink, lines, state):  # type: ignore[no-untyped-def]
        whole(self, sink, list(lines)[:40], state)
        sink.flush()
        raise StoreError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(Quarantine, "close_lines", half)
        with pytest.raises(StoreError, match="gone"):
            retry_lines(store, path=str(file))
    assert len(open_keys(store, file)) == 62
    assert retry_lines(store, path=str(file)).events == 59
    assert counts(store, kind) == exactly(kind, 297)
