"""``/healthz``: tells whether the service reaches its store."""

from __future__ import annotations

from typing import Any

from watchfloor.api.rest.base.route import Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, declare_object


def answer_health(call: Call) -> dict[str, Any]:
    """Returns the answer of a service that reaches its store. Raises ``StoreError`` if it does not."""
    return {"status": "ok", "store": "answers", "sources": call.context.health.count_sources()}


ROUTES = (
    Route(
        method="GET",
        path="/healthz",
        summary="Whether the service reaches its store",
        handler=answer_health,
        answer=declare_object({"status": {"const": "ok"}, "store": {"const": "answers"}, "sources": COUNT_ANSWER}),
        role=None,
    ),
)
