"""Tells by the beginning of a content whether it holds records in another form than lines, and opens it as lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from io import FileIO

from watchfloor.ingest.files.compressions.blocks import BlockReader

from .evtx_records import EVTX_MAGIC, EvtxRecords
from .json_documents import JsonDocuments, is_json_document
from .xml_events import XmlEvents, is_xml_events

BEGINNING_BYTES = 64 << 10
"""The first bytes by which a container is told. Never change it: a file must be read alike each time."""
OpenContainer = Callable[[BlockReader], BlockReader]


def find_container(beginning: bytes, file: FileIO | None) -> OpenContainer | None:
    """Returns what opens a content that begins so; None if it holds lines.

    ``file`` is the open file itself if the content is its bytes as they are.
    """
    if beginning.startswith(EVTX_MAGIC):
        return partial(EvtxRecords, file=file)
    if is_xml_events(beginning):
        return XmlEvents
    return JsonDocuments if is_json_document(beginning) else None
