"""The process of a stack that measures what reading costs on it, once, and then ends.

This room knows no more of it than its command line. It gives way to other work, and is started again later; it may be
killed at any moment: the next one removes what it has left.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import UTC, datetime

from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.calibration_note import MOST_TRIES, load_note
from watchfloor.store.stack.home.stack_state import StackState

from .process import Server, find_process, make_helper, stop_process

CALIBRATION = "calibration"
RULES_VARIABLE = "WATCHFLOOR_CALIBRATION_RULES"
"""The environment variable by which tests change rules: a JSON object."""
_MODULE = "watchfloor.loadgen.calibration"
_STOP_SECONDS = 2.0


@dataclass(frozen=True)
class CalibrationRules:
    """The times and bounds by which costs are measured.

    Who has just started a stack loads or asks at once: the first try waits for that.
    """

    first_seconds: float = 60.0
    """The time from the supervisor's start to the first try; that to the next one doubles with each."""
    quiet_seconds: float = 10.0
    """For so long nothing else must have been at work before a try, and no query have been asked of a service."""
    quiet_cores: float = 0.3
    """On a machine that is at rest fewer cores than these are busy on average, and at no look ``busy_cores``."""
    busy_cores: float = 0.5
    """A try ends as soon as others keep so many cores busy for half a second."""
    events: int = 0
    """The number of events that are loaded; 0 is that of the command."""


def read_rules() -> CalibrationRules:
    """Returns the rules, with those of the environment in their place."""
    return CalibrationRules(**json.loads(os.environ.get(RULES_VARIABLE, "{}")))


def calibration_process(settings: Settings) -> Server:
    """Returns the process. It listens on no port."""
    return make_helper(settings, CALIBRATION, _MODULE)


def is_calibrating(settings: Settings) -> bool:
    """Returns whether the process runs."""
    return find_process(calibration_process(settings).pid_file) is not None


def stop_calibrator(settings: Settings) -> None:
    """Stops the process if it runs, which ends at once."""
    stop_process(calibration_process(settings).pid_file, _STOP_SECONDS)


def describe_costs(settings: Settings, state: StackState) -> str:
    """Returns whether the costs of reading that the planner has were measured here, and whether they will be."""
    note = load_note(settings)
    known = "the built-in ones"
    if note.measured_at:
        known = f"measured {datetime.fromtimestamp(note.measured_at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if is_calibrating(settings):
        return f"{known}; they are being measured"
    if note.fits(settings, state):
        return known
    if note.measured_at:
        known += " with other cores, tablet servers or heaps"
    if not state.calibrates:
        return f"{known}; `watchfloor calibrate` measures them"
    if note.tries >= MOST_TRIES:
        reason = note.problem or "it was killed"
        return f"{known}; measuring them failed {note.tries} times ({reason}), see log/{CALIBRATION}.log"
    return f"{known}; they are measured when the machine is at rest"
