"""Values drawn from the JSON Schemas that the REST routes declare.

Knows the key words that they use, and fails for any other. hypothesis-jsonschema does the same for all of JSON Schema,
but its last version fails with the present Hypothesis at objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

ANNOTATIONS = {"$schema", "title", "description", "default"}
MAX_LENGTH = 30
"""The longest text and array that is drawn, whatever the schema allows."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)


def draw_valid(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Draws values that fit a schema."""
    if "anyOf" in schema:
        return st.one_of([draw_valid(option) for option in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    known = {key: value for key, value in schema.items() if key not in ANNOTATIONS}
    match known.pop("type"):
        case "boolean":
            drawn: st.SearchStrategy[Any] = st.booleans()
        case "string":
            longest = min(known.pop("maxLength", MAX_LENGTH), MAX_LENGTH)
            drawn = st.text(min_size=known.pop("minLength", 0), max_size=longest)
            if "pattern" in known:
                drawn = st.from_regex(known.pop("pattern")).filter(lambda text: len(text) <= longest)
        case "integer":
            drawn = st.integers(known.pop("minimum", None), known.pop("maximum", None))
        case "number":
            low, open_low = known.pop("minimum", None), known.pop("exclusiveMinimum", None)
            bounds = {"min_value": low if open_low is None else open_low, "max_value": known.pop("maximum", None)}
            drawn = st.floats(**bounds, exclude_min=open_low is not None, allow_nan=False, allow_infinity=False)
        case "array":
            sizes = {"min_size": known.pop("minItems", 0), "max_size": min(known.pop("maxItems", 9), 9)}
            drawn = st.lists(draw_valid(known.pop("items")), unique=known.pop("uniqueItems", False), **sizes)
        case "object" if "properties" in known:
            drawn = draw_object(known.pop("properties"), known.pop("required"))
            known.pop("additionalProperties")
        case "object":
            drawn = st.dictionaries(st.text(max_size=10), JSON, max_size=3)
    if known:
        raise ValueError(f"this draws nothing for {sorted(known)} of {schema}")
    return drawn


def draw_object(properties: Mapping[str, Mapping[str, Any]], required: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Draws objects with the required and some of the other properties."""
    drawn = {name: draw_valid(schema) for name, schema in properties.items()}
    needed = {name: drawn.pop(name) for name in required}
    return st.fixed_dictionaries(needed, optional=drawn)
