"""An event whose item died before it was counted goes when a later definition refuses its line.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
from pathlib import Path

import logs_model as model
import pytest
from agreement import ALL, assert_agree, assert_records
from fault_points import Fault, mortal_worker, put_fault_points
from ingest_support import RUN, own

from watchfloor.ingest.intake.load import Load
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack


@pytest.mark.parametrize("mode", ["live", "bulk"])
def test_an_uncounted_event_goes_with_its_line(
    store_settings: Settings, layout: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"exact{RUN}.uncounted_{layout}_{mode}"
    settings = own(store_settings, "uncounted", ingest_mode=mode)
    points = put_fault_points(monkeypatch, name)
    file = model.LogFile(tmp_path / "a.log", compressed=False)
    colours = ["red", 1, "red", None]
    events = [{"ts": model.START + 3_600 * i, "host": "h0", "n": i, "text": f"{i}"} for i in range(len(colours))]
    for event, colour in zip(events, colours, strict=True):
        file.append(json.dumps(event if colour is None else {**event, "colour": colour}) + "\n")
    with Store.open(settings) as store:
        store.catalog.register(model.make_definition(name, layout, "extra", ()))

        def change() -> None:
            changed = model.make_definition(name, layout, "extra", (model.COLOUR,), required=("colour",))
            store.catalog.register(changed, is_redefined=True)

        points.faults = [Fault("event", change=change)]
        load = Load(settings, [file.path], name, workers=0)
        with mortal_worker(settings):
            for _ in load:
                pass
        assert not points.faults and load.result.quarantined == 2
        kind = store.catalog.find_source(name)
        model.read_lines(file.queue(), kind)
        assert_agree(store, kind, [file], ALL, tidy=True)
        assert_records(store, [file])
