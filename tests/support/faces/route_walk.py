"""Requests of every route of the REST service, made from the schemas that the routes declare.

A member of a route that ``ROUTE_VALUES`` has no values for is an error: whoever adds it decides how the walk asks it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flask.testing import FlaskClient
from rest_fakes import SOURCE

from watchfloor.api.rest.base.route import Route
from watchfloor.schema.choices import BUCKETS, PLANNERS, SCHEMES

DURATIONS = frozenset(
    {"seconds", "first_seconds", "plan_seconds", "window_seconds", "rows_per_second", "created", "job"}
    | {"rates", "expires"}
)
"""Members that depend on the clock or on chance."""
HEADERS = ("Content-Type", "Allow", "Retry-After", "WWW-Authenticate", "Cache-Control")
Values = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class RouteRequest:
    """One request: its method and path, its query parameters, and its JSON body."""

    method: str
    path: str
    query: Mapping[str, Any]
    body: Mapping[str, Any] | None

    def __str__(self) -> str:
        return f"{self.method} {self.path} {json.dumps(self.query)} {json.dumps(self.body)}"


KNOWN = {"source": SOURCE.name, "field": "client", "value": "192.0.2.1"}
"""Values of query parameters with which the fake answers."""


def good_path(route: Route) -> str:
    """Returns an address of a route, with values for its variables and for the parameters that it must have."""
    path = re.sub("<.*?>", SOURCE.name, route.path)
    needed = [name for name in (route.parameters or {}).get("required", ()) if f"<{name}>" not in route.path]
    return f"{path}?{'&'.join(f'{name}={KNOWN[name]}' for name in needed)}"


def route_values(sources: Sequence[str], fields: Sequence[str], shown: str, since: str, middle: str) -> Values:
    """Returns values for each member that routes have, made of these sources and fields.

    ``shown`` is an indexed field that the reader sees. The events are between ``since`` and some time after ``middle``.
    """
    filters = [f"{field} = 3" for field in fields]
    return {
        "source": sources,
        "name": sources,
        "field": fields,
        "value": ["3"],
        "kind": ["port", "user"],
        "sources": [*sources, "*"],
        "since": [since, middle],
        "until": [middle],
        "sort": [*fields, [f"-{fields[0]}"], "-(", f"-{shown}"],
        "limit": [3],
        "id": ["no ID"],
        "newer": [2],
        "older": [2],
        "prefix": ["", "a", "3"],
        "ids": [True],
        "line": ["0123456789abcdef:42"],
        "file": ["/var/log/nothing.log"],
        "state": ["done"],
        "format": ["ndjson"],
        "job": ["0" * 32],
        "note": ["a note"],
        "view": [{"hidden": []}],
        "wait": [10],
        "keep": [60],
        "ascending": ["true"],
        "bucket": BUCKETS,
        "where": [*filters, f"exists {fields[-1]}", f"{shown} = a or {fields[1]} = 3", "no filter ("],
        "stats": [f"count() by {field}" for field in fields] + [{"aggregates": [{"function": "count"}]}, "count() by"],
        "partial": [True],
        "columns": [[shown], *([field] for field in fields)],
        "own_columns": [True],
        "deadline": [60],
        "cursor": ["AAAA"],
        "watch": [True],
        "scheme": SCHEMES,
        "w": [2.0],
        "planner": PLANNERS,
        "batching": [{"policy": "none"}, {"policy": "nonsense"}],
        "text": ["3"],
        "type": ["int"],
        "column": ["1"],
        "comment": ["2"],
        "label": [""],
        "expires": ["1d"],
        "skip_bad": [True],
    }


TOGETHER: Mapping[str, Mapping[str, Any]] = {
    "watch": {"limit": 3, "since": None, "deadline": 5},
    "sort": {"limit": 3},
    "value": {},
}
"""Members that are asked with others: a watch needs a bound. None stands for the first value of the other member."""


SOURCE_MEMBERS = ("source", "sources", "name")
"""Members whose values are sources."""
BRIEF: Mapping[str, Sequence[str]] = {
    "/api/v1/jobs": ["where"],
    "/api/v1/stats/explain": ["where"],
    "/api/v1/tail": ["limit"],
    "/api/v1/values": ["prefix"],
}
"""The members beside the required ones of routes that run what another one runs, or whose others change little."""


def list_requests(routes: Iterable[Route], values: Values) -> Iterator[RouteRequest]:
    """Yields requests of each route: its required members in all combinations, and each other member beside some.

    These are the combinations with every source, in which the other required members have their first value.
    """
    for route in routes:
        schemas = [schema for schema in (route.parameters, route.body) if schema is not None]
        properties = {name: one for schema in schemas for name, one in schema.get("properties", {}).items()}
        unknown = [name for name in {*properties, *re.findall("<(.*?)>", route.path)} if name not in values]
        if unknown:
            raise LookupError(f"{route.method} {route.path}: the walk has no values for {', '.join(sorted(unknown))}")
        required = [name for schema in schemas for name in schema.get("required", ())]
        others = BRIEF.get(route.path) or [name for name in properties if name not in required]
        for chosen in itertools.product(*(values[name] for name in required)):
            base = dict(zip(required, chosen, strict=True))
            firsts = all(name in SOURCE_MEMBERS or base[name] == values[name][0] for name in required)
            additions = [more for name in others for more in _list_additions(name, values)] if firsts else []
            for members in [base, *({**base, **more} for more in additions)]:
                yield _make_request(route, {k: v for k, v in members.items() if k in properties})


def _list_additions(name: str, values: Values) -> Iterator[dict[str, Any]]:
    """Yields the member with each of its values, and with the members that it needs beside it."""
    beside = {k: values[k][0] if v is None else v for k, v in TOGETHER.get(name, {}).items()}
    if name == "value":  # It goes with a field alone.
        yield from ({"field": field, "value": value} for field in values["field"] for value in values["value"])
    for value in values[name]:
        yield {**beside, name: value}


def _make_request(route: Route, members: Mapping[str, Any]) -> RouteRequest:
    path = route.path
    for name in re.findall("<(.*?)>", path):
        path = path.replace(f"<{name}>", str(members[name]))
    if route.path.endswith("/tail"):
        members = {"limit": 1, "since": "2024-01-01", "deadline": 1, **members}  # else it lasts for ever
    inside = {name: value for name, value in members.items() if f"<{name}>" not in route.path}
    if route.body is None:
        return RouteRequest(route.method, path, inside, None)
    query = {
        name: inside.pop(name) for name in (route.parameters or {"properties": {}})["properties"] if name in inside
    }
    return RouteRequest(route.method, path, query, inside)


def ask(client: FlaskClient, request: RouteRequest, token: str) -> str:
    """Returns the whole answer as text: status, headers and body, without the durations in it."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    response = client.open(
        request.path,
        method=request.method,
        query_string=request.query,
        json=request.body,
        headers=headers,
        buffered=True,
    )
    lines: list[Any] = [line.removeprefix("data: ") for line in response.text.splitlines() if line.strip()]
    # Lines of text may begin or end with a brace, those of JSON do both.
    lines = [_without_durations(json.loads(line)) if f"{line[0]}{line[-1]}" == "{}" else line for line in lines]
    told = {name: response.headers.get(name) for name in HEADERS}
    return json.dumps([response.status_code, told, lines], sort_keys=True)


def _without_durations(answer: Any) -> Any:
    if isinstance(answer, dict):
        return {k: _without_durations(v) for k, v in answer.items() if k not in DURATIONS}
    if isinstance(answer, list):
        return [_without_durations(v) for v in answer]
    return answer
