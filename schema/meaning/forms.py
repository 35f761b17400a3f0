"""Tells by the form of a value of which kinds it may be: an address, a hash, a domain, a name."""

from __future__ import annotations

import re
from ipaddress import ip_address

_FORMS = (
    (re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}", re.I), ("mac",)),
    (
        re.compile(r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})", re.I),
        ("hash",),
    ),
    (re.compile(r"[a-z][a-z0-9+.-]*://.+", re.I), ("url",)),
    (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), ("email", "user")),
    (re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?\.)+[a-z][a-z0-9-]*[a-z0-9]\.?", re.I), ("domain", "host")),
)
NAMES = ("user", "host", "process", "file")
"""The kinds of a value that has no form of its own."""


def guess_kinds(value: str) -> tuple[str, ...]:
    """Returns the kinds that a value may be of, by its form alone."""
    try:
        ip_address(value)
        return ("ip",)
    except ValueError:
        pass
    return next((kinds for form, kinds in _FORMS if form.fullmatch(value)), NAMES)
