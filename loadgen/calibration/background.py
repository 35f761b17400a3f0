"""One try to measure the costs of reading beside a stack at rest, in a process of its own that gives way to all else.

It may be killed at any moment. What it has loaded then stays until the next try, which removes it first.
"""

from __future__ import annotations

import logging
import os
import pickle
import sys
from contextlib import suppress
from logging.handlers import RotatingFileHandler

from watchfloor.schema.errors import StackError, WatchfloorError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home.calibration_note import note_giving_way, note_problem
from watchfloor.store.stack.home.stack_lock import StackBusyError
from watchfloor.store.stack.servers.calibrator import calibration_process, read_rules

from .calibrate_store import calibrate_store
from .giving_way import GaveWay, Onlooker

_LOG_BYTES = 1 << 20
log = logging.getLogger("watchfloor.calibration")


def run_in_background() -> None:
    """Measures the costs of the stack whose settings come on standard input; does not return.

    The exit status is 0 also if the process gave way.
    """
    settings: Settings = pickle.load(sys.stdin.buffer)
    handler = RotatingFileHandler(calibration_process(settings).log_file, maxBytes=_LOG_BYTES, backupCount=1)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-5s %(message)s", handlers=[handler])
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    status = _calibrate(settings)
    logging.shutdown()
    os._exit(status)


def _calibrate(settings: Settings) -> int:
    rules = read_rules()
    try:
        with Onlooker(settings, rules.busy_cores) as onlooker:
            calibrate_store(settings, onlooker.check, log.info, rules.events or None)
    except (GaveWay, StackBusyError) as reason:
        log.info("gave way: %s", reason)
        with suppress(StackError):
            note_giving_way(settings)
    except Exception as error:
        log.exception("the costs were not measured")
        known = isinstance(error, WatchfloorError)
        with suppress(StackError):
            note_problem(settings, str(error) if known else f"{type(error).__name__}: {error}")
        return 1
    return 0
