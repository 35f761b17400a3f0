"""Makes alerts of matches: events of the source ``sigma.alerts``, as lines of JSON.

Alerts have no labels. Therefore values of fields that have one, by themselves or by their source, are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import orjson
import pyarrow as pa

from watchfloor.schema.filter.sigma.correlations.model import Correlation
from watchfloor.schema.source import Source
from watchfloor.schema.times import format_micros, to_micros

from .alert_state import NewAlert

ALERTS_SOURCE = "sigma.alerts"
_MEANINGS = {"source_ip": "source.ip", "destination_ip": "destination.ip", "user": "user.name", "host": "host.name"}
"""The fields of alerts that are taken from the event, with the ECS names of the event's fields."""


def make_alerts(matches: pa.RecordBatch, named: set[str], source: Source | None, now: int) -> Iterator[NewAlert]:
    """Yields the alerts of a rule's matches in one source; ``named`` are the fields whose values they tell.

    ``source`` is None for a correlation, whose matches have a group in the place of fields. ``now`` is the time at
    which they are told (µs).
    """
    meant = {} if source is None else _find_meant(source)
    for row in matches.to_pylist():
        event = orjson.loads(row["event"])
        alert_id = make_alert_id(row["id"], row["rule"], row["event_id"])
        told = {
            "detected": format_micros(now),
            "alert_id": alert_id,
            "rule_id": row["id"],
            "rule": row["rule"],
            "level": row["level"],
            "tags": row["tags"],
            "source": row["source"],
            "event_time": format_micros(to_micros(row["time"])),
            "event_id": row["event_id"],
        }
        if source is None:
            event["group"] = group = {name: value for name, value in event["group"].items() if name in named}
            told |= {name: group[ecs] for name, ecs in _MEANINGS.items() if ecs in group}
            told["count"] = event["count"]
        else:
            told |= {name: event[field] for name, field in meant.items() if isinstance(event.get(field), str)}
            event = {name: value for name, value in event.items() if name in named}
        told["event"] = orjson.dumps(event).decode()
        yield NewAlert(alert_id, orjson.dumps(told).decode())


def make_alert_id(rule_id: str, title: str, event_id: str) -> str:
    """Returns the same ID for the same rule and event."""
    return hashlib.blake2b(orjson.dumps([rule_id, title, event_id]), digest_size=16).hexdigest()


def list_open_fields(source: Source, names: Iterable[str]) -> set[str]:
    """Returns those of a source's fields that have no label."""
    return {name for name in names if not source.visibility_of(source.fields_by_name[name])}


def list_open_groups(correlation: Correlation, sources: Mapping[str, Source]) -> set[str]:
    """Returns the groups of a correlation whose fields have no label in any source."""
    closed: set[str] = set()
    for member in correlation.members:
        for name, fields in member.fields.items():
            if isinstance(member.rule, Correlation):
                is_open = list_open_groups(member.rule, sources)
            elif name in sources:
                is_open = list_open_fields(sources[name], fields.groups)
            else:  # it has no events
                continue
            closed |= {
                group for group, own in zip(correlation.groups, fields.groups, strict=True) if own not in is_open
            }
    return set(correlation.groups) - closed


def _find_meant(source: Source) -> Mapping[str, str]:
    """Returns the source's field for each field of alerts that is taken from the event."""
    found: dict[str, str] = {}
    for name, ecs in _MEANINGS.items():
        meant = source.fields_by_meaning.get(ecs, ())
        fields = [field.name for field in meant if not field.is_list and not source.visibility_of(field)]
        if fields:
            found[name] = fields[0]
    return found
