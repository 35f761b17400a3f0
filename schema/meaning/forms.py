"""Tells by the form of a value of which kinds it may be: an address, a hash, a domain, a name.

A network and the ending of domains (``*.example.com``) are forms too: they stand for many values.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network

_LABEL, _LAST_LABEL = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?", r"[a-z][a-z0-9-]*[a-z0-9]\.?"
_ENDING = re.compile(rf"\*\.(?:{_LABEL}\.)*{_LAST_LABEL}", re.I)
_FORMS = (
    (re.compile(r"(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}", re.I), ("mac",)),
    (
        re.compile(r"(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})", re.I),
        ("hash",),
    ),
    (re.compile(r"[a-z][a-z0-9+.-]*://.+", re.I), ("url",)),
    (re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+"), ("email", "user")),
    (re.compile(rf"(?:{_LABEL}\.)+{_LAST_LABEL}", re.I), ("domain", "host")),
    (_ENDING, ("domain", "host")),
)
NAMES = ("user", "host", "process", "file")
"""The kinds of a value that has no form of its own."""


def guess_kinds(value: str) -> tuple[str, ...]:
    """Returns the kinds that a value may be of, by its form alone."""
    if _is_address(value) or read_network(value) is not None:
        return ("ip",)
    return next((kinds for form, kinds in _FORMS if form.fullmatch(value)), NAMES)


def read_network(value: str) -> IPv4Network | IPv6Network | None:
    """Returns the network that a word like ``10.0.0.0/8`` names; None for other values and for zones (``%eth0``)."""
    if "/" not in value or "%" in value:
        return None
    try:
        return ip_network(value, strict=False)
    except ValueError:
        return None


def find_ending(value: str) -> str | None:
    """Returns the ending ``.example.com`` that ``*.example.com`` names; None for a value of another form."""
    return value[1:] if _ENDING.fullmatch(value) else None


def _is_address(value: str) -> bool:
    try:
        ip_address(value)
    except ValueError:
        return False
    return True
