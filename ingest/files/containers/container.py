"""Tells by the beginning of a content whether it holds records in another form than lines, and opens it as lines."""

from __future__ import annotations

from collections.abc import Callable

from watchfloor.ingest.files.compressions.blocks import BlockReader

from .json_documents import JsonDocuments, is_json_document

BEGINNING_BYTES = 64 << 10
"""The first bytes by which a container is told. Never change it: a file must be read alike each time."""


def find_container(beginning: bytes) -> Callable[[BlockReader], BlockReader] | None:
    """Returns what opens a content that begins so; None if it holds lines."""
    return JsonDocuments if is_json_document(beginning) else None
