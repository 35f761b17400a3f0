"""A stack's note of the costs of reading: when they were measured, on which machine, and how many tries failed.

The costs themselves are in the store's catalog. This note (``conf/calibration.json``) is what the supervisor and
``status`` read, who do not open the store.
"""

from __future__ import annotations

import dataclasses
import json
import time
from dataclasses import dataclass

from watchfloor.schema.settings.parse_setting import parse_size
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import write_private

from .server_sizes import count_cores, list_sizes
from .stack_state import StackState

MOST_TRIES = 3
"""Tries that may end without costs, or be killed, until the next ``up``."""
_HEAP_RATIO = 2
"""Costs hold for a tablet server whose heap is at most so many times as large or as small: it differs from one ``up``
to the next by what others leave of the memory."""


@dataclass(frozen=True)
class CalibrationNote:
    """The time at which the costs were measured (epoch seconds; 0: never), and the machine and the servers then.

    ``heap`` is that of a tablet server in bytes. ``tries`` counts those that have begun since the last ``up`` and have
    neither ended with costs nor given way to other work. ``problem`` is why the last one failed.
    """

    measured_at: float = 0.0
    cores: int = 0
    tservers: int = 0
    heap: int = 0
    tries: int = 0
    problem: str = ""

    def fits(self, settings: Settings, state: StackState) -> bool:
        """Returns whether costs were measured on a machine and a stack as they are now."""
        heap = _read_heap(settings, state)
        is_like = self.heap <= heap * _HEAP_RATIO and heap <= self.heap * _HEAP_RATIO
        return self.measured_at > 0 and (self.cores, self.tservers) == (count_cores(), state.tservers) and is_like

    def is_due(self, settings: Settings, state: StackState) -> bool:
        """Returns whether the costs are to be measured, and that has not failed too often."""
        return state.calibrates and self.tries < MOST_TRIES and not self.fits(settings, state)


def load_note(settings: Settings) -> CalibrationNote:
    """Returns the note of a stack. An unreadable one says that nothing was measured."""
    try:
        return CalibrationNote(**json.loads((settings.conf_folder / "calibration.json").read_text()))
    except (OSError, ValueError, TypeError):
        return CalibrationNote()


def note_try(settings: Settings) -> None:
    """Notes that a try begins. Raises ``StackError`` if the note cannot be written, as do the other functions."""
    note = load_note(settings)
    _write_note(settings, dataclasses.replace(note, tries=note.tries + 1, problem=""))


def note_giving_way(settings: Settings) -> None:
    """Notes that a try has ended because there was other work, which does not count."""
    note = load_note(settings)
    _write_note(settings, dataclasses.replace(note, tries=max(0, note.tries - 1)))


def note_problem(settings: Settings, problem: str) -> None:
    """Notes why a try has failed."""
    _write_note(settings, dataclasses.replace(load_note(settings), problem=problem))


def note_costs(settings: Settings, state: StackState) -> None:
    """Notes that the costs are in the catalog."""
    _write_note(settings, CalibrationNote(time.time(), count_cores(), state.tservers, _read_heap(settings, state)))


def reset_tries(settings: Settings) -> None:
    """Forgets the tries that have failed."""
    note = load_note(settings)
    if note.tries or note.problem:
        _write_note(settings, dataclasses.replace(note, tries=0, problem=""))


def _write_note(settings: Settings, note: CalibrationNote) -> None:
    write_private(settings.conf_folder / "calibration.json", json.dumps(dataclasses.asdict(note)) + "\n")


def _read_heap(settings: Settings, state: StackState) -> int:
    return parse_size(list_sizes(settings, state.sizes)["tserver_heap"])
