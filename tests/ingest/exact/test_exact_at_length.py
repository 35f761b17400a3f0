"""Whatever is loaded, read again, retried, indexed, compacted and killed: scans, counts, tops and timelines are exact.

In `make soak`: many sequences of many drawn steps, minutes in all.
"""

from __future__ import annotations

import os

import pytest
from exact_machine import run_machine

from watchfloor.schema.settings.settings import Settings

pytestmark = [pytest.mark.stack, pytest.mark.soak, pytest.mark.timeout(0)]
EXAMPLES = int(os.environ.get("WATCHFLOOR_EXACT_EXAMPLES", "25"))
"""Sequences of a run. ``WATCHFLOOR_EXACT_EXAMPLES`` asks for more."""


def test_any_sequence_of_steps_leaves_all_answers_exact(store_settings: Settings) -> None:
    run_machine(store_settings, examples=EXAMPLES, steps=12)
