"""``/healthz`` and ``/api/v1/status``: whether the service reaches its store, and its state as operators see it."""

from __future__ import annotations

from typing import Any

from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, declare_object

HEALTHY = {"status": {"const": "ok"}, "store": {"const": "answers"}}


def answer_health(call: Call) -> dict[str, Any]:
    """Returns the answer of a service that reaches its store. Raises ``StoreError`` if it does not.

    It says nothing of what is stored, because anybody may ask.
    """
    call.context.health.count_sources()
    return {"status": "ok", "store": "answers"}


def show_status(call: Call) -> dict[str, Any]:
    """Returns the state of the service. Raises ``StoreError`` if it does not reach its store."""
    sources = call.context.health.count_sources()
    return {"status": "ok", "store": "answers", "sources": sources, "tokens": call.context.tokens.damage or "ok"}


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
        path=f"{PREFIX}/status",
        summary="The state of the service, for operators",
        handler=show_status,
        parameters=declare_object({}),
        answer=declare_object(
            {
                **HEALTHY,
                "sources": COUNT_ANSWER,
                "tokens": {"type": "string", "description": "ok, or the damage of the file of tokens"},
            }
        ),
        role="operator",
        holds_slot=False,
    ),
)
