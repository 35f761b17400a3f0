"""The names of the parts of a Windows event in the three forms of JSON in which it is found.

``evtx_dump`` writes ``Event.System`` and ``Event.EventData`` with the attributes of XML, Winlogbeat ``winlog`` (older
ones ``event_data``), and NXLog one flat object. All get the names of the event's own XML; those of ``System`` that are
attributes are told apart as Sigma does it (``Provider_Name``). Spaces in names of data are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from watchfloor.ingest.formats.json.json_columns import find_values
from watchfloor.ingest.formats.json.json_values import Record

TIME_FIELD = "TimeCreated"
EVENT_TIME, RECEIVED_TIME, SHIPPED_TIME = "EventTime", "EventReceivedTime", "@timestamp"
"""NXLog's times of the event and of its arrival, in local time, and a shipper's, in UTC."""
TIME_PATHS = ("Event.System.TimeCreated.#attributes.SystemTime", EVENT_TIME, SHIPPED_TIME)
CHANNEL_PATHS = ("Channel", "winlog.channel", "Event.System.Channel", "log_name")
_NESTED_CHANNELS = (("Event", "System", "Channel"), ("winlog", "", "channel"))
"""The places of those that are usual and nested, by which they are found at once."""
_ID_PATHS = ("EventID", "winlog.event_id", "event.code", "Event.System.EventID", "event_id")

_ATTRIBUTES = ".#attributes."
_PARTS = {
    "Event.System.Provider.#attributes.Name": "Provider_Name",
    "Event.System.Provider.#attributes.Guid": "ProviderGuid",
    "Event.System.EventID": "EventID",
    "Event.System.EventID.#text": "EventID",
    "Event.System.EventID.#attributes.Qualifiers": "Qualifiers",
    "Event.System.TimeCreated.#attributes.SystemTime": TIME_FIELD,
    "Event.System.Correlation.#attributes.ActivityID": "ActivityID",
    "Event.System.Execution.#attributes.ProcessID": "ExecutionProcessID",
    "Event.System.Execution.#attributes.ThreadID": "ExecutionThreadID",
    "Event.System.Security.#attributes.UserID": "UserID",
    **{
        f"Event.System.{name}": name
        for name in ("Version", "Level", "Task", "Opcode", "Keywords", "EventRecordID", "Channel", "Computer")
    },
    "winlog.channel": "Channel",
    "winlog.event_id": "EventID",
    "winlog.computer_name": "Computer",
    "winlog.provider_name": "Provider_Name",
    "winlog.provider_guid": "ProviderGuid",
    "winlog.record_id": "EventRecordID",
    "winlog.process.pid": "ExecutionProcessID",
    "winlog.process.thread.id": "ExecutionThreadID",
    "winlog.task": "Category",
    "winlog.opcode": "OpcodeName",
    "winlog.keywords": "Keywords",
    "winlog.version": "Version",
    "winlog.activity_id": "ActivityID",
    "winlog.user.identifier": "UserID",
    "log.level": "Level",
    "message": "Message",
    "log_name": "Channel",
    "event_id": "EventID",
    "computer_name": "Computer",
    "source_name": "Provider_Name",
    "provider_guid": "ProviderGuid",
    "record_number": "EventRecordID",
    "process_id": "ExecutionProcessID",
    "thread_id": "ExecutionThreadID",
    "task": "Category",
    "opcode": "OpcodeName",
    "keywords": "Keywords",
    "level": "Level",
    "activity_id": "ActivityID",
    "user.identifier": "UserID",
    "Hostname": "Computer",
    "SourceName": "Provider_Name",
    "RecordNumber": "EventRecordID",
    "ThreadID": "ExecutionThreadID",
    "Severity": "Level",
    "Opcode": "OpcodeName",
    "OpcodeValue": "Opcode",
}
_OF_SHIPPERS = frozenset({
    "Event.#attributes.xmlns", "winlog.api", "event.code", "event.kind", "event.provider", "input.type", "@version",
    "SourceModuleName", "SourceModuleType", "SeverityValue", "type",
})  # fmt: skip
"""What the tools say of themselves, or a second time."""
_SHIPPER_PREFIXES = ("agent.", "ecs.", "@metadata.", "beat.")
_DATA_PREFIXES = ("Event.EventData.", "winlog.event_data.", "winlog.user_data.", "event_data.", "user_data.")
_USER_DATA = "Event.UserData."
_SYSTEM_NAMES = frozenset({*_PARTS.values(), "Message"})


def rename_path(path: str) -> str | None:
    """Returns the name of the part of an event that a path leads to; None if it says nothing of the event."""
    if path.startswith("Event"):
        path = path.replace("_attributes.", _ATTRIBUTES)
    if (name := _PARTS.get(path)) is not None:
        return name
    if path in _OF_SHIPPERS or path.startswith(_SHIPPER_PREFIXES):
        return None
    if path.startswith(_USER_DATA):
        return _rename_user_data(path)
    for prefix in _DATA_PREFIXES:
        if path.startswith(prefix):
            return _name_data(path[len(prefix) :])
    return path.replace(" ", "") if "." not in path else path


def _rename_user_data(path: str) -> str | None:
    """Returns the name of a value below ``UserData``, which is within an element of any name."""
    _, _, name = path[len(_USER_DATA) :].partition(".")
    return None if name.startswith(_ATTRIBUTES[1:]) else _name_data(name) if name else path


def _name_data(name: str) -> str:
    """Returns the name of a value of an event's data. One that a part of every event has too gets a prefix."""
    name = name.removesuffix(".#text").replace(" ", "")
    return f"EventData.{name}" if name in _SYSTEM_NAMES else name


def find_channel(record: Record) -> str:
    """Returns the channel of an event; empty if it names none."""
    value = record.get("Channel")
    for form, part, name in _NESTED_CHANNELS:
        if value is None and type(nested := record.get(form)) is dict:
            inner = nested.get(part) if part else nested
            value = inner.get(name) if type(inner) is dict else None
    value = value or _find_first(record, CHANNEL_PATHS)
    return value if isinstance(value, str) else ""


def is_windows_record(record: Record) -> bool:
    """Returns True if a JSON object has the channel and the number of a Windows event."""
    return bool(find_channel(record)) and _find_first(record, _ID_PATHS) is not None


def _find_first(record: Record, paths: Iterable[str]) -> Any:
    return next((value for path in paths for value in find_values(record, path)), None)
