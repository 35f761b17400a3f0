"""Makes the OpenAPI 3.1 document of routes, from the JSON Schemas by which requests are checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import Any

from watchfloor.api.formats.stream_encoder import NDJSON
from watchfloor.api.rest.base.problems import KINDS, MEDIA_TYPE, problem_type
from watchfloor.api.rest.base.route import JSON, PREFIX, JsonSchema, Route
from watchfloor.api.rest.base.schemas import declare_list, declare_object

LINE_SCHEMA = "x-line-schema"
"""The member of a schema of JSON lines that has the schema of each line. OpenAPI 3.1 has no word for it."""
BEARER = "token"
_DESCRIPTION = (
    "Queries, statistics, counts and look-ups over the events of a Watchfloor store. Times are ISO 8601, seconds since "
    "1970, or relative (-4h). Members of a body that are null, and parameters without a value, count as not given."
)
_PROBLEM = {
    "type": "object",
    "description": "A problem as RFC 9457 defines it",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"enum": [problem_type(kind) for kind in KINDS]},
        "title": {"type": "string"},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string"},
        "position": {"type": "integer", "minimum": 0, "description": "of the fault in a filter, in characters"},
        "caret": {"type": "string", "description": "the filter's line with a caret under the fault"},
        "reason": {"type": "string", "description": "the detail without the caret"},
        "errors": {
            "description": "what of a body breaks its schema",
            **declare_list(declare_object({"pointer": {"type": "string"}, "detail": {"type": "string"}})),
        },
    },
}


def make_document(routes: Iterable[Route]) -> dict[str, Any]:
    """Returns the OpenAPI document of some routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(re.sub("<(.*?)>", r"{\1}", route.path), {})[route.method.lower()] = _describe_route(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Watchfloor", "version": version("watchfloor"), "description": _DESCRIPTION},
        "servers": [{"url": "/"}],
        "paths": dict(sorted(paths.items())),
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {BEARER: {"type": "http", "scheme": "bearer", "description": "a token of the service"}},
            "responses": {
                "Problem": {
                    "description": "An error",
                    "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
            },
        },
    }


def name_noun(route: Route) -> str:
    """Returns the noun of a route, by which routes are grouped: the first part of its path after the prefix."""
    return route.path.removeprefix(PREFIX).strip("/").partition("/")[0]


def _describe_route(route: Route) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": re.sub(r"\W+", "_", f"{route.method.lower()} {route.path.removeprefix(PREFIX)}").strip("_"),
        "summary": route.summary,
        "tags": [name_noun(route)],
        "security": [] if route.role is None else [{BEARER: []}],
        "responses": {
            "200": {"description": route.summary, "content": _describe_contents(route)},
            "default": {"$ref": "#/components/responses/Problem"},
        },
    }
    if route.role is not None:
        described["x-role"] = route.role
    if route.parameters is not None:
        described["parameters"] = list(_describe_parameters(route, route.parameters))
    if route.body is not None:
        described["requestBody"] = {"required": True, "content": {JSON: {"schema": _drop_dialect(route.body)}}}
    return described


def _describe_contents(route: Route) -> dict[str, Any]:
    """Returns the media types of an answer with their schemas."""
    schema: JsonSchema = route.answer
    if route.answer_type == NDJSON:
        schema = {"type": "string", "description": "JSON lines", LINE_SCHEMA: route.answer}
    others: dict[str, Any] = {media_type: {} for media_type in route.other_types}
    return {route.answer_type.partition(";")[0]: {"schema": schema}, **others}


def _describe_parameters(route: Route, schema: JsonSchema) -> Iterator[dict[str, Any]]:
    variables = set(re.findall("<(.*?)>", route.path))
    for name, one in schema["properties"].items():
        described = {"name": name, "in": "path" if name in variables else "query", "schema": _drop_text(one)}
        if name in variables or name in schema.get("required", ()):
            described["required"] = True
        yield {**described, **({"description": one["description"]} if "description" in one else {})}


def _drop_text(schema: JsonSchema) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != "description"}


def _drop_dialect(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a schema without the name of its dialect, which is that of all schemas of the document."""
    return {name: value for name, value in schema.items() if name != "$schema"}
