"""``/healthz``, ``/readyz``, ``/api/v1/status`` and ``/metrics``: the service's state, for all and for operators."""

from __future__ import annotations

from typing import Any

from flask import Response
from prometheus_client import CONTENT_TYPE_LATEST

from watchfloor.api.rest.base.problems import Problem
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, declare_object
from watchfloor.schema.errors import StoreError
from watchfloor.schema.visibility.grant import EVERYTHING

HEALTHY = {
    "status": {"const": "ok"},
    "store": {"const": "answers"},
    "disk": {"type": "string", "description": "ok, or how little room is left, at which ingest pauses"},
}


def answer_health(call: Call) -> dict[str, Any]:
    """Returns the answer of a service that reaches its store. Raises ``StoreError`` if it does not.

    It says nothing of what is stored, because anybody may ask.
    """
    call.context.health.count_sources()
    return _describe_health(call)


def answer_readiness(call: Call) -> dict[str, Any]:
    """Returns the answer of a service that can take requests. Raises ``StoreError`` if it cannot."""
    if call.context.is_stopping:
        raise StoreError("the service is stopping")
    call.context.health.count_sources()
    return {"status": "ready"}


def show_status(call: Call) -> dict[str, Any]:
    """Returns the state of the service. Raises ``StoreError`` if it does not reach its store."""
    context = call.context
    context.health.count_sources()
    return {
        "tokens": context.tokens.damage or "ok",
        "restarts": context.count_restarts(),
        **_describe_health(call),
    }


def _describe_health(call: Call) -> dict[str, Any]:
    """Returns the answer of a service whose store has just answered. A disk that is nearly full stops no query."""
    disk = call.context.read_disk()
    return {"status": "ok", "store": "answers", "disk": disk.describe_room() if disk and disk.is_low else "ok"}


def send_metrics(call: Call) -> Response:
    """Returns the metrics. They name and count sources, which labels may hide.

    Raises the problem ``forbidden`` for a token that does not see everything.
    """
    if call.grant != EVERYTHING:
        raise Problem("forbidden", "metrics tell of all sources: this needs an operator's token with all labels")
    return Response(call.context.metrics.to_text(), content_type=CONTENT_TYPE_LATEST)


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        summary="Whether the service reaches its store",
        handler=answer_health,
        answer=declare_object(HEALTHY),
        role=None,
        holds_slot=False,
    ),
    Route(
        method="GET",
        path="/readyz",
        summary="Whether the service takes requests: it reaches its store, and was not told to stop",
        handler=answer_readiness,
        answer=declare_object({"status": {"const": "ready"}}),
        role=None,
        holds_slot=False,
    ),
    Route(
        method="GET",
        path="/metrics",
        summary="Metrics for Prometheus",
        handler=send_metrics,
        answer={"type": "string"},
        answer_type=CONTENT_TYPE_LATEST,
        role="operator",
        holds_slot=False,
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/status",
        summary="The state of the service, for operators",
        handler=show_status,
        parameters=declare_object({}),
        answer=declare_object(
            {
                **HEALTHY,
                "restarts": {"type": "object", "additionalProperties": COUNT_ANSWER},
                "tokens": {"type": "string", "description": "ok, or the damage of the file of tokens"},
            }
        ),
        role="operator",
        holds_slot=False,
    ),
)
