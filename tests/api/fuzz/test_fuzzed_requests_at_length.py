"""The requests of `test_fuzzed_requests.py`, in thousands.

In `make soak`: they take minutes.
"""

from __future__ import annotations

import os

import pytest
from fuzzed_requests import fuzz_service
from fuzzed_service import FuzzedService

pytestmark = [pytest.mark.stack, pytest.mark.timeout(3600), pytest.mark.soak]
EXAMPLES = int(os.environ.get("WATCHFLOOR_FUZZ_EXAMPLES", "4000"))


def test_thousands_of_drawn_requests_meet_no_fault(fuzzed: FuzzedService, layout: str) -> None:
    statuses = fuzz_service(fuzzed, layout, EXAMPLES)
    assert statuses[200] > EXAMPLES // 20
