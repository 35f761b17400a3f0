"""Whatever is loaded, read again, retried, indexed, compacted and killed: scans, counts, tops and timelines are exact.

In `make test`: a few sequences of drawn steps, some seconds each; `test_exact_at_length.py` has many.
"""

from __future__ import annotations

import pytest
from exact_machine import run_machine

from watchfloor.schema.settings.settings import Settings

pytestmark = pytest.mark.stack


def test_any_sequence_of_steps_leaves_all_answers_exact(store_settings: Settings) -> None:
    run_machine(store_settings, examples=3, steps=5)
