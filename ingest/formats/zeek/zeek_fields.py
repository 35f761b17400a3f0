"""Maps names of Zeek's logs and fields to Watchfloor's, and chooses the fields of derived definitions to index."""

from __future__ import annotations

import re
from dataclasses import replace

from watchfloor.schema.definition import parse_definition
from watchfloor.schema.field import VALUE_INDEX, Field, FieldType
from watchfloor.schema.meaning.guess import guess_ecs_name
from watchfloor.schema.source import Source

FAMILY = "zeek"
"""The family of the sources of Zeek's logs."""
TIME_FIELD = "ts"
PATH_KEYS = ("_path", "@stream")
"""Keys under which a line of Zeek JSON may say which log it belongs to."""

MAX_INDEXED = 10
_SOUGHT = (
    "uid uids fuid fuids conn_uids proto service host hostname host_name server_name query domain method "
    "status_code user username client client_name mac mime_type name note md5 sha1 sha256 ja3 ja3s action "
    "fingerprint certificate.subject mailfrom rcptto filename "
)
_INDEXED_NAMES = frozenset(_SOUGHT.split())
ID_ALIASES = {f"id_{end}_{part}": f"id.{end}_{part}" for end in ("orig", "resp") for part in "hp"}
_BAD_NAME = re.compile(r"[^A-Za-z0-9_.@-]")
_BAD_PATH = re.compile(r"[^a-z0-9_]+")


def source_name(path: str) -> str:
    """Returns the name of a log's source: ``zeek.conn`` for ``conn``."""
    part = _BAD_PATH.sub("_", path.lower()).lstrip("_")
    return f"zeek.{part or 'unnamed'}"[:100]


def field_name(name: str) -> str:
    """Returns a field's name for a column: characters that definitions do not allow become underscores."""
    name = _BAD_NAME.sub("_", name) or "_"
    return name[:200] if name[0].isalpha() or name[0] in "_@" else f"_{name}"[:200]


def make_time_field() -> Field:
    """Returns the field of the events' time for a log whose lines or columns may lack it."""
    return Field(TIME_FIELD, FieldType.TIME, ecs=guess_ecs_name(TIME_FIELD, FieldType.TIME.value))


def make_aliases(fields: tuple[Field, ...]) -> dict[str, str]:
    """Returns dotted names by their forms with underscores, except forms that are names of fields themselves."""
    names = {f.name for f in fields}
    forms = {f.name.replace(".", "_"): f.name for f in fields if "." in f.name}
    return {form: name for form, name in forms.items() if form not in names}


def choose_indexed(fields: list[Field]) -> list[Field]:
    """Returns the fields with indexes on those by which analysts search: at most ten, in column order.

    They are addresses, ports, identifiers and well-known names.

    The limit is for the cost of ingest: each indexed field is one more entry per event.
    """
    out: list[Field] = []
    for f in fields:
        is_sought = f.scalar in (FieldType.IP, FieldType.PORT) or (
            f.scalar in (FieldType.STRING, FieldType.INT) and f.name in _INDEXED_NAMES
        )
        has_room = sum(g.is_indexed for g in out) < MAX_INDEXED
        out.append(replace(f, indexes=(VALUE_INDEX,)) if is_sought and has_room else f)
    return out


def zeek_definition(name: str, path: str, fields: list[Field], time_field: str) -> Source:
    """Returns a derived definition of a Zeek log. Its lines' other fields are kept in ``extra``."""
    known = {f.name for f in fields}
    if "extra" not in known:
        fields = [*fields, Field("extra", FieldType.STRING)]
    return parse_definition(
        {
            "name": name,
            "title": f"Zeek {path}.log",
            "parser": {"format": "zeek"},
            "timestamp": {"field": time_field, "format": "epoch"},
            "unknown_fields": "extra",
            "fields": [f.to_json() for f in fields],
        },
        f"the fields of Zeek log {path!r}",
    )
