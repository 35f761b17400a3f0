"""``/api/v1/jobs``: queries that run on their own, and whose rows are taken page by page."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Any

import orjson

from watchfloor.api.formats.ndjson_writer import encode_ndjson
from watchfloor.api.requests import read_query_request
from watchfloor.api.rest.base.jobs import JOB_STATUSES, JobOwner, QueryJob
from watchfloor.api.rest.base.route import PREFIX, Call, Route
from watchfloor.api.rest.base.schemas import COUNT_ANSWER, TEXT_PARAMETER, TIME_ANSWER, declare_list, declare_object

from .query import QUERY_BODY

MAX_WAIT, MAX_KEEP = 10, 86_400
ANY_ROWS = 1 << 62
"""More rows than a job ever has: whoever waits for them waits for the job's end."""
MAX_ROWS, DEFAULT_ROWS = 10_000, 1_000
WAIT = {"type": "number", "minimum": 0, "maximum": MAX_WAIT}
JOB_BODY = {
    **QUERY_BODY,
    "title": "A query that runs on its own",
    "properties": {
        **{name: one for name, one in QUERY_BODY["properties"].items() if name != "watch"},
        "wait": {**WAIT, "default": 2, "description": "seconds to wait for the query's end before the answer"},
        "keep": {
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_KEEP,
            "description": "seconds that the job is kept after it was last asked for; default: job_keep_seconds",
        },
    },
}
JOB = declare_object(
    {
        "job": {"type": "string", "description": "the job's ID"},
        "status": {"enum": list(JOB_STATUSES)},
        "rows": {**COUNT_ANSWER, "description": "rows that were found so far, and are kept"},
        "rows_per_second": {"type": "number", "minimum": 0},
        "seconds": {"type": "number", "minimum": 0},
        "created": TIME_ANSWER,
        "expires": {**TIME_ANSWER, "description": "when it is removed if nobody asks for it"},
        "request": {"type": "object", "description": "the body by which the job was made"},
    },
    {
        "covered_since": {**TIME_ANSWER, "description": "all events from then on were looked at"},
        "problem": {"type": "object", "description": "why it has failed"},
        "summary": {"type": "object", "description": "of a query that has ended, as the query's stream has it"},
    },
)
JOB_PARAMETERS = declare_object({"job": TEXT_PARAMETER})
PAGE_MEMBERS = {
    "status": {"enum": list(JOB_STATUSES)},
    "rows": declare_list({"type": "object"}),
}


def create_job(call: Call) -> dict[str, Any]:
    """Starts a query as a job, and waits for a short time for its end."""
    assert call.token is not None
    members, context = dict(call.body), call.context
    wait = members.pop("wait", JOB_BODY["properties"]["wait"]["default"])
    keep = members.pop("keep", context.limits.jobs.keep_seconds)
    request = context.bound_deadline(read_query_request(members))
    owner = JobOwner(call.token.digest, call.is_token_valid, partial(call.end_query, "query"))
    context.jobs.wait_for_room(owner, call.is_client_gone)
    with context.queries.begin_in_slot(call.token_name, call.is_client_gone) as slot, ExitStack() as undo:
        result = call.service.run(request)
        undo.callback(result.close)
        job = QueryJob(owner, members, result, slot, keep)
        context.jobs.add_job(job)
        undo.pop_all()
    context.jobs.wait_for_job(job, ANY_ROWS, wait)
    return job.describe()


def list_jobs(call: Call) -> dict[str, Any]:
    assert call.token is not None
    return {"jobs": [job.describe() for job in call.context.jobs.list_jobs(call.token.digest)]}


def show_job(call: Call) -> dict[str, Any]:
    return _find_job(call).describe()


def show_rows(call: Call) -> dict[str, Any]:
    """Returns a page of a job's rows, with the cursor of the next one unless this is the last."""
    job, first = _find_job(call), int(call.parameters["cursor"])
    call.context.jobs.wait_for_job(job, first, call.parameters["wait"])
    status = job.status  # read before the rows: a job that has ended then gets no more of them
    batches = list(job.read_rows(first, call.parameters["limit"]))
    lines = b"".join(map(encode_ndjson, batches)).rstrip(b"\n").replace(b"\n", b",")
    end = first + sum(map(len, batches))
    is_last = status != "running" and end >= job.rows
    page = {"status": status, "rows": orjson.Fragment(b"[" + lines + b"]")}
    return page if is_last else {**page, "cursor": str(end)}


def finalize_job(call: Call) -> dict[str, Any]:
    """Ends a job's query; the rows that it has found stay."""
    job = _find_job(call)
    job.stop("finalized")
    return job.describe()


def cancel_job(call: Call) -> dict[str, Any]:
    """Ends a job and forgets it."""
    job = _find_job(call)
    call.context.jobs.remove_job(job)
    return {"removed": job.id}


def _find_job(call: Call) -> QueryJob:
    assert call.token is not None
    return call.context.jobs.find_job(call.token.digest, call.parameters["job"])


ROUTES = (
    Route(
        method="POST",
        path=f"{PREFIX}/jobs",
        summary="Starts a query that runs on its own and keeps its rows",
        handler=create_job,
        body=JOB_BODY,
        answer=JOB,
        holds_slot=False,
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/jobs",
        summary="The jobs of this token, the newest first",
        handler=list_jobs,
        parameters=declare_object({}),
        answer=declare_object({"jobs": declare_list(JOB)}),
        holds_slot=False,
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/jobs/<job>",
        summary="A job and its progress",
        handler=show_job,
        parameters=JOB_PARAMETERS,
        answer=JOB,
        holds_slot=False,
    ),
    Route(
        method="GET",
        path=f"{PREFIX}/jobs/<job>/rows",
        summary="A page of a job's rows",
        handler=show_rows,
        parameters=declare_object(
            {"job": TEXT_PARAMETER},
            {
                "cursor": {
                    "type": "string",
                    "pattern": "^[0-9]{1,10}$(?!\\n)",
                    "default": "0",
                    "description": "the page that another one named; without it the first",
                },
                "limit": {"type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": DEFAULT_ROWS},
                "wait": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": MAX_WAIT,
                    "default": 0,
                    "description": "seconds to wait for rows if there are none yet",
                },
            },
        ),
        answer=declare_object(
            PAGE_MEMBERS, {"cursor": {"type": "string", "description": "of the next page; none after the last"}}
        ),
        holds_slot=False,
    ),
    Route(
        method="POST",
        path=f"{PREFIX}/jobs/<job>/finalize",
        summary="Ends a job's query and keeps the rows that it has found",
        handler=finalize_job,
        parameters=JOB_PARAMETERS,
        body=declare_object({}),
        answer=JOB,
        holds_slot=False,
    ),
    Route(
        method="DELETE",
        path=f"{PREFIX}/jobs/<job>",
        summary="Ends a job and removes its rows",
        handler=cancel_job,
        parameters=JOB_PARAMETERS,
        answer=declare_object({"removed": {"type": "string"}}),
        holds_slot=False,
    ),
)
