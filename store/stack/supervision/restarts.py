"""The record of restarts (``run/restarts``), from which ``status`` tells what the supervisor does, and the back-off."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from dataclasses import dataclass

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.private_files import write_private

LONG_LIFE = 60.0
"""Seconds of life after which a server counts as healthy: its next death is the first in a row."""
KEEPS_DYING = 3
"""Deaths in a row, each within ``LONG_LIFE`` of the start before, from which on a server is said to keep dying."""
_LAST_DELAY = 30.0


@dataclass(frozen=True)
class ServerRestarts:
    """The restarts of one server since the stack was started.

    ``count`` is the number of starts by the supervisor. ``deaths`` counts the deaths in a row since the server was last
    healthy. ``died_at`` is the epoch seconds of the last death, ``reason`` what is known of it. ``delay`` is the time
    in seconds between that death and the next start.
    """

    count: int = 0
    deaths: int = 0
    died_at: float = 0.0
    delay: float = 0.0
    reason: str = ""

    @property
    def keeps_dying(self) -> bool:
        return self.deaths >= KEEPS_DYING

    def describe(self) -> str:
        """Returns what the supervisor does about a server that keeps dying, what is known of it, and the remedy."""
        return (
            f"it keeps dying, {self.deaths} times in a row ({self.count} restarts in all); it is started again "
            f"{self.delay:.0f} s after each death; remove the cause, and `watchfloor up` starts it at once; "
            f"it {self.reason}"
        )

    def add_death(self, lived: float, died_at: float, reason: str) -> ServerRestarts:
        """Returns the record after a death. ``lived`` is the seconds since the server's start."""
        deaths = 1 if lived >= LONG_LIFE else self.deaths + 1
        return dataclasses.replace(
            self, deaths=deaths, died_at=died_at, delay=restart_delay(deaths), reason=reason
        )  # fmt: skip


def restart_delay(deaths: int) -> float:
    """Returns the seconds to wait after so many deaths in a row: 0, 1, 2, 4 and so on, at most 30."""
    return 0.0 if deaths < 2 else min(2.0 ** (deaths - 2), _LAST_DELAY)


def load_restarts(settings: Settings) -> dict[str, ServerRestarts]:
    """Returns the record of each server that has died; an unreadable file counts as empty."""
    try:
        record = json.loads((settings.home / "run" / "restarts").read_text())
        return {name: ServerRestarts(**fields) for name, fields in record.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def save_restarts(settings: Settings, restarts: dict[str, ServerRestarts]) -> None:
    """Writes the record, if the disk has room for it."""
    text = json.dumps({name: dataclasses.asdict(entry) for name, entry in restarts.items()}, indent=1)
    with contextlib.suppress(StackError):
        write_private(settings.home / "run" / "restarts", text + "\n")


def delete_restarts(settings: Settings) -> None:
    """Forgets all restarts."""
    (settings.home / "run" / "restarts").unlink(missing_ok=True)
