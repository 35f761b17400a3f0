"""The column ``_matched``: for each event the entries of lists that it has, with their comments."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

import pyarrow as pa

from watchfloor.schema.errors import UserError
from watchfloor.schema.field import ARROW_TYPES
from watchfloor.schema.filter.print import format_field
from watchfloor.schema.filter.tree import Filter, InList, InQuery, list_conditions
from watchfloor.schema.lists.list_file import show_entry
from watchfloor.schema.source import Source
from watchfloor.store.encoding.value_sets import read_content
from watchfloor.store.encoding.values import encode_elements
from watchfloor.store.reader import Reader
from watchfloor.store.value_lists import ListDetails, read_details

from .request import choose_columns

MATCHED = "_matched"
"""The name of the column."""
Listed = InList | InQuery


def choose_shown_columns(
    source: Source, names: tuple[str, ...] | None
) -> tuple[dict[str, pa.DataType], tuple[str, ...]]:
    """Returns the columns of a result with their types, and the fields that they are; None stands for all fields.

    Raises ``UserError`` as ``choose_columns`` does.
    """
    own = None if names is None else tuple(name for name in names if name in source.fields_by_name or name != MATCHED)
    # A layout reads at least one field.
    fields = (source.time_field,) if names and not own else choose_columns(source, own)
    shown = fields if own == names else names or ()
    types = {n: source.find_field(n).arrow if n in source.fields_by_name else pa.string() for n in shown}
    return types, fields


class MatchedColumn:
    """Makes the column for the events of one source: a text such as ``src in @bad_ips: 10.0.0.0/8 (a comment)``.

    It names each entry of each list of the filter that one of the event's values is or lies in; several are joined by
    semicolons.
    """

    def __init__(self, source: Source, tree: Filter | None) -> None:
        """``tree`` is a typed filter; ``UserError`` is raised if it has no lists."""
        self._source = source
        self._tree = tree
        self._finders: list[_EntryFinder] | None = None
        if not self._conditions:
            raise UserError(
                f"the column {MATCHED} tells the entries of lists, but the filter has none (FIELD in @list)"
            )

    @cached_property
    def _conditions(self) -> tuple[Listed, ...]:
        conditions = () if self._tree is None else list_conditions(self._tree)
        return tuple(dict.fromkeys(c for c in conditions if isinstance(c, Listed)))

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that must be read for the column."""
        return tuple(dict.fromkeys(condition.field for condition in self._conditions))

    def add_to(self, reader: Reader, events: pa.RecordBatch) -> pa.RecordBatch:
        """Returns the events with the column at the end."""
        if self._finders is None:
            self._finders = [_make_finder(reader, self._source, condition) for condition in self._conditions]
        found = [finder.list_entries(events.column(finder.condition.field)) for finder in self._finders]
        texts = ["; ".join(text for texts in row for text in texts) or None for row in zip(*found, strict=True)]
        return events.append_column(MATCHED, pa.array(texts, pa.string()))


@dataclass(frozen=True, eq=False)
class _EntryFinder:
    """Finds the entries of one list."""

    condition: Listed
    source: Source
    details: ListDetails

    def list_entries(self, column: pa.Array) -> list[list[str]]:
        """Returns for each value of a column, or for each list of values, the texts of the entries that it has."""
        known: dict[object, list[str]] = {}
        rows = []
        for value in column.to_pylist():
            elements = value if isinstance(value, list) else [value]
            for element in elements:
                if element is not None and element not in known:
                    known[element] = [self._describe(entry) for entry in self._find_entries(element)]
            rows.append(list(dict.fromkeys(text for e in elements if e is not None for text in known[e])))
        return rows

    def _find_entries(self, value: object) -> Iterator[str]:
        """Yields the entries that a value is or lies in."""
        field = self.source.find_field(self.condition.field)
        assert self.condition.values is not None
        values = read_content(self.condition.values).values
        (encoded,) = encode_elements(field, pa.array([value], ARROW_TYPES[field.scalar])).to_pylist()
        place = bisect_left(_Lazy(values), encoded)
        if place < len(values) and values[place].as_py() == encoded:
            yield show_entry(ip_address(value).compressed if self._networks and isinstance(value, str) else value)
        if self._networks and isinstance(value, str):
            address = ip_address(value)
            number, bits = int(address), address.max_prefixlen
            for length in range(bits + 1):
                network = self._networks.get((address.version, length, number >> (bits - length)))
                if network is not None:
                    yield str(network)

    def _describe(self, entry: str) -> str:
        comment = self.details.comments.get(entry)
        name = f"@{self.condition.name}" if isinstance(self.condition, InList) else "(query)"
        return f"{format_field(self.condition.field)} in {name}: {entry}{f' ({comment})' if comment else ''}"

    @cached_property
    def _networks(self) -> dict[tuple[int, int, int], IPv4Network | IPv6Network]:
        """The networks of the list by version, length of the mask, and the bits in it."""
        found: dict[tuple[int, int, int], IPv4Network | IPv6Network] = {}
        for network in map(ip_network, self.details.networks):
            shift = network.max_prefixlen - network.prefixlen
            found[network.version, network.prefixlen, int(network.network_address) >> shift] = network
        return found


class _Lazy(Sequence[bytes]):
    """Values of an Arrow array, each taken out of it when it is asked for."""

    def __init__(self, values: pa.BinaryArray) -> None:
        self._values = values

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, place: int) -> bytes:  # type: ignore[override]
        value: bytes = self._values[place].as_py()
        return value


def _make_finder(reader: Reader, source: Source, condition: Listed) -> _EntryFinder:
    details = ListDetails()
    if isinstance(condition, InList) and condition.values is not None:
        details = read_details(reader, condition.name, condition.values.version)
    return _EntryFinder(condition, source, details)
