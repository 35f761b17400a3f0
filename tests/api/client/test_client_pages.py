"""The code of the client's page and notebook runs against the service on a stack, and finds what plain Python finds.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import run_command
from ingest_support import RUN, load, own
from served import AnyToken, serve_app

from watchfloor.api.client import Client
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.serve import StoreServices
from watchfloor.schema.definition import builtin_definitions, parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import drop_source
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
DOCS = Path(__file__).parents[3] / "docs/using/client"
EVENTS = 4000


@pytest.fixture(scope="module", params=["block", "cell"])
def service(
    request: pytest.FixtureRequest, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, int, list[dict[str, Any]]]]:
    """Loads generated proxy events in a layout; yields their source, the service's port and the events."""
    name = f"test{RUN}.proxy_{request.param}"
    definition = {**builtin_definitions()["proxy.events"].definition, "name": name, "layout": request.param}
    file = tmp_path_factory.mktemp("client") / f"{request.param}.json"
    assert (
        run_command(store_settings, "generate", "proxy.events", "--events", str(EVENTS), "--output", str(file))[0] == 0
    )
    with Store.open(store_settings) as store:
        store.catalog.register(parse_definition(definition))
        load(own(store_settings, request.param, item_bytes=1 << 20, chunk_bytes=1 << 20), file, feed=name)
    services = StoreServices(store_settings)
    app = create_app(services, AnyToken(), RestLimits(), store_settings)
    try:
        with serve_app(app, RestLimits()) as port:
            yield name, port, [json.loads(line) for line in file.read_text().splitlines()]
    finally:
        services.close()
        # Another test's generated events are told by their form alone.
        with Store.open(store_settings) as store:
            drop_source(store.connection, store.catalog.find_source(name))


@pytest.fixture
def namespace(service: tuple[str, int, list[dict[str, Any]]], tmp_path: Path) -> dict[str, Any]:
    """Returns the names that code has which was written for another source, address and token."""
    (tmp_path / "token").write_text("a-token")
    return {"proxy.events": service[0], ":8742": f":{service[1]}", ".watchfloor/secret/rest.token": tmp_path / "token"}


def run_code(parts: list[str], replacements: dict[str, Any]) -> dict[str, Any]:
    """Runs parts of a page's code, one after the other, in one namespace, which is returned."""
    names: dict[str, Any] = {}
    for part in parts:
        for written, meant in replacements.items():
            part = part.replace(written, str(meant))
        exec(compile(part, "a page of the docs", "exec"), names)
    return names


def test_the_page(namespace: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    parts = re.findall(r"^```python\n(.*?)^```", (DOCS / "client.md").read_text(), re.MULTILINE | re.DOTALL)
    names = run_code(parts, namespace)
    page, next_page = names["page"], names["next_page"]
    assert (page.num_rows, next_page.num_rows) == (100, 100)
    assert page["ts"][-1].as_py() >= next_page["ts"][0].as_py()
    assert "bad-filter 8\n" in capsys.readouterr().out
    assert names["number"] == 10


def test_the_notebook(service: tuple[str, int, list[dict[str, Any]]], namespace: dict[str, Any]) -> None:
    notebook = json.loads((DOCS / "client.ipynb").read_text())
    assert not any(cell.get("outputs") for cell in notebook["cells"]), "outputs are not committed"
    names = run_code(["".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "code"], namespace)
    events = service[2]
    assert names["total"] == EVENTS
    failed = Counter(event["domain"] for event in events if event["status"] >= 500)
    shown = names["failing"]
    assert list(shown["failed"]) == sorted(failed.values(), reverse=True)[:10]
    assert all(failed[domain] == count for domain, count in zip(shown["domain"], shown["failed"], strict=True))
    worst = [e for e in events if e["domain"] == shown["domain"][0] and e["status"] >= 500]
    found = names["events"]
    assert sorted(found["src_ip"]) == sorted(event["src_ip"] for event in worst)
    assert found["bytes_out"].sum() == sum(event.get("bytes_out") or 0 for event in worst)
    assert names["per_minute"].sum() == len(worst)
    assert names["sightings"]


@pytest.mark.parametrize("where", [None, "status >= 500", "status = 1"])
def test_every_form_has_the_same_events(service: tuple[str, int, list[dict[str, Any]]], where: str | None) -> None:
    name, port, events = service
    client = Client(f"http://127.0.0.1:{port}", "a-token")
    options: Any = {"columns": ["domain", "bytes_out", "cached"], **({} if where is None else {"where": where})}
    wanted = [
        {member: event[member] for member in options["columns"] if event.get(member) is not None}
        for event in events
        if where is None or (event["status"] >= 500 and where != "status = 1")
    ]
    key = json.dumps

    def order(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(key({n: v for n, v in sorted(row.items()) if v is not None}) for row in rows)

    rows = list(client.query(name, **options))
    assert order(rows) == order(wanted)
    batches = list(client.query(name, **options).read_batches())
    assert [row for batch in batches for row in batch.to_pylist()] == [
        {member: row.get(member) for member in options["columns"]} for row in rows
    ]
    table = client.query(name, **options).to_arrow()
    assert table.column_names == options["columns"] and table.num_rows == len(wanted)
    assert client.query(name, **options).to_polars().to_dicts() == table.to_pylist()
    assert len(client.query(name, **options).to_pandas()) == len(wanted)
    counts = client.stats(name, "count()", **({} if where is None else {"where": where}))
    assert counts.to_arrow().to_pylist() == [{"count": len(wanted)}]
