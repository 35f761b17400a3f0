"""Reads Sigma rules from files and folders: each as pySigma parses it, or with the reason why it cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import re2
import yaml
from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaError
from sigma.policy import SigmaPolicy
from sigma.policy.regex_engine import RE2RegexEngine, RegexPattern
from sigma.rule import SigmaRule
from sigma.rule.detection import EmptySigmaDetections
from sigma.rule.logsource import EmptyLogSource

from watchfloor.schema.errors import RuleError
from watchfloor.schema.files.paths import describe_error, find_named_path, show_path
from watchfloor.schema.text import shorten

MAX_BYTES = 1_000_000
"""The largest size of a file of rules."""
ENDINGS = (".yml", ".yaml")
# pySigma meets a document of another form than it expects with one of these.
_FAULTS = (SigmaError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class _QuietEngine(RE2RegexEngine):
    """RE2, which does not write of bad patterns to standard error, beside raising an error with the reason."""

    def compile(self, pattern: str, flags: int = 0) -> RegexPattern:
        options = re2.Options()
        options.log_errors = False
        letters = "".join(letter for flag, letter in ((re.I, "i"), (re.M, "m"), (re.S, "s")) if flags & flag)
        try:
            compiled: RegexPattern = re2.compile(f"(?{letters}){pattern}" if letters else pattern, options)
        except re2.error as error:
            raise re2.error(error.args[0].decode("utf-8", "replace")) from None
        return compiled


_POLICY = SigmaPolicy(regex_engine=_QuietEngine())


@dataclass(frozen=True)
class RuleInfo:
    """The description of a rule. ``place`` is its file, with its number there if the file has several."""

    place: str
    id: str
    title: str
    level: str = ""
    tags: tuple[str, ...] = ()
    name: str = ""


@dataclass(frozen=True)
class ParsedRule:
    """A rule that pySigma has read."""

    info: RuleInfo
    rule: SigmaRule


@dataclass(frozen=True)
class ParsedCorrelation:
    """A correlation of rules that pySigma has read."""

    info: RuleInfo
    rule: SigmaCorrelationRule


@dataclass(frozen=True)
class UnreadRule:
    """A rule that cannot be read, and why."""

    info: RuleInfo
    reason: str


RuleEntry = ParsedRule | ParsedCorrelation | UnreadRule


def read_rules(names: Iterable[str]) -> Iterator[RuleEntry]:
    """Yields the rules of files, and of all files in folders below ``names``. Raises ``RuleError`` for a bad name."""
    for path in dict.fromkeys(path for name in names for path in list_rule_files(name)):
        yield from read_file(path)


def list_rule_files(name: str) -> list[Path]:
    """Returns a file that a user has named, or the rule files in a folder. Raises ``RuleError`` if there is none."""
    path = find_named_path(name)
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix in ENDINGS and file.is_file())
    if not found:
        raise RuleError(f"{show_path(path)}: no Sigma rule is in this folder; rules are files that end in .yml")
    return found


def read_file(path: Path) -> Iterator[RuleEntry]:
    """Yields the rules of one file."""
    shown = show_path(path)
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise RuleError(f"{shown}: cannot be read: {describe_error(error)}") from None
    yield from parse_rules(text, shown)


def parse_rules(text: bytes, place: str) -> Iterator[RuleEntry]:
    """Yields the rules of a text in YAML; ``place`` is the text's name in errors."""
    whole = RuleInfo(place, place, Path(place).stem)
    if len(text) > MAX_BYTES:
        yield UnreadRule(whole, f"the file is larger than {MAX_BYTES:,} bytes, which no rule is; split it")
        return
    try:
        documents = [document for document in yaml.load_all(text, yaml.CSafeLoader) if document is not None]
    except yaml.YAMLError as error:
        yield UnreadRule(whole, f"no YAML: {' '.join(str(error).split())}")
        return
    except (RecursionError, ValueError) as error:
        yield UnreadRule(whole, f"no YAML that can be read: {error}")
        return
    before: list[Any] = []  # the rule that a document with the action ``repeat`` changes
    shared: list[Any] = []  # documents that say what the rules behind them have in common
    for number, document in enumerate(documents, 1):
        info = _read_info(document, place if len(documents) == 1 else f"{place} ({number})")
        action = document.get("action") if isinstance(document, dict) else None
        if action in ("global", "reset"):
            shared.append(document)
            continue
        before = before if action == "repeat" else []
        yield _parse_document(info, [*shared, *before, document])
        before = [*before, document]
    if len(shared) == len(documents):
        yield UnreadRule(whole, "no rule is in it")


def _parse_document(info: RuleInfo, documents: list[Any]) -> RuleEntry:
    """Returns the rule of the last document."""
    if not isinstance(documents[-1], dict):
        return UnreadRule(info, f"a rule is a map of keys such as title, logsource, detection; it is {documents[-1]!r}")
    try:
        rules = SigmaCollection.from_dicts(
            deepcopy(documents), collect_errors=True, resolve_references=False, policy=_POLICY
        )
    except _FAULTS as error:
        return UnreadRule(info, _describe_fault(error))
    rule = rules.rules[-1] if rules.rules else None
    if isinstance(rule, SigmaCorrelationRule):
        wrong = [error for error in rule.errors if _names(error, "Correlation", "Timespan")]
        return UnreadRule(info, _describe_fault(wrong[0])) if wrong else ParsedCorrelation(info, rule)
    if not isinstance(rule, SigmaRule):
        return UnreadRule(info, _describe_fault(rules.errors[-1]) if rules.errors else "it is no rule of detection")
    # Faults of the description, such as an unusual date, leave the detection as it is.
    if isinstance(rule.detection, EmptySigmaDetections) or isinstance(rule.logsource, EmptyLogSource):
        faults = [error for error in rule.errors if _concerns_detection(error)] or rule.errors
        return UnreadRule(info, _describe_fault(faults[0]) if faults else "it has no detection")
    return ParsedRule(info, rule)


def _concerns_detection(error: SigmaError) -> bool:
    return _names(error, "Detection", "Condition", "Modif", "Value", "Type", "Logsource", "Regular")


def _names(error: SigmaError, *parts: str) -> bool:
    return any(part in type(error).__name__ for part in parts)


def _describe_fault(error: Exception) -> str:
    """Returns why a rule cannot be read, without the name of the file."""
    text = " ".join(str(error.args[0] if error.args else error).split())
    return shorten(text if isinstance(error, SigmaError) else f"it has not the form of a rule: {text}", 300)


def _read_info(document: object, place: str) -> RuleInfo:
    """Returns the description of a rule, whatever its document is."""
    members = document if isinstance(document, dict) else {}

    def read_text(key: str) -> str:
        return shorten(str(members.get(key) or ""), 300)

    tags = members.get("tags")
    title = read_text("title") or Path(place).stem
    return RuleInfo(
        place=place,
        id=read_text("id") or read_text("name") or title,
        title=title,
        level=read_text("level").lower(),
        tags=tuple(str(tag) for tag in tags[:100]) if isinstance(tags, list) else (),
        name=read_text("name"),
    )
