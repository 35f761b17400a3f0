"""Turns Windows events as XML into lines of JSON, one for each event, in the form that ``evtx_dump`` writes.

Each element ``Event`` is cut out of the text and parsed alone, so neither a wrapping element nor a document type can
bring in anything, memory is bounded, and an event that is no XML costs nothing but itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from xml.etree.ElementTree import Element, ParseError, fromstring

import orjson

from watchfloor.ingest.files.compressions.blocks import BlockReader

_MOST_BYTES = 4 << 20
"""The longest event that is held; what is longer is passed on in pieces, which are no events."""
_START = re.compile(rb"<Event[\s>]")
_END = b"</Event>"
_LEFT_OUT = re.compile(rb"<\?[^>]*\?>|</?Events(?:\s[^>]*)?>|<!--.*?-->|\xef\xbb\xbf", re.DOTALL)
"""What may stand around events without being lost."""
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>\s*)?(?:<!--.*?-->\s*)*(?:<Events(?:\s[^>]*)?>\s*)?<Event[\s>]", re.DOTALL
)
_NUMBER = re.compile(r"0|[1-9][0-9]{0,17}")
_NUMBERS = frozenset(
    ("EventID", "Version", "Level", "Task", "Opcode", "EventRecordID", "ProcessID", "ThreadID", "Qualifiers")
)
"""The names in the part ``System`` whose values ``evtx_dump`` writes as numbers."""
_LINE_ENDS = bytes.maketrans(b"\r\n", b"  ")


def is_xml_events(beginning: bytes) -> bool:
    """Returns true if a file that begins so holds Windows events as XML."""
    return _BEGINNING.match(beginning) is not None


class XmlEvents:
    """Iterates over the events of ``source`` as lines of JSON.

    An event that cannot be read, and what stands between events, is passed on as it is, as a line. ``fault`` says
    afterwards whether the last event is whole.
    """

    breaks_off = True

    def __init__(self, source: BlockReader) -> None:
        self._source = source
        self.fault = ""

    def __iter__(self) -> Iterator[bytes]:
        text = b""
        for block in self._source:
            text += block
            lines, text = _cut_events(text)
            if len(text) > _MOST_BYTES:
                lines.append(_as_line(text))
                text = b""
            yield b"".join(lines)
        if rest := _LEFT_OUT.sub(b"", text).strip():
            if _START.match(rest):
                self.fault = "the last event ends early"
            yield rest.translate(_LINE_ENDS)


def _cut_events(text: bytes) -> tuple[list[bytes], bytes]:
    """Returns the whole events of a text as lines, and what follows the last."""
    lines: list[bytes] = []
    at = 0
    while (end := text.find(_END, at)) >= 0:
        end += len(_END)
        start = _START.search(text, at, end)
        begin = end if start is None else start.start()
        if between := _LEFT_OUT.sub(b"", text[at:begin]).strip():
            lines.append(_as_line(between))
        if start is not None:
            lines.append(_event_line(text[begin:end]))
        at = end
    return lines, text[at:]


def _event_line(text: bytes) -> bytes:
    # The text has no declaration, so it is UTF-8; without a document type there are no entities but XML's own five.
    if b"<!DOCTYPE" in text or b"<!ENTITY" in text:
        return _as_line(text)
    try:
        event = fromstring(text)
    except (ParseError, ValueError):
        return _as_line(text)
    return orjson.dumps({"Event": _describe(event, "")}) + b"\n"


def _as_line(text: bytes) -> bytes:
    return text.translate(_LINE_ENDS) + b"\n"


def _describe(element: Element, part: str) -> Any:
    """Returns an element as ``evtx_dump`` writes it: a value, or an object of attributes, text and elements."""
    name = _local_name(element.tag)
    attributes = {key: _read_value(_local_name(key), value, part) for key, value in element.attrib.items()}
    if name == "Event":
        attributes = {"xmlns": element.tag[1:].partition("}")[0]} if element.tag.startswith("{") else {}
    if name in ("EventData", "UserData", "RenderingInfo") or part == "data":
        inner = "data"
    else:
        inner = "system" if name == "System" else part
    found: dict[str, Any] = {"#attributes": attributes} if attributes else {}
    for child in element:
        key = _local_name(child.tag)
        if key == "Data" and name == "EventData":
            _add_data(found, child.attrib.get("Name"), child.text or "")
        else:
            found[_name_apart(found, key)] = _describe(child, inner)
    if len(element):
        return found
    text = _read_value(name, element.text or "", part)
    if not found:
        return text if element.text else None
    return {**found, "#text": text} if element.text else found


def _add_data(found: dict[str, Any], name: str | None, text: str) -> None:
    """Adds a datum of an event under its name; those without a name, and several of one name, become lists."""
    if name is None:
        place, key = found.setdefault("Data", {}), "#text"
    else:
        place, key = found, name
    if key not in place:
        place[key] = text
    elif isinstance(place[key], list):
        place[key].append(text)
    else:
        place[key] = [place[key], text]


def _name_apart(found: dict[str, Any], name: str) -> str:
    """Returns the name of one more element, with a number behind it if there is one of the name."""
    number, apart = 0, name
    while apart in found:
        number += 1
        apart = f"{name}_{number}"
    return apart


def _read_value(name: str, text: str, part: str) -> Any:
    if part == "system" and name in _NUMBERS and _NUMBER.fullmatch(text):
        return int(text)
    return text


def _local_name(tag: str) -> str:
    return tag.rpartition("}")[2]
