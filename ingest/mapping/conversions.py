"""The named changes of texts that a definition can ask for (``"convert"``), each over a whole column.

A text that a change does not understand stays as it is; the conversion to the field's type then says what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc

Change = Callable[[pa.StringArray], pa.StringArray]

_HEX = re.compile(r"(?:0[xX])?([0-9A-Fa-f]{1,16})")
_WHOLE = re.compile(r"-?\d{1,20}", re.ASCII)
_MAC = re.compile(r"(?:[0-9A-Fa-f]{1,2}[:-]){5}[0-9A-Fa-f]{1,2}|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}|[0-9A-Fa-f]{12}")
_CLOCK = re.compile(r"(?:(\d+)[d ]+)?(?:(\d+):)?(\d+):(\d+(?:\.\d+)?)")
_UNITS = re.compile(r"(?=\d)(?:(\d+)d)?[: ]?(?:(\d+)h)?[: ]?(?:(\d+)m)?[: ]?(?:(\d+(?:\.\d+)?)s)?")
_LABELS = re.compile(r"(?:\([0-9]+\)[^()]*)+")
_OCTETS = re.compile(r"(?:[0-9A-F]{2})+")
_ARGUMENT = re.compile(r'(?:^| )a(\d+)(?:\[\d+\])?=("[^"]*"|\S+)')
_COUNT = re.compile(r"(\d+(?:\.\d+)?) ?([kKMGT])i?[bB]?")
_POWERS = {"k": 1, "K": 1, "M": 2, "G": 3, "T": 4}
_PROTOCOLS = {
    "1": "icmp", "2": "igmp", "4": "ipv4", "6": "tcp", "17": "udp", "41": "ipv6", "47": "gre", "50": "esp", "51": "ah",
    "58": "ipv6-icmp", "88": "eigrp", "89": "ospf", "103": "pim", "112": "vrrp", "115": "l2tp", "132": "sctp",
}  # fmt: skip
"""IANA's names of protocol numbers that firewalls and flow collectors meet."""


def _distinct(change: Callable[[str], str]) -> Change:
    """Returns the change of a column that changes each distinct text once."""

    def apply(text: pa.StringArray) -> pa.StringArray:
        coded = text.dictionary_encode()
        changed = pa.array([change(value) for value in coded.dictionary.to_pylist()], pa.string())
        return changed.take(coded.indices)

    return apply


def read_hex(text: str) -> str:
    """Returns a hexadecimal number, with or without 0x, as a decimal one."""
    match = _HEX.fullmatch(text)
    return str(int(match[1], 16)) if match else text


def read_number(text: str) -> str:
    """Returns a hexadecimal number with 0x as a decimal one."""
    return read_hex(text) if text[:2] in ("0x", "0X") else text


def write_hex(text: str) -> str:
    """Returns a whole number of 64 bits, with or without a sign, as a hexadecimal one with 0x."""
    return f"0x{int(text) % (1 << 64):x}" if _WHOLE.fullmatch(text) else text


def read_mac(text: str) -> str:
    """Returns a hardware address as ECS has it: AA-BB-CC-DD-EE-FF."""
    if not _MAC.fullmatch(text):
        return text
    pieces = re.split("[:-]", text)
    digits = "".join(piece.zfill(2) for piece in pieces) if len(pieces) == 6 else text.replace(".", "")
    return "-".join(digits[at : at + 2] for at in range(0, 12, 2)).upper()


def read_seconds(text: str) -> str:
    """Returns a duration, as 1:02:03.5, 2d 1:02:03, 1h2m3s or 1h:2m:3s, in seconds."""
    match = _CLOCK.fullmatch(text) or _UNITS.fullmatch(text)
    if match is None:
        return text
    days, hours, minutes, seconds = match.groups()
    whole = 86_400 * int(days or 0) + 3_600 * int(hours or 0) + 60 * int(minutes or 0)
    return f"{whole + float(seconds or 0):.6f}".rstrip("0").rstrip(".")


def read_count(text: str) -> str:
    """Returns a number with a decimal unit, as 1.5 M or 12k, as a whole one."""
    match = _COUNT.fullmatch(text)
    return str(round(float(match[1]) * 1000 ** _POWERS[match[2]])) if match else text


def read_micros(text: str) -> str:
    """Returns a whole number of microseconds in seconds; a number with a point is in seconds already."""
    return f"{int(text) / 1e6:.6f}" if re.fullmatch(r"[0-9]{1,18}", text) else text


def read_labels(text: str) -> str:
    """Returns a domain name that Windows DNS writes as (3)www(4)shop(7)example(0), with points."""
    return ".".join(re.findall(r"\([0-9]+\)([^()]+)", text)) or "." if _LABELS.fullmatch(text) else text


def undo_quotes(text: str) -> str:
    r"""Undoes ``\"`` and ``\\``; other escapes stay."""
    return re.sub(r'\\(["\\])', r"\1", text)


def read_audit(text: str) -> str:
    """Returns a text of the kernel's audit, which stands in quotes, or in hexadecimal digits if it has odd characters.

    The arguments of a command, ``a0="ls" a1=2D6C``, become one text with spaces between.
    """
    if not text.startswith("a0="):
        return _read_audit_word(text)
    words: dict[str, str] = {}
    for number, value in _ARGUMENT.findall(text):  # the pieces of a long one have the same number
        words[number] = words.get(number, "") + _read_audit_word(value)
    return " ".join(words.values())


def _read_audit_word(text: str) -> str:
    if text.startswith('"'):
        return text.strip('"')
    if not _OCTETS.fullmatch(text):
        return text
    return bytes.fromhex(text).decode(errors="backslashreplace").rstrip("\0").replace("\0", " ")


CHANGES: Mapping[str, Change] = {
    "lower": pc.utf8_lower,
    "upper": pc.utf8_upper,
    "hex": _distinct(read_hex),
    "number": _distinct(read_number),
    "to_hex": _distinct(write_hex),
    "mac": _distinct(read_mac),
    "seconds": _distinct(read_seconds),
    "protocol": _distinct(lambda text: _PROTOCOLS.get(text, text)),
    "count": _distinct(read_count),
    "micros": _distinct(read_micros),
    "labels": _distinct(read_labels),
    "quotes": _distinct(undo_quotes),
    "audit": _distinct(read_audit),
    "percent": _distinct(unquote),
    "plus": lambda text: pc.replace_substring(text, "+", " "),
}
"""The changes by their names in definitions."""


def replace_values(text: pa.StringArray, values: Mapping[str, str]) -> pa.StringArray:
    """Returns a column with the texts that ``values`` names replaced."""
    return _distinct(lambda value: values.get(value, value))(text)
