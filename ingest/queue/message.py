"""The messages of the queue: signed work items. A message that comes in is checked wholly before anything uses it.

The signature (HMAC with SHA-256, RFC 2104, under the instance's key) covers the message's bytes, its version and the
topic. It stands in a header of the Kafka record. It is checked before the message is parsed: nothing that a stranger
sends reaches a parser. The JSON Schema ``item.schema.json`` states what an item looks like.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from jsonschema.validators import extend

from watchfloor.schema.errors import InternalError
from watchfloor.schema.files.addresses import find_fault, is_address
from watchfloor.schema.text import shorten

from .item import WorkItem

Headers = Sequence[tuple[str, bytes]]
SIGNATURE_HEADER = "signature"
_VERSION = b"v1"
_LONGEST_REASON = 300


class InvalidMessageError(InternalError):
    """A message that is no work item of this instance; the text says why."""


def sign_item(item: WorkItem, topic: str, key: bytes) -> tuple[bytes, list[tuple[str, bytes]]]:
    """Returns the message that carries an item: the bytes and the headers of a record of ``topic``."""
    text = item.to_json()
    return text, [(SIGNATURE_HEADER, _VERSION + b"=" + _compute_signature(text, topic, key))]


def read_message(text: bytes, headers: Headers, topic: str, key: bytes) -> WorkItem:
    """Returns the item that a message of ``topic`` carries. Raises ``InvalidMessageError`` for any other message."""
    _check_signature(text, headers, topic, key)
    try:
        fields = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidMessageError(f"not JSON: {error}") from None
    fault = best_match(_load_validator().iter_errors(fields))
    if fault is not None:
        place = ".".join(map(str, fault.absolute_path))
        raise InvalidMessageError(f"{place or 'the message'}: {shorten(fault.message, _LONGEST_REASON)}")
    try:
        item = WorkItem.from_json(text)
    except InternalError as error:
        raise InvalidMessageError(shorten(str(error), _LONGEST_REASON)) from None
    _check_item(item)
    return item


def _compute_signature(text: bytes, topic: str, key: bytes) -> bytes:
    # Neither a version nor a topic's name can hold the byte 0, so no two messages give the same bytes to sign.
    signed = b"\0".join((b"watchfloor work item", _VERSION, topic.encode(), text))
    return hmac.new(key, signed, hashlib.sha256).hexdigest().encode()


def _check_signature(text: bytes, headers: Headers, topic: str, key: bytes) -> None:
    signatures = [value or b"" for name, value in headers if name == SIGNATURE_HEADER]
    if not signatures:
        raise InvalidMessageError("not signed")
    version, _, signature = signatures[0].partition(b"=")
    if len(signatures) > 1 or version != _VERSION:
        raise InvalidMessageError("signed in an unknown way")
    if not hmac.compare_digest(signature, _compute_signature(text, topic, key)):
        raise InvalidMessageError("its signature is not that of this instance's key")


def _check_item(item: WorkItem) -> None:
    """Raises ``InvalidMessageError`` if the path or the numbers of an item cannot be those of a file."""
    root, *parts = item.path.split("/")
    if is_address(item.path):
        if fault := find_fault(item.path):
            raise InvalidMessageError(f"path: {fault}")
    elif root or not parts or not {"", ".", ".."}.isdisjoint(parts) or "\0" in item.path:
        raise InvalidMessageError("path: not an absolute path in its shortest form")
    if "\0" in item.member:
        raise InvalidMessageError("member: no name of a file in an archive")
    if item.member and not item.compressed:
        raise InvalidMessageError("member: given for a file that is read as it is")
    if not item.base <= item.start <= item.end <= item.length:
        raise InvalidMessageError("base, start, end and length are not in this order")


@cache
def _load_validator() -> Draft202012Validator:
    """Returns the validator of the schema. To it 1.0 is no integer, unlike to JSON Schema."""
    schema = orjson.loads((files(__package__) / "item.schema.json").read_bytes())
    strict = Draft202012Validator.TYPE_CHECKER.redefine("integer", lambda _, value: type(value) is int)
    validator: type[Draft202012Validator] = extend(Draft202012Validator, type_checker=strict)
    return validator(schema)
