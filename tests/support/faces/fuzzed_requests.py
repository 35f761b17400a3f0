"""Drawn requests for every route of the REST service, and the check of what it answers.

Parameters and bodies are drawn from the schemas that the routes declare. Half of their members are then replaced by
values that come further: real sources, fields and filters, odd times, cursors cut and forged.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from answer_parts import decompress
from flask.testing import FlaskClient
from fuzzed_service import FuzzedService
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schema_strategies import JSON, draw_valid

from watchfloor.api.rest.base.problems import problem_type
from watchfloor.api.rest.base.route import Route, find_routes
from watchfloor.api.rest.base.schemas import declare_object
from watchfloor.query.batches.registry import POLICIES
from watchfloor.query.preparation.cursor import Cursor
from watchfloor.schema.filter.json_form import OPERATORS
from watchfloor.schema.source import Source
from watchfloor.store.encoding.keys import MAX_TIME

ROUTES = find_routes()
# Every query ends soon, a watch too.
LONGEST_SECONDS = 0.5
NUMBERS = (
    0,
    1,
    -1,
    0.5,
    -0.0,
    255,
    256,
    2**31,
    2**53 + 1,
    2**63 - 1,
    2**63,
    -(2**63) - 1,
    2**64,
    1e300,
    -1e300,
    5e-324,
)
TIMES = (
    "now", "-4h", "+1d", "-999999999999w", "0", "-0.5", "1969-12-31T23:59:59.999999Z", "0001-01-01", "9999-12-31",
    "2262-01-01", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "253402300800", "2016-02-30", "20160301",
)  # fmt: skip
TEXTS = (
    "", " ", "\x00", "a\x00b", "\ud800", "é", "\U0010ffff", "%", "%00", "*", "~", "'", '"', "\\", "(key)", "_key",
    "192.0.2.1", "::1", "::ffff:192.0.2.1", "10.0.0.0/8", "0.0.0.0/0", "nan", "inf", "-inf", "1e999", "true", "null",
    "2016-03-01", "0x10", "1_000", "９", "a" * 5000,
)  # fmt: skip

TYPES = ["text/plain", "application/json; charset=latin-1", "application/json; charset=\xff", "application/", ";", ""]
ACCEPTED = [
    "*/*",
    "text/html",
    "application/x-ndjson;q=zzz",
    "text/csv",
    "application/vnd.apache.arrow.stream",
    "application/vnd.apache.parquet, text/csv;q=0.1",
    "gzip",
    "zstd, gzip;q=0.1",
    "application/json, ,;q=",
    "gzip;q=-1",
    "bytes=5-1",
    "a=b;=",
]
HEADER_TEXTS = st.text(
    st.characters(max_codepoint=255, exclude_characters="\r\n"), max_size=20
)  # what a WSGI server makes of any bytes that can stand in a header


@dataclass(frozen=True)
class FuzzedRequest:
    """A request as the test client of Flask takes it."""

    method: str
    path: str
    query: str = ""
    body: bytes | None = None
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def draw_requests(source: Source, cursors: list[str]) -> st.SearchStrategy[FuzzedRequest]:
    """Draws a request of any route, for a source of the store. ``cursors`` are cursors of its queries."""
    return st.sampled_from(ROUTES).flatmap(
        lambda route: st.builds(
            lambda request, headers: replace(request, headers=headers),
            _draw_route(route, _draw_members(source, cursors)),
            _draw_headers(route),
        )
    )


def fuzz_service(fuzzed: FuzzedService, layout: str, examples: int) -> Counter[int]:
    """Asks drawn requests and returns how many answers had each status. Fails at an answer that is a fault."""
    statuses: Counter[int] = Counter()

    # Without the phase that explains a failure: it traces every line, for many minutes.
    @given(draw_requests(fuzzed.sources[layout], fuzzed.cursors[layout]))
    @settings(
        max_examples=examples,
        suppress_health_check=list(HealthCheck),
        phases=[phase for phase in Phase if phase is not Phase.explain],
    )
    def ask(request: FuzzedRequest) -> None:
        statuses[check_answer(fuzzed.client, request)] += 1

    ask()
    return statuses


def check_answer(client: FlaskClient, request: FuzzedRequest) -> int:
    """Sends a request and returns the answer's status. Fails for an answer that is a fault of the service."""
    answer = client.open(
        request.path,
        method=request.method,
        query_string=request.query,
        data=request.body,
        content_type=request.content_type if request.body is not None else None,
        headers=request.headers,
    )
    content = decompress(answer.get_data(), answer.headers.get("Content-Encoding", ""))
    assert answer.status_code < 500 or answer.status_code == 503, (request, content)
    if answer.status_code != 200:
        assert answer.content_type == "application/problem+json", (request, answer.content_type)
        assert json.loads(content)["status"] == answer.status_code
    elif answer.content_type == "application/x-ndjson":
        summary = json.loads(content.splitlines()[-1])["summary"]
        problem = summary.get("problem", {"status": 400})
        assert summary["status"] != "running" and problem["status"] < 500, (request, summary)
        assert problem.get("type") != problem_type("internal")
    elif answer.content_type == "application/json":
        json.loads(content)
    answer.close()
    return answer.status_code


def _draw_route(route: Route, members: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[FuzzedRequest]:
    if route.body is not None:
        bodies = _draw_object(route.body, members).map(_bound_deadline)
        texts = st.one_of(bodies.map(_encode), bodies.map(_encode), JSON.map(_encode), st.binary(max_size=50))
        types = st.sampled_from(["application/json"] * 20 + TYPES) | st.just("application/json") | HEADER_TEXTS
        return st.builds(FuzzedRequest, st.just(route.method), st.just(route.path), st.just(""), texts, types)
    schema = route.parameters or declare_object({})
    wrong = st.lists(st.tuples(st.sampled_from([*schema["properties"], "zzz"]), st.sampled_from(TEXTS)), max_size=1)
    queries = st.builds(lambda known, more: (known, more), _draw_object(schema, members), st.just([]) | wrong)
    return queries.map(lambda drawn: _to_request(route, *drawn))


def _draw_headers(route: Route) -> st.SearchStrategy[dict[str, str]]:
    """Draws headers: mostly a token of the route's role, sometimes another or what is none; and any others."""
    good = f"Bearer {route.role or 'analyst'}"
    wrong = st.sampled_from(["", "Bearer", "Basic eDp5", "Bearer analyst", "Bearer operator"]) | HEADER_TEXTS
    tokens = st.sampled_from([True] * 9 + [False]).flatmap(lambda is_good: st.just(good) if is_good else wrong)
    others = {
        name: HEADER_TEXTS | st.sampled_from(ACCEPTED) for name in ("Accept", "Accept-Encoding", "Range", "Cookie")
    }
    return st.fixed_dictionaries({"Authorization": tokens}, optional=others)


def _to_request(route: Route, members: Mapping[str, Any], more: list[tuple[str, str]]) -> FuzzedRequest:
    path = route.path
    for name in members:
        path = path.replace(f"<{name}>", _quote(members[name]))
    query = [(name, value) for name, value in members.items() if f"<{name}>" not in route.path]
    return FuzzedRequest(route.method, path, "&".join(f"{name}={_quote(value)}" for name, value in [*query, *more]))


def _quote(value: object) -> str:
    """Returns a value as part of an address. Half a surrogate becomes what is not UTF-8."""
    text = value if isinstance(value, str) else json.dumps(value)
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _encode(value: object) -> bytes:
    return json.dumps(value).encode()


def _draw_object(schema: Mapping[str, Any], members: Mapping[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """Draws an object by its schema, some members of which are drawn from ``members`` instead."""
    known = {name: members[name] for name in schema["properties"] if name in members}
    needed = {name: strategy for name, strategy in known.items() if name in schema.get("required", ())}
    better = st.fixed_dictionaries(needed, optional={n: s for n, s in known.items() if n not in needed})
    plain = draw_valid(schema)
    return better | st.builds(lambda drawn, known: {**drawn, **known}, plain, better) | plain


def _bound_deadline(body: Any) -> Any:
    """Returns the body with a deadline that the test can wait for."""
    deadline = body.get("deadline") if isinstance(body, dict) else None
    if not isinstance(body, dict) or (deadline is not None and not isinstance(deadline, (int, float))):
        return body
    return {**body, "deadline": LONGEST_SECONDS if deadline is None else min(deadline, LONGEST_SECONDS)}


def _draw_members(source: Source, cursors: list[str]) -> dict[str, st.SearchStrategy[Any]]:
    names = st.sampled_from([f.name for f in source.fields]) | st.sampled_from(["zzz", *TEXTS])
    values = st.sampled_from(TEXTS) | st.sampled_from(NUMBERS) | st.sampled_from(TIMES) | JSON
    times = st.sampled_from(TIMES) | st.sampled_from(NUMBERS) | st.floats(-1e11, 1e12)
    batching = {
        name: st.sampled_from(NUMBERS) | st.floats(0.001, 100)
        for name in ("growth", "min_width", "min_seconds", "max_seconds", "first_rows", "width", "zzz")
    }
    return {
        "source": st.sampled_from([source.name] * 9 + ["zzz", "\x00", "a.b"]),
        "name": st.sampled_from([source.name, "zzz", "a/b", "..", "%2e", "\x00"]),
        "since": times,
        "until": times,
        "where": _draw_filters(names, values),
        "columns": st.lists(names, min_size=1, max_size=3, unique=True),
        "sort": names | st.lists(names, min_size=1, max_size=3) | st.sampled_from(["-ts", "-", "-(", "a,", "count()"]),
        "limit": st.sampled_from([1, 2, 10**9, 1.0, 0, -1, 2**70, "1", None]),
        "deadline": st.sampled_from([LONGEST_SECONDS, 5e-324, 0, -1, "1"]),
        "cursor": _draw_cursors(source, cursors),
        "batching": st.fixed_dictionaries({}, optional={"policy": st.sampled_from([*POLICIES, "zzz"]), **batching}),
        "field": names,
        "id": st.sampled_from(["7f" * 16, "0" * 32, "f" * 32, "zzz"]).map(lambda key: f"{key}-{source.name}")
        | st.sampled_from(TEXTS),
        "line": st.sampled_from(["0123456789abcdef:42", "0123456789abcdef:-1", "zzz", "retry"]),
        "value": values,
        "bucket": st.sampled_from(["minute", "hour", "day", "zzz"]),
        "w": st.sampled_from(NUMBERS),
    }


def _draw_filters(names: st.SearchStrategy[str], values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draws filters as text and as trees, most of which are almost right."""
    texts = st.builds(
        lambda name, operator, value: f"{name} {operator} {value}",
        names,
        st.sampled_from(["=", "!=", "<", ">=", "~", "in", "startswith", "endswith", "contains", "exists"]),
        values.map(json.dumps) | st.sampled_from(["/a+/", "/(a|b)*$/i", "a*", "1..5", "(1, 2)", "10.0.0.0/8"]),
    )
    keys = st.fixed_dictionaries(
        {"field": names, "op": st.sampled_from(OPERATORS)},
        optional={
            "value": values,
            "values": st.lists(values, max_size=3),
            "from": values,
            "to": values,
            "ignore_case": st.booleans(),
        },
    )
    trees = st.recursive(
        keys,
        lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda terms: {"and": terms}),
            st.lists(inner, max_size=3).map(lambda terms: {"or": terms}),
            inner.map(lambda term: {"not": term}),
        ),
        max_leaves=4,
    )
    joined = st.lists(texts, min_size=1, max_size=3).map(" and ".join) | texts.map(lambda text: f"not ({text})")
    return texts | joined | trees | st.text(max_size=20)


def _draw_cursors(source: Source, cursors: list[str]) -> st.SearchStrategy[str]:
    """Draws cursors that were given out, parts of them, and forged ones whose check sum is right."""
    forged = st.builds(
        lambda time, tie, since: Cursor((MAX_TIME - time).to_bytes(8, "big") + tie.to_bytes(8, "big"), since).to_text(
            source.name, None
        ),
        st.integers(MAX_TIME - 2**64 + 1, MAX_TIME) | st.integers(0, 2**53),
        st.integers(0, 2**64 - 1),
        st.integers(0, 2**64 - 1) | st.just(0),
    )
    return (
        st.sampled_from(cursors) | st.sampled_from(cursors).map(lambda text: text[:-3]) | forged | st.text(max_size=9)
    )
