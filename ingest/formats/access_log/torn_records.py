"""Tells records that were torn or spliced: parts of a line that cannot be what their places say.

A record that breaks off, with the next behind it in the same line, leaves a bracket, a quote, a time or the whole
beginning of the next record inside one of its parts. Such a line is rejected: an event with the client of one record
and the time and path of another is worse than none.
"""

from __future__ import annotations

import re
import socket

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from watchfloor.ingest.columns.convert import Reasons
from watchfloor.ingest.columns.scalars import unfit_reason
from watchfloor.schema.text import shorten_value

_NAME = r"[A-Za-z0-9_*-](?:[A-Za-z0-9_*.,-]*[A-Za-z0-9_*-])?\.?"
_HOST = re.compile(rf"(?!(?:.*\.)?\d+\.?$){_NAME}", re.ASCII)
_ADDRESS_WITHIN = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}|[0-9A-Fa-f]*:[0-9A-Fa-f]*:", re.ASCII)
_USUAL_CLIENT = r"^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.|$)){4}$"
_USUAL_USER = r"^[^\s\[\]\"]+$"
_TIME_FORMAT = "%d/%b/%Y:%H:%M:%S %z"
_WHOLE_TIME = r"^\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}$"
TIME_WITHIN = re.compile(r"\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:")
"""The beginning of a record's time."""


def reject_torn_heads(client: pa.StringArray, ident: pa.StringArray, user: pa.StringArray, reasons: Reasons) -> None:
    """Adds a reason for each row whose client, ident or user has parts of another record in it."""
    odd = _find_unlike(client, _USUAL_CLIENT) | _find_unlike(user, _USUAL_USER) | _find_unlike(ident, "^-$")
    for row in np.flatnonzero(odd).tolist():
        problem = explain_head(client[row].as_py(), ident[row].as_py(), user[row].as_py())
        if problem:
            reasons.setdefault(row, problem)


def reject_torn_times(text: pa.StringArray, time_format: str, reasons: Reasons) -> None:
    """Adds a reason for each row whose time lacks a digit, which ``strptime`` would take for a time all the same."""
    if time_format != _TIME_FORMAT:
        return
    for row in np.flatnonzero(_find_unlike(text, _WHOLE_TIME)).tolist():
        reasons.setdefault(row, unfit_reason("ts", text[row].as_py(), "a time like 10/Oct/2000:13:55:36 -0700"))


def explain_head(client: str, ident: str, user: str) -> str:
    """Returns why three texts cannot be the beginning of one record; empty if they can."""
    if not _is_client(client):
        hint = _SITE if re.fullmatch(r".*[^:]:\d{1,5}", client) else ""
        return f"field client: {shorten_value(client)} is neither an address nor a host name{hint}"
    if ident != "-" and not re.fullmatch(r'[^\[\]".:]+', ident):
        return f"field ident: {shorten_value(ident)} is no name; {_TORN}{_SITE}"
    words = user.split(" ")
    if len(words) > 1 and ("-" in words or _ADDRESS_WITHIN.search(user) or (len(words) > 2 and "." in words[0])):
        return f"field user: {shorten_value(user)} has the beginning of another record in it; {_TORN}"
    return ""


def explain_no_match(line: str, form: str) -> str:
    """Returns why a line that has not the ``form`` of a record is none."""
    if "\r" in line and len(TIME_WITHIN.findall(line)) > 1:
        return "several records with carriage returns (CR) alone between them; convert the file's line ends to LF"
    if len(TIME_WITHIN.findall(line)) > 1:
        return f"it has two times; {_TORN}"
    if re.match(r'\S+ \S+ .{0,999}[\[\]"].{0,999} \[[^\]]{0,64}\] "', line):
        return f"its user has a bracket or a quote in it; {_TORN}"
    return f"not {form}"


_SITE = "; lines that begin with a site, as Debian's vhost_combined, are of the source web.vhost"
_TORN = "the record seems to be torn, with another one behind it"


def _find_unlike(text: pa.StringArray, usual: str) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Returns a mask of the texts that a regular expression does not match; false for nulls."""
    unlike = pc.invert(pc.match_substring_regex(text, usual)).fill_null(False)
    return np.asarray(unlike.to_numpy(zero_copy_only=False), bool)


def _is_client(text: str) -> bool:
    """Returns True for an address, a host name, ``unix:`` (nginx: a socket) and ``-``."""
    if ":" in text:
        try:
            socket.inet_pton(socket.AF_INET6, text.partition("%")[0])
        except (OSError, ValueError):  # a NUL is no part of an address
            return text == "unix:"
        return True
    return bool(_HOST.fullmatch(text)) or bool(re.fullmatch(_USUAL_CLIENT, text))
