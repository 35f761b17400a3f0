"""The common identity of a command and a service that answers as the command itself would."""

from __future__ import annotations

from typing import TYPE_CHECKING

from watchfloor.schema.settings.purposes import OF_INGEST, OF_SERVERS, OF_SERVICE, describe_common

if TYPE_CHECKING:
    from watchfloor.schema.settings.settings import Settings

UNRELATED = OF_SERVERS | OF_INGEST | OF_SERVICE
"""Settings that change no answer of a command: those of servers, of ingest, and of the service for its clients."""


def describe_identity(settings: Settings) -> dict[str, str]:
    """Returns the code that runs, and all settings that may change an answer."""
    return describe_common(settings, UNRELATED)
