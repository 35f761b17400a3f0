"""Makes Sigma rules for process creation, with modifiers and numbers of values in the proportions of published rules.

Of the 701 rules of SigmaHQ for process creation of Windows in October 2025, a rule had 3.7 items with 3.1 values each:
39 % of the items had ``contains``, 30 % ``endswith``, 21 % no modifier, 12 % ``contains|all``, 1.5 % ``re``; 24 % of
the rules excluded something by ``not``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator

from .programs import PROGRAMS, USERS, WORDS

_COMMON = 0.2
"""The share of texts that occur in events; the others are names of tools that none has."""
_NEGATED = 0.24
_Detection = dict[str, object]


def make_rules(count: int, seed: int) -> Iterator[bytes]:
    """Yields rules as texts."""
    drawn = random.Random(seed)
    for number in range(count):
        detection = drawn.choices(_KINDS, _WEIGHTS)[0](drawn)
        names = list(detection)
        condition = " and ".join(names)
        if drawn.random() < _NEGATED:
            detection["filter"] = {"CommandLine|contains": _draw_texts(drawn)}
            condition += " and not filter"
        rule = {
            "title": f"Rule {number}",
            "id": f"{number:08x}-0000-4000-8000-000000000000",
            "level": "high",
            "logsource": {"product": "windows", "category": "process_creation"},
            "detection": {**detection, "condition": condition},
        }
        yield json.dumps(rule).encode()


def _detect_command(drawn: random.Random) -> _Detection:
    return {
        "image": [{"Image|endswith": _draw_images(drawn)}, {"OriginalFileName": _draw_program(drawn)}],
        "command": {"CommandLine|contains": _draw_texts(drawn)},
    }


def _detect_all(drawn: random.Random) -> _Detection:
    return {
        "image": {"Image|endswith": _draw_images(drawn)},
        "command": {"CommandLine|contains|all": _draw_texts(drawn, 2)},
        "option": {"CommandLine|contains": _draw_texts(drawn)},
    }


def _detect_text(drawn: random.Random) -> _Detection:
    return {
        "command": {"CommandLine|contains": _draw_texts(drawn)},
        "more": [{"CommandLine|contains": _draw_texts(drawn)}, {"ParentCommandLine|contains": _draw_texts(drawn)}],
    }


def _detect_parent(drawn: random.Random) -> _Detection:
    return {
        "parent": {"ParentImage|endswith": _draw_images(drawn)},
        "child": [{"Image|endswith": f"\\{_make_word(drawn)}.exe"}, {"CommandLine|contains": _draw_texts(drawn)}],
        "user": {"User|contains": [drawn.choice(USERS), "AUTHORI"]},
    }


def _detect_tool(drawn: random.Random) -> _Detection:
    name = _make_word(drawn)
    return {
        "tool": [
            {"Image|endswith": f"\\{name}.exe"},
            {"OriginalFileName": f"{name}.exe"},
            {"CommandLine|contains|windash": f" -{name} "},
        ]
    }


def _detect_path(drawn: random.Random) -> _Detection:
    return {
        "path": {"Image|startswith": f"C:\\Users\\{drawn.choice(USERS)}\\", "Image|contains": _make_word(drawn)},
        "level": {"IntegrityLevel": ["High", "System"]},
    }


def _detect_pattern(drawn: random.Random) -> _Detection:
    pattern = rf"(?i)-{_make_word(drawn)}\s+[a-z0-9]{{4,}}\s+.*{drawn.choice(WORDS)}"
    return {"image": {"Image|endswith": _draw_images(drawn)}, "pattern": {"CommandLine|re": pattern}}


_KINDS: tuple[Callable[[random.Random], _Detection], ...] = (
    *(_detect_command, _detect_all, _detect_text),
    *(_detect_parent, _detect_tool, _detect_path, _detect_pattern),
)
_WEIGHTS = (30, 22, 12, 12, 14, 5, 5)


def _draw_texts(drawn: random.Random, least: int = 1) -> list[str]:
    """Returns texts to be looked for in command lines: few as a rule, many now and then."""
    return [_draw_text(drawn) for _ in range(max(least, min(40, int(drawn.paretovariate(0.9)))))]


def _draw_text(drawn: random.Random) -> str:
    if drawn.random() < _COMMON:
        return drawn.choice((f" {drawn.choice(WORDS)} ", f"\\{drawn.choice(WORDS)}.", f"/{drawn.choice(WORDS)} "))
    word = _make_word(drawn)
    return drawn.choice((word, f" -{word}", f" /{word} ", f"\\{word}.exe", f"{word}.dll,{_make_word(drawn)}"))


def _draw_images(drawn: random.Random) -> list[str]:
    return [f"\\{_draw_program(drawn)}" for _ in range(min(10, int(drawn.paretovariate(1.2))))]


def _draw_program(drawn: random.Random) -> str:
    known = drawn.random() < 0.7
    return drawn.choice(PROGRAMS).name if known else f"{_make_word(drawn)}.exe"


def _make_word(drawn: random.Random) -> str:
    return "".join(drawn.choice("bcdfghklmnprstvwxz") + drawn.choice("aeiouy") for _ in range(drawn.randint(3, 5)))
