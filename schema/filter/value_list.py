"""Lists of values to which filters refer: named ones (``ip in @bad_ips``), and those that a query finds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Protocol

from watchfloor.schema.field import FieldType
from watchfloor.schema.source import Source

MAX_LIST_VALUES = 1_000_000
"""The largest number of values of a named list; a network is one value."""
MAX_LISTS = 8
"""The largest number of named lists, and of queries, in a filter; a cursor keeps the version of each."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")


@dataclass(frozen=True)
class ValueList:
    """One version of a list, whose values never change.

    ``version`` is a number that no other version of the list has; of a named list it is the time of its ``put`` in µs.
    ``count`` is the number of values, all of the type ``scalar``; networks among addresses are values too. ``content``
    are the values as the store encodes them; nobody else reads it.
    """

    name: str
    version: int
    scalar: FieldType
    count: int
    content: object = field(compare=False, repr=False)


class FilterCatalog(Protocol):
    """Finds what a filter names besides fields."""

    def find_list(self, name: str) -> ValueList:
        """Returns the version of a list that is in force. Raises ``UserError`` if there is none."""
        ...

    def find_source(self, name: str) -> Source:
        """Returns a source. Raises ``UserError`` if there is none of this name."""
        ...


def is_list_name(name: str) -> bool:
    """Returns whether a list may have this name: letters, digits, ``_`` and ``-``, at most 100 of them."""
    return _NAME.fullmatch(name) is not None
