"""Validation of requests: path variables, query parameters and JSON bodies, by the JSON Schemas that a route declares.

Members of a body that are null, and query parameters without a value, count as not given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from flask import Request
from jsonschema import Draft202012Validator, ValidationError

from watchfloor.schema.text import shorten

from .problems import Problem
from .route import JsonSchema, Route

MAX_ERRORS = 20
MAX_MESSAGE = 301  # characters
MAX_DIGITS = 11  # of a whole number in a query parameter; longer text stays text, which the schema refuses


class RequestValidator:
    """Reads the requests of one route."""

    def __init__(self, route: Route) -> None:
        self._body = None if route.body is None else _BodyReader(route.body)
        self._parameters = None if route.parameters is None else _ParameterReader(route.parameters)

    def read_parameters(self, request: Request) -> dict[str, Any]:
        """Returns path variables and query parameters in their schema's types, with its defaults.

        Raises the problem ``bad-parameter`` for a missing, unknown, repeated or wrong parameter, and ``bad-request``
        for a value that is not in the ``enum`` of its schema.
        """
        variables = dict(request.view_args or {})
        return variables if self._parameters is None else self._parameters.read(request, variables)

    def read_body(self, request: Request) -> dict[str, Any]:
        """Returns the JSON body. Raises the problem ``bad-body`` or ``unsupported-media-type``."""
        return {} if self._body is None else self._body.read(request)


class _BodyReader:
    """Reads JSON bodies by one schema."""

    def __init__(self, schema: JsonSchema) -> None:
        self._schema, self._validator = schema, Draft202012Validator(schema)

    def read(self, request: Request) -> dict[str, Any]:
        if not request.is_json:
            raise Problem("unsupported-media-type", "send the query as JSON with Content-Type: application/json")
        try:
            body = orjson.loads(request.get_data(cache=False))
        except orjson.JSONDecodeError as error:
            raise Problem("bad-body", f"the body is not JSON: {error}", {"errors": []}) from None
        body = _normalize_body(body, self._schema)
        errors = [
            {"pointer": "".join(f"/{part}" for part in e.absolute_path), "detail": _shorten_message(e)}
            for e in sorted(self._validator.iter_errors(body), key=lambda e: list(map(str, e.absolute_path)))
        ]
        if errors:
            first = errors[0]
            detail = f"{first['pointer'] or 'the body'}: {first['detail']}"
            raise Problem("bad-body", detail, {"errors": errors[:MAX_ERRORS]})
        assert isinstance(body, dict)
        return body


class _ParameterReader:
    """Reads path variables and query parameters by one schema."""

    def __init__(self, schema: JsonSchema) -> None:
        self._schema, self._validator = schema, Draft202012Validator(schema)
        self._properties: Mapping[str, Any] = schema["properties"]

    def read(self, request: Request, variables: dict[str, Any]) -> dict[str, Any]:
        # Unknown, repeated and missing parameters are checked here, because the schema cannot see repeated ones, and so
        # that the error names the first one in the request.
        for name in request.args:
            if name not in self._properties or name in variables:
                known = [known for known in self._properties if known not in variables]
                raise Problem("bad-parameter", f"unknown parameter {name!r}; known are {', '.join(known)}")
            if len(request.args.getlist(name)) > 1:
                raise Problem("bad-parameter", f"the parameter {name!r} is given more than once")
        given = {name: text for name, text in request.args.items() if text}
        for name in self._schema.get("required", ()):
            if name not in given and name not in variables:
                raise Problem("bad-parameter", f"the parameter {name!r} is missing")
        values = {name: _parse_parameter(text, self._properties[name]) for name, text in given.items()}
        for error in self._validator.iter_errors({**variables, **values}):
            raise self._to_problem(error)
        defaults = {name: schema["default"] for name, schema in self._properties.items() if "default" in schema}
        return {**defaults, **variables, **values}

    def _to_problem(self, error: ValidationError) -> Problem:
        if not error.absolute_path:  # parameters that do not fit together
            return Problem("bad-parameter", _shorten_message(error))
        name = str(error.absolute_path[0])
        schema = self._properties[name]
        if error.validator == "enum":
            known = ", ".join(map(str, schema["enum"]))
            return Problem("bad-request", f"unknown {name} {error.instance!r}; known are {known}")
        if schema.get("type") == "integer" and {"minimum", "maximum"} <= set(schema):
            bounds = f"from {schema['minimum']:,} to {schema['maximum']:,}"
            return Problem("bad-parameter", f"the parameter {name!r} must be a whole number {bounds}")
        if schema.get("type") == "boolean":
            return Problem("bad-parameter", f"the parameter {name!r} must be true or false")
        return Problem("bad-parameter", f"the parameter {name!r}: {_shorten_message(error)}")


def _normalize_body(body: Any, schema: JsonSchema) -> Any:
    """Returns the body without null members, and with whole floats as integers where the schema wants integers.

    JSON has one type of numbers, so clients may write 10 as ``10.0`` or ``1e1``.
    """
    if not isinstance(body, dict):
        return body
    properties = schema["properties"]
    given = {name: value for name, value in body.items() if value is not None or name not in properties}
    for name, value in given.items():
        if properties.get(name, {}).get("type") == "integer" and isinstance(value, float) and value.is_integer():
            given[name] = int(value)
    return given


def _parse_parameter(text: str, schema: JsonSchema) -> Any:
    """Returns the value of a query parameter in its schema's type; text that does not fit stays for the validator."""
    if schema.get("type") == "boolean":
        return {"true": True, "false": False}.get(text, text)
    is_whole = text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS
    return int(text) if schema.get("type") == "integer" and is_whole else text


def _shorten_message(error: ValidationError) -> str:
    """Returns the error's message, shortened because it may quote a large value."""
    return shorten(error.message, MAX_MESSAGE)
