"""Keeps of the matches of rules what correlations need: the time, the event's ID, and the fields that they read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from watchfloor.query.texts.event_ids import ID_COLUMN
from watchfloor.schema.errors import UserError
from watchfloor.schema.filter.sigma.correlations.model import CorrelatedRule, Correlation
from watchfloor.schema.source import Source

from .match_table import MatchTable, make_match_table

MAX_MATCHES = 5_000_000
"""The largest number of matches of all rules that are correlated."""


def list_kept_fields(correlations: Iterable[Correlation]) -> dict[str, dict[str, set[str]]]:
    """Returns the fields that correlations read of the matches of rules, by the rules' places and by source."""
    kept: dict[str, dict[str, set[str]]] = {}
    for correlation in correlations:
        for rule, fields in correlation.list_rules():
            for source, own in fields.items():
                kept.setdefault(rule.info.place, {}).setdefault(source, set()).update(own.groups, own.values)
    return kept


@dataclass
class KeptMatches:
    """The matches of rules that are correlated, by the rules' places and by source."""

    rows: int = 0
    _tables: dict[tuple[str, str], list[pa.Table]] = field(default_factory=dict)

    def add(self, place: str, source: Source, fields: Iterable[str], events: pa.RecordBatch) -> None:
        """Keeps some matches of a rule. Raises ``UserError`` if there are too many to be correlated."""
        self.rows += len(events)
        if self.rows > MAX_MATCHES:
            raise UserError(
                f"the rules of correlations match more than {MAX_MATCHES:,} events; shorten the time range with "
                f"--since and --until, or name fewer correlations"
            )
        columns = [source.time_field, ID_COLUMN, *fields]
        chosen = {name: events.column(name) for name in dict.fromkeys(columns)}
        self._tables.setdefault((place, source.name), []).append(pa.table(chosen))

    def list_tables(self, member: CorrelatedRule, number: int, sources: Mapping[str, Source]) -> list[MatchTable]:
        """Returns the matches of a rule, which is a correlation's member of this number, from each source."""
        found = []
        for name, fields in member.fields.items():
            tables = self._tables.get((member.rule.info.place, name))
            if tables:
                events = pa.concat_tables(tables).combine_chunks()
                found.append(make_match_table(events, sources[name], fields, number))
        return found
