"""Makes a page for people of the OpenAPI document: plain HTML without scripts, which needs no other file."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from typing import Any

from .document import LINE_SCHEMA

_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em; }
pre { overflow-x: auto; padding: 0.75rem; border: 1px solid #8888; border-radius: 4px; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.25rem 0.75rem 0.25rem 0; border-bottom: 1px solid #8884; }
h2 { margin-top: 2.5rem; border-bottom: 2px solid #8888; }
nav a { margin-right: 0.75rem; }
"""
CONTENT_POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    f"style-src 'sha256-{b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'"
)
"""The Content-Security-Policy of the page: nothing but its own style."""
_METHODS = ("get", "post", "put", "delete")


def make_page(document: Mapping[str, Any]) -> str:
    """Returns the page of an OpenAPI document."""
    info = document["info"]
    operations = [
        (path, method, item[method])
        for path, item in document["paths"].items()
        for method in _METHODS
        if method in item
    ]
    operations.sort(key=lambda found: (found[2]["tags"][0], found[0]))
    groups = [(noun, list(found)) for noun, found in groupby(operations, key=lambda found: found[2]["tags"][0])]
    links = " ".join(f'<a href="#{noun}">{noun}</a>' for noun, _ in groups)
    parts = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}: REST</h1>",
        f"<p>{escape(info['description'])}</p>",
        '<p>The same for programs: <a href="openapi.json">openapi.json</a></p>',
        f"<nav>{links}</nav>",
    ]
    for noun, found in groups:
        parts.append(f'<h2 id="{noun}">{noun}</h2>')
        parts += [part for path, method, operation in found for part in _show_operation(path, method, operation)]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}: REST</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{chr(10).join(parts)}\n</main></body></html>\n"
    )


def _show_operation(path: str, method: str, operation: Mapping[str, Any]) -> Iterator[str]:
    role = operation.get("x-role")
    yield f'<section aria-label="{escape(f"{method.upper()} {path}")}">'
    yield f"<h3><code>{method.upper()} {escape(path)}</code></h3>"
    yield f"<p>{escape(operation['summary'])}. Token: {'none is needed' if role is None else f'role {role}'}.</p>"
    if operation.get("parameters"):
        rows = [(one["name"], one["schema"], one.get("required", False), one) for one in operation["parameters"]]
        yield _make_table("Parameter", rows)
    if "requestBody" in operation:
        (content,) = operation["requestBody"]["content"].values()
        schema = content["schema"]
        required = schema.get("required", ())
        yield _make_table(
            "Member of the body", [(n, one, n in required, one) for n, one in schema["properties"].items()]
        )
    for media_type, content in operation["responses"]["200"]["content"].items():
        schema = content.get("schema")
        if schema is None:
            yield f"<p>Also as <code>{escape(media_type)}</code></p>"
            continue
        text = json.dumps(schema.get(LINE_SCHEMA, schema), indent=2, ensure_ascii=False)
        what = "each line of the answer" if LINE_SCHEMA in schema else "the answer"
        label = f"Schema of {what}, <code>{escape(media_type)}</code>"
        yield f"<details><summary>{label}</summary><pre>{escape(text)}</pre></details>"
    yield "</section>"


def _make_table(title: str, rows: list[tuple[str, Mapping[str, Any], bool, Mapping[str, Any]]]) -> str:
    lines = [f"<tr><th>{title}</th><th>Type</th><th>Meaning</th></tr>"]
    for name, schema, required, described in rows:
        meaning = escape(described.get("description", "")) + (" (required)" if required else "")
        lines.append(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(_show_type(schema))}</td><td>{meaning}</td></tr>"
        )
    return f"<table>{''.join(lines)}</table>"


def _show_type(schema: Mapping[str, Any]) -> str:
    """Returns a schema's type in a few words."""
    if "enum" in schema:
        text = ", ".join(map(str, schema["enum"]))
    elif "anyOf" in schema:
        text = " or ".join(_show_type(one) for one in schema["anyOf"])
    elif schema.get("type") == "array":
        text = f"list of {_show_type(schema['items'])}"
    else:
        text = str(schema.get("type", "any"))
    bounds = [f"{word} {schema[key]:,}" for word, key in (("from", "minimum"), ("to", "maximum")) if key in schema]
    default = [f"default {json.dumps(schema['default'])}"] if "default" in schema else []
    return ", ".join([" ".join([text, *bounds]), *default])
