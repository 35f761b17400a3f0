"""Requests drawn from the routes' schemas get an answer or a clear refusal, never a fault of the service.

In `make test`: some hundred requests on the stack of the run. `make soak` draws many more.
"""

from __future__ import annotations

import pytest
from fuzzed_requests import fuzz_service
from fuzzed_service import FuzzedService

pytestmark = pytest.mark.stack
EXAMPLES = 250


def test_drawn_requests_meet_no_fault(fuzzed: FuzzedService, layout: str) -> None:
    statuses = fuzz_service(fuzzed, layout, EXAMPLES)
    assert set(statuses) <= {200, 400, 401, 403, 404, 415, 503}
    assert statuses[200] and statuses[400] and statuses[404]
