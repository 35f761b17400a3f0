"""The web page over a service and a stack: a source of known events, and a page that somebody has signed in to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from browser import watch_errors
from ingest_support import RUN, load, own
from playwright.sync_api import Browser, Page, expect
from rest_fakes import read_lines
from served import AnyToken, serve_app

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.serve import StoreServices
from watchfloor.api.tokens.token import Token, hash_token
from watchfloor.schema.definition import parse_definition
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.store.store import Store

# A browser beside tests and servers on few processors has moments of seconds.
expect.set_options(timeout=15_000)

EVENTS = 30_000
START = 1_772_323_200  # 2026-03-01T00:00Z
STEP = 8  # seconds between events: they reach over almost three days
FIELDS = (
    {"name": "ts", "type": "time"},
    {"name": "client", "type": "ip", "indexed": True, "ecs": "source.ip"},
    {"name": "status", "type": "int", "indexed": True},
    {"name": "user", "type": "string", "indexed": True, "ecs": "user.name"},
    {"name": "path", "type": "string"},
    {"name": "bytes", "type": "int"},
)


def make_source(
    name: str, fields: Iterable[Mapping[str, object]] = FIELDS, title: str = "Accesses of a shop"
) -> Source:
    """Returns a source of events as ``make_event`` makes them, with a name of this run."""
    return parse_definition(
        {
            "name": f"test{RUN}.{name}",
            "title": title,
            "parser": {"format": "json"},
            "timestamp": {"field": "ts"},
            "fields": list(fields),
            "shards": 2,
        }
    )


SOURCE = make_source("page")
TOKEN = "a-token-of-the-page"


class KnownTokens(AnyToken):
    """Knows ``TOKEN`` of an analyst, and the same with ``-operator`` behind it."""

    def find_token(self, text: str) -> Token | None:
        role = {TOKEN: "analyst", f"{TOKEN}-operator": "operator"}.get(text)
        return None if role is None else Token(f"{role}s-token", hash_token(text), role, None, 0)  # type: ignore[arg-type]


def make_event(number: int) -> dict[str, Any]:
    """Returns the event of this number, without its time. User names hold what filters and pages must quote."""
    event: dict[str, Any] = {
        "client": f"192.0.2.{number % 11}",
        "status": 503 if number % 100 == 0 else 404 if number % 10 == 0 else 200,
        "path": f"/item/{number}?q=<b>&x='\"",
        "bytes": number,
    }
    if number % 3:
        event["user"] = ("root", 'O\'Neill "x"*', "<img src=x onerror=alert(1)>", "jane doe")[number % 4]
    return event


def write_lines(path: Path, first: int, count: int) -> Path:
    lines = [json.dumps({"ts": START + n * STEP, **make_event(n)}) for n in range(first, first + count)]
    path.write_text("\n".join(lines) + "\n")
    return path


@dataclass(frozen=True)
class PageService:
    """A running service with the page, and the source of its events.

    ``ask`` returns the records of a query's answer without its summary.
    """

    settings: Settings
    store: Store
    url: str
    app: Any
    source: Source

    def ask(self, **body: Any) -> list[dict[str, Any]]:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        body = {"source": self.source.name, **body}
        answer = self.app.test_client().post("/api/v1/query", json=body, headers=headers)
        *rows, summary = read_lines(answer.data)
        assert summary["summary"]["status"] in ("complete", "limit")
        return rows

    def count(self, **parameters: Any) -> int:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        query = {"source": self.source.name, **parameters}
        answer = self.app.test_client().get("/api/v1/count", query_string=query, headers=headers)
        return int(answer.json["count"])

    def load(self, path: Path, source: Source | None = None) -> None:
        queue = own(self.settings, "page", item_bytes=1 << 20, chunk_bytes=1 << 20)
        load(queue, path, feed=(source or self.source).name)


@contextmanager
def run_page_service(
    settings: Settings, folder: Path, source: Source = SOURCE, events: int = EVENTS
) -> Iterator[PageService]:
    """Loads events into a source of its own, and serves the page."""
    limits = replace(RestLimits(), stalled_seconds=20)
    with Store.open(settings) as store:
        store.catalog.register(source)
        services = StoreServices(settings)
        app = create_app(services, KnownTokens(), limits, settings)
        try:
            with serve_app(app, limits) as port:
                service = PageService(settings, store, f"http://127.0.0.1:{port}", app, source)
                service.load(write_lines(folder / "page.json", 0, events))
                yield service
        finally:
            services.close()


@contextmanager
def open_page(
    browser: Browser, service: PageService, address: str = "", token: str = TOKEN, **options: Any
) -> Iterator[Page]:
    """Yields a page that somebody has signed in to. Fails at its end if a script or the content policy did."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    context.set_default_timeout(15_000)
    try:
        context.request.post(f"{service.url}/api/v1/session", data={"token": token})
        page = context.new_page()
        errors = watch_errors(page)
        page.goto(f"{service.url}/{address or f'#/explore?source={service.source.name}'}")
        yield page
        assert not errors, errors
    finally:
        context.close()
