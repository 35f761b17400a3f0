"""Tells readers of named lists: an outline of each, and its entries."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from watchfloor.schema.field import Field, FieldType
from watchfloor.schema.lists.list_file import show_entry
from watchfloor.store.encoding.value_sets import read_content
from watchfloor.store.encoding.values import decode_elements
from watchfloor.store.reader import Reader
from watchfloor.store.value_lists import StoredList, find_list, find_stored_list, read_details, read_lists


@dataclass(frozen=True)
class ListEntry:
    """A value or a network of a list as text, with its comment."""

    entry: str
    comment: str


def outline_lists(reader: Reader) -> list[StoredList]:
    """Returns the newest version of each list that the reader sees, in the order of their names."""
    return [kept[0] for kept in read_lists(reader).values()]


def read_entries(reader: Reader, name: str, limit: int | None = None) -> tuple[StoredList, list[ListEntry]]:
    """Returns a list and its first entries: networks, then values in the order of their type; None stands for all.

    Raises ``UserError`` if the reader sees no list of this name, or if it has expired.
    """
    stored = find_stored_list(reader, name)
    values = read_content(find_list(reader, name, stored.version)).values
    details = read_details(reader, name, stored.version)
    wanted = values if limit is None else values.slice(0, limit)
    decoded = decode_elements(Field(name, FieldType(stored.scalar)), wanted)
    texts = [*details.networks, *map(show_entry, decoded.to_pylist())]
    return stored, [ListEntry(text, details.comments.get(text, "")) for text in islice(texts, limit)]
