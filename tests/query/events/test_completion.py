"""Values that begin with a text are those of plain Python, whether the index or the events tell them.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingest_support import RUN
from loaded import LAYOUTS, Loaded, batch_of, in_layout
from mixed_events import FIRST, POOLS, SCALARS, mixed_events, mixed_source

from watchfloor.query import completion
from watchfloor.query.completion import CompletionRequest, FoundValues, show_value
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import TimeRangeError, UnknownFieldError, UnknownSourceError
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.times import to_micros
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

NAME = f"values{RUN}"
EVENTS = mixed_events(400)
FIELDS = [f"{scalar}{s}_{suffix}" for scalar in SCALARS for s in ("", "s") for suffix in ("indexed", "plain")]
TEXTS = sorted({show_value(value) for pool in POOLS.values() for value in pool})


@pytest.fixture(scope="module")
def service(store_settings: Settings) -> Iterator[QueryService]:
    source = mixed_source(f"zeek.{NAME}")
    with Store.open(store_settings) as store:
        for layout in LAYOUTS:
            in_layout(store, Loaded(source, EVENTS, batch_of(source, EVENTS)), layout)
    with Store.open(store_settings, role="query") as opened:
        yield QueryService(opened)


def count_values(field: str, prefix: str, since: int | None, until: int | None) -> Counter[str]:
    """Returns how many events in the range have each value that begins with a text and is not too long."""
    counts: Counter[str] = Counter()
    for event in EVENTS:
        if (since is None or to_micros(event["ts"]) >= since) and (until is None or to_micros(event["ts"]) < until):
            values = event[field] if isinstance(event[field], list) else [event[field]]
            texts = {show_value(value) for value in values if value is not None}
            counts.update(t for t in texts if t.startswith(prefix) and len(t.encode()) < completion.TOO_LONG)
    return counts


def show_found(found: FoundValues) -> dict[str, int]:
    return {show_value(value): count for value, count in found.values}


@st.composite
def draw_requests(draw: st.DrawFn) -> CompletionRequest:
    text = draw(st.sampled_from(TEXTS))
    prefix = text[: draw(st.integers(0, 12))]
    edges = st.none() | st.integers(0, 6 * 86_400).map(lambda s: to_micros(FIRST + timedelta(seconds=s)))
    since, until = draw(edges), draw(edges)
    if since is not None and until is not None and since >= until:
        since, until = until, since + 1
    return CompletionRequest("", draw(st.sampled_from(FIELDS)), prefix, 1000, since, until)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("most", [completion.MOST_VALUES, 2])
def test_values_are_those_of_the_events(
    service: QueryService, layout: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few values allowed the index gives up, and the events answer."""
    monkeypatch.setattr(completion, "MOST_VALUES", most)
    monkeypatch.setattr(completion, "INDEX_SECONDS", 60.0)
    monkeypatch.setattr(completion, "EVENT_SECONDS", 60.0)

    @given(draw_requests())
    @settings(max_examples=100, suppress_health_check=list(HealthCheck))
    def check(request: CompletionRequest) -> None:
        asked = CompletionRequest(f"{layout}.{NAME}", *list(vars(request).values())[1:])
        found = service.complete_value(asked)
        expected = count_values(request.field, request.prefix, request.since, request.until)
        assert found.complete
        assert show_found(found) == expected
        counts = [count for _, count in found.values]
        assert counts == sorted(counts, reverse=True)

    check()


def test_the_most_frequent_come_first_and_no_more_than_asked(service: QueryService, layout: str) -> None:
    found = service.complete_value(CompletionRequest(f"{layout}.{NAME}", "string_indexed", "", 3))
    assert list(show_found(found).items()) == count_values("string_indexed", "", None, None).most_common(3)


def test_few_events_are_read_if_there_are_many(
    service: QueryService, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completion, "MOST_EVENTS", 50)
    found = service.complete_value(CompletionRequest(f"{layout}.{NAME}", "port_plain", "", 1000))
    newest = [event["port_plain"] for event in EVENTS if event["port_plain"] is not None][:50]
    assert not found.complete
    assert dict(found.values) == Counter(newest)


def test_a_field_or_source_or_range_that_is_not_there(service: QueryService, layout: str) -> None:
    name = f"{layout}.{NAME}"
    cases: list[tuple[type[Exception], dict[str, Any]]] = [
        (UnknownFieldError, {"field": "nothing"}),
        (UnknownSourceError, {"source": "no.source"}),
        (UnknownSourceError, {"source": "*"}),
        (TimeRangeError, {"since": 5, "until": 5}),
    ]
    for error, members in cases:
        with pytest.raises(error):
            service.complete_value(
                CompletionRequest(**{"source": name, "field": "string_plain", "prefix": "", "limit": 1, **members})
            )
