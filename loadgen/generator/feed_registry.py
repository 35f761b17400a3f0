"""The registry of feeds: each folder in ``feeds`` whose name is NAME generates events of the source ``NAME.events``."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from watchfloor.schema.errors import UnknownSourceError

from . import feeds

if TYPE_CHECKING:
    from watchfloor.loadgen.generator.synthesis.event_feed import EventFeed

_SUFFIX = ".events"


def list_feeds() -> list[str]:
    """Returns the sources that events can be generated of, sorted. Imports no feed, so that ``--help`` stays quick."""
    return sorted(module.name + _SUFFIX for module in pkgutil.iter_modules(feeds.__path__))


def open_feed(source: str) -> EventFeed:
    """Returns the feed of a source; takes up to a second the first time. Raises UnknownSourceError."""
    if source not in (names := list_feeds()):
        raise UnknownSourceError(source, names)
    module = importlib.import_module(f"{feeds.__name__}.{source.removesuffix(_SUFFIX)}.feed")
    feed: EventFeed = module.build_feed()
    return feed
