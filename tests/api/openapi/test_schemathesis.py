"""Schemathesis asks every operation of the OpenAPI document as each role: no fault, and no answer breaks its schema.

Drawn requests are mostly refused, so each operation is asked a good one too, and answers it if the role may ask.

In `make test`: some hundred requests on the stack of the run.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from answer_parts import parts_conformance
from flask import Flask
from fuzzed_service import FuzzedService
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from ingest_support import load, own
from ingest_support import source as make_source
from rest_fakes import good_body
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from served import AnyToken

from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.base.route import ANY_ROLE
from watchfloor.api.rest.store_services import StoreServices
from watchfloor.schema.choices import TOKEN_ROLES
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack

EXAMPLES = min(8, settings.default.max_examples // 3)
"""Requests of each operation by each role; fewer where others have few, too."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    parts_conformance,
]
NAME = "schemathesis"
"""The name of a list and of a saved search."""
ORDER = ("put", "post", "get", "delete")
"""The order in which operations are asked: what is to be found is made first, and removed last."""


@pytest.fixture(scope="module")
def app(store_settings: Settings) -> Iterator[Flask]:
    services = StoreServices(store_settings)
    # Watches and queries end soon.
    yield create_app(services, AnyToken(), RestLimits(deadline=0.3, watch_deadline=0.3))
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


def make_headers(role: str) -> dict[str, str]:
    """Returns the headers of a request. The client of Flask does not decompress answers."""
    return {"Authorization": f"Bearer {role}", "Accept-Encoding": "identity"}


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
        answer = case.call_and_validate(headers=make_headers(role), checks=CHECKS)
        counts[answer.status_code] += 1

    try:
        ask()
    except Unsatisfiable:  # an operation without any member that could be wrong
        assert mode is not schemathesis.GenerationMode.POSITIVE


@pytest.fixture(scope="module")
def patient(store_settings: Settings) -> Iterator[Flask]:
    """The service without a deadline, for requests that shall have events in their answers."""
    services = StoreServices(store_settings)
    yield create_app(services, AnyToken(), RestLimits())
    services.close()


@pytest.fixture(scope="module")
def values(
    patient: Flask, fuzzed: FuzzedService, store_settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Values of parameters with which operations find something: an event, a list and a line in quarantine."""
    name, file = fuzzed.sources["block"].name, tmp_path_factory.mktemp("lines") / "bad.log"
    with Store.open(store_settings) as store:
        kind = store.catalog.register(make_source("schemathesis"))
    file.write_text("no JSON\n")
    assert load(own(store_settings, "schemathesis"), file, feed=kind.name).quarantined == 1
    client, bearer = patient.test_client(), make_headers("admin")
    found = client.post("/api/v1/query", json={"source": name, "ids": True, "limit": 1}, headers=bearer)
    lines = client.get("/api/v1/quarantine", query_string={"file": str(file)}, headers=bearer).json["lines"]
    values = {"id": json.loads(found.text.split("\n")[0])["_id"], "line": lines[0]["line"], "source": name}
    return {**values, "field": "string_indexed", "value": "GET", "name": NAME}


@pytest.mark.parametrize("role", TOKEN_ROLES)
def test_a_good_request_of_every_operation(patient: Flask, values: dict[str, Any], role: str) -> None:
    document = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", patient)
    operations = [found.ok() for found in document.get_all_operations()]
    known = dict(values)
    patient.test_client().put(f"/api/v1/lists/{NAME}", json={"text": "192.0.2.1"}, headers=make_headers("admin"))
    for operation in sorted(operations, key=lambda one: ORDER.index(one.method)):
        answer = make_case(operation, known).call_and_validate(headers=make_headers(role), checks=CHECKS)
        needed = operation.definition.raw.get("x-role", ANY_ROLE)
        expected = 200 if needed in (ANY_ROLE, role) or role == "admin" else 403
        assert answer.status_code == expected, f"{operation.label}: {answer.text}"
        if operation.label == "POST /api/v1/jobs" and expected == 200:
            known["job"] = answer.json()["job"]


def make_case(operation: Any, known: dict[str, Any]) -> Any:
    """Returns a request of an operation with its required members, and some that bring events into its answer."""
    more: dict[str, Any] = {
        "POST /api/v1/query": {"ids": True, "limit": 20},
        "GET /api/v1/tail": {"since": "2016-01-01", "limit": 5, "deadline": 20},
        "GET /api/v1/events/{id}": {"newer": 2, "older": 2},
        "POST /api/v1/quarantine/retry": {"line": known["line"]},
    }.get(operation.label, {})
    raw = operation.definition.raw
    declared = {one["name"]: one for one in raw.get("parameters", ())}
    wanted = {name: known.get(name, "0" * 32) for name, one in declared.items() if one.get("required")}
    if operation.path.startswith("/api/v1/sources/"):
        wanted["name"] = known["source"]
    parts: dict[str, dict[str, Any]] = {"path": {}, "query": {}}
    for name, value in {**wanted, **{name: more[name] for name in more if name in declared}}.items():
        parts[declared[name]["in"]][name] = value
    body: dict[str, Any] = {}
    if "requestBody" in raw:
        given = good_body(operation.path)
        source = {"source": known["source"]} if "source" in given else {}
        stats = {"stats": "count() by string_indexed"} if "stats" in given else {}
        body["body"] = {**given, **source, **stats, **{name: more[name] for name in more if name not in declared}}
    return operation.Case(path_parameters=parts["path"], query=parts["query"], **body)
