"""Schemathesis asks every operation of the OpenAPI document as each role: no fault, and no answer breaks its schema.

In `make test`: some hundred requests on the stack of the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from flask import Flask
from fuzzed_service import FuzzedService
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.choices import TOKEN_ROLES
from watchfloor.schema.settings.settings import Settings

pytestmark = pytest.mark.stack

EXAMPLES = 12
"""Requests of each operation by each role."""
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]


@pytest.fixture(scope="module")
def app(store_settings: Settings) -> Iterator[Flask]:
    services = StoreServices(store_settings)
    # Watches and queries end soon.
    yield create_app(services, AnyToken(), RestLimits(deadline=0.3))
    services.close()


@pytest.mark.parametrize("role", TOKEN_ROLES)
def test_every_operation_as_each_role(app: Flask, fuzzed: FuzzedService, role: str) -> None:
    document = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", app)
    statuses: dict[str, Counter[int]] = {}
    for found in document.get_all_operations():
        operation = found.ok()
        counts = statuses[operation.label] = Counter()
        for mode in schemathesis.GenerationMode:
            ask_operation(operation, mode, counts, role, fuzzed.sources["block"].name)
    answered = {label for label, counts in statuses.items() if counts[200]}
    mine = {"analyst": "GET /api/v1/count", "operator": "GET /api/v1/ingest"}
    assert {kind for kind in mine if mine[kind] in answered} == (set(mine) if role == "admin" else {role})
    refused = {label for label, counts in statuses.items() if counts[403]}
    assert {kind for kind in mine if mine[kind] in refused} == (set() if role == "admin" else set(mine) - {role})
    assert not answered & refused


def ask_operation(operation: Any, mode: Any, counts: Counter[int], role: str, source: str) -> None:
    """Asks one operation with drawn requests, half of them about a source that there is, and checks the answers."""

    @given(operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    def ask(case: Any) -> None:
        for members in (case.query, case.path_parameters, case.body):
            for name in ("source", "name"):
                if sum(counts.values()) % 2 and isinstance(members, dict) and isinstance(members.get(name), str):
                    members[name] = source
        answer = case.call_and_validate(headers={"Authorization": f"Bearer {role}"}, checks=CHECKS)
        counts[answer.status_code] += 1

    try:
        ask()
    except Unsatisfiable:  # an operation without any member that could be wrong
        assert mode is not schemathesis.GenerationMode.POSITIVE
