"""A new REST endpoint is one file in ``api/rest/routes/``: shown on a copy of the rooms, to which one is added.

It needs no stack: the copy runs in a process of its own with a fake store, and takes a second or two.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("schema", "store", "ingest", "planner", "query", "api", "loadgen")

ROUTE = '''
"""``/api/v1/newest``: how many events came since a time, and ``/api/v1/marks``: takes marks."""

from __future__ import annotations

from typing import Any

from watchfloor.api.requests import parse_time_range
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, TEXT_PARAMETER, TIME_PARAMETER, declare_list, declare_object


def count_newest(call: Call) -> dict[str, Any]:
    since, _ = parse_time_range(call.parameters["since"], None)
    count = call.service.count_events(call.parameters["source"], since, None)
    return {"count": count, "step": call.parameters["step"]}


def keep_marks(call: Call) -> dict[str, Any]:
    return {"kept": call.body["marks"], "color": call.body.get("color")}


STEP = {"type": "integer", "minimum": 1, "maximum": 60, "default": 5}
ROUTES = (
    Route(
        method="GET",
        path=f"{PREFIX}/newest/<source>",
        summary="Events since a time",
        handler=count_newest,
        parameters=declare_object({"source": TEXT_PARAMETER, "since": TIME_PARAMETER}, {"step": STEP}),
        answer=declare_object({"count": COUNT_ANSWER, "step": STEP}),
    ),
    Route(
        method="POST",
        path=f"{PREFIX}/marks",
        summary="Keeps marks",
        handler=keep_marks,
        body=declare_object({"marks": declare_list({"type": "integer"})}, {"color": {"type": "string"}}),
        answer=declare_object({"kept": declare_list({"type": "integer"})}, {"color": {"type": ["string", "null"]}}),
    ),
)
'''

ASK = """
import json, sys
from rest_fakes import TOKEN, FakeService, FakeServices, FakeTokens
import watchfloor.api.rest.app as app

client = app.create_app(FakeServices(FakeService()), FakeTokens()).test_client()
headers = {"Authorization": f"Bearer {TOKEN}"}
answers = []
for method, path, body in json.load(sys.stdin):
    answer = client.open(path, method=method, json=body, headers=headers)
    answers.append([answer.status_code, answer.json])
refused = client.get("/api/v1/newest/web.access?since=now").status_code
print(json.dumps({"file": app.__file__, "answers": answers, "refused": refused}))
"""

REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/api/v1/newest/web.access?since=-1h", None),
    ("GET", "/api/v1/newest/web.access?since=-1h&step=60", None),
    ("GET", "/api/v1/newest/web.access?since=-1h&step=61", None),
    ("GET", "/api/v1/newest/web.access", None),
    ("GET", "/api/v1/newest/web.access?since=now&source=a", None),
    ("GET", "/api/v1/newest/nothing?since=now", None),
    ("POST", "/api/v1/marks", {"marks": [1, 2], "color": None}),
    ("POST", "/api/v1/marks", {"marks": ["a"]}),
    ("GET", "/api/v1/count?source=web.access", None),
]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Returns what the copy with the added file answers."""
    folder = tmp_path_factory.mktemp("rooms")
    for room in ROOMS:
        shutil.copytree(ROOT / room, folder / "watchfloor" / room, ignore=shutil.ignore_patterns("java", "__pycache__"))
    (folder / "watchfloor" / "api" / "rest" / "routes" / "added.py").write_text(ROUTE)
    path = os.pathsep.join([str(folder), str(ROOT / "tests" / "support" / "faces")])
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps(REQUESTS),
        env={**os.environ, "PYTHONPATH": path},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert Path(answer["file"]).is_relative_to(folder), "the copy was not what ran"
    return answer


def test_the_added_file_answers(told: dict[str, Any]) -> None:
    answers = told["answers"]
    assert answers[0] == [200, {"count": 5, "step": 5}]
    assert answers[1] == [200, {"count": 5, "step": 60}]
    assert answers[6] == [200, {"kept": [1, 2], "color": None}]
    assert answers[8] == [200, {"source": "web.access", "count": 5}], "the other routes are still there"


def test_its_schemas_are_held(told: dict[str, Any]) -> None:
    details = [(status, body["type"].rpartition(":")[2], body["detail"]) for status, body in told["answers"][2:6]]
    assert details == [
        (400, "bad-parameter", "the parameter 'step' must be a whole number from 1 to 60"),
        (400, "bad-parameter", "the parameter 'since' is missing"),
        (400, "bad-parameter", "unknown parameter 'source'; known are since, step"),
        (404, "unknown-source", details[3][2]),
    ]
    status, body = told["answers"][7]
    assert (status, [error["pointer"] for error in body["errors"]]) == (400, ["/marks/0"])


def test_it_needs_a_token_without_saying_so(told: dict[str, Any]) -> None:
    assert told["refused"] == 401
