"""Generated events of each feed are found in their own source, also while a live file is followed.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from ingest_support import RUN, own, wait_for, worker_here

from watchfloor.api.cli import main as cli
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.intake.master import watch_folders
from watchfloor.loadgen.generator.feed_registry import list_feeds
from watchfloor.loadgen.generator.generate import generate_events
from watchfloor.loadgen.generator.streams.generate_live import generate_live
from watchfloor.loadgen.generator.streams.periodically_closed_file import PeriodicallyClosedFile
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.service import QueryService
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
EVENTS = 5_000


def test_generated_events_are_counted_and_found(store_settings: Settings, tmp_path: Path) -> None:
    made = {}
    for feed in list_feeds():
        # ``dns.events.json`` might be a log of Zeek's by its name.
        with (tmp_path / f"{feed}.json").open("wb") as out:
            made[feed] = generate_events(out, EVENTS, seed=11, source=feed)
    settings = own(store_settings, "feeds", item_bytes=8 << 20)
    running = Load(settings, sorted(tmp_path.iterdir()), workers=0)
    with worker_here(settings):
        for _ in running:
            pass
    assert not [file for file in running.result.files if file.quarantined or file.failed]
    assert running.result.events == EVENTS * len(list_feeds())
    with Store.open(store_settings, role="query") as store:
        service = QueryService(store)
        for feed, done in made.items():
            assert service.count_events(feed) == EVENTS
            for named in (done.popular, done.middling, done.rare):
                assert service.count_events(feed, field=named.field, value=named.value) == named.events, named
                where = f'{named.field} = "{named.value}"'
                request = QueryRequest(feed, where=where, columns=("ts", named.field))
                assert sum(len(batch) for batch in service.run(request)) == named.events, named


def test_a_live_feed_is_followed_while_it_is_written_and_replayed(
    store_settings: Settings, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """A master takes what was added each time that the file is closed; in the end each event is there once."""
    settings = own(store_settings, "live")
    like = builtin_definitions()["dns.events"].definition
    found: list[int] = []
    stop = threading.Event()
    with Store.open(store_settings) as store, worker_here(settings):
        kind = store.catalog.register(parse_definition({**like, "name": f"test{RUN}.live", "shards": 2}))
        service = QueryService(store)
        thread = threading.Thread(target=watch_folders, args=(settings, [tmp_path], stop), kwargs={"feed": kind.name})
        thread.start()
        try:
            with PeriodicallyClosedFile(str(tmp_path / "dns.json")) as out:
                feed = threading.Thread(target=generate_live, args=(out, 600, 100.0, 5, "dns.events", stop))
                feed.start()
                while feed.is_alive():
                    feed.join(0.2)
                    found.append(service.count_events(kind.name))
            wait_for(lambda: service.count_events(kind.name) >= 600)
        finally:
            stop.set()
            thread.join()
        assert service.count_events(kind.name) == 600
        # The catalog knows what this source is, and nothing else does.
        again = ["replay", str(tmp_path / "dns.json"), "--source", kind.name, "--rate", "5000", "--out", "-"]
        assert cli.main(["--home", str(store_settings.home), *again]) == cli.OK
    assert any(0 < count < 600 for count in found), "nothing was there before the end"
    out_text, err = capfdbinary.readouterr()
    assert out_text.count(b"\n") == 600 and b"600 lines, " in err and b"as they are" not in err
