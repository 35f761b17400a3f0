"""The ECS names that a field may have, and the kind of each.

``ecs.json`` has those names of the Elastic Common Schema 8.17 (https://www.elastic.co/docs/reference/ecs) that occur in
security logs. The kinds are Watchfloor's, and so are the types of fields that can hold values of a kind.
Stored definitions have these names: names may be added to the table, but never removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files

_TABLE = json.loads((files(__package__) / "ecs.json").read_text("utf-8"))
ECS_VERSION: str = _TABLE["version"]
"""The version of the Elastic Common Schema that the names are from."""
KINDS: Mapping[str, tuple[str, ...]] = {kind: tuple(types) for kind, types in _TABLE["kinds"].items()}
"""The types that a field can have whose values are of a kind, by kind."""
ECS_NAMES: Mapping[str, str] = _TABLE["names"]
"""The kind of each ECS name; empty if the values of a name are of no kind."""


def is_ecs_name(name: str) -> bool:
    """Returns True if a text is one of the known ECS names."""
    return name in ECS_NAMES


def find_kind(ecs_name: str) -> str | None:
    """Returns the kind of an ECS name's values; None if they are of no kind, or if the name is not known."""
    return ECS_NAMES.get(ecs_name) or None


def can_have_type(ecs_name: str, scalar: str) -> bool:
    """Returns True if a field of an ECS name can have ``scalar`` (``ip``, ``string``, …) as the type of its values."""
    kind = find_kind(ecs_name)
    return kind is None or scalar in KINDS[kind]
