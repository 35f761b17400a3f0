"""The labels of a user are read beside the questions for them, and never more than about a second late.

In `make test`: it needs no servers.
"""

from __future__ import annotations

import threading
import time

import pytest

from watchfloor.store.admin import user_labels
from watchfloor.store.admin.user_labels import UserLabels


def wait_until(condition: object, seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_labels_are_read_again_while_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_labels, "RENEW_SECONDS", 0.02)
    granted, readers = ["a"], set()

    def read() -> list[str]:
        readers.add(threading.current_thread())
        return list(granted)

    labels = UserLabels(read, ["a"])
    assert labels.get_labels() == {"a"}
    granted.append("b")
    wait_until(lambda: labels.get_labels() == {"a", "b"})
    granted.remove("a")
    wait_until(lambda: labels.get_labels() == {"b"})
    assert len(readers) == 1 and threading.current_thread() not in readers
    labels.close()
    wait_until(lambda: not any(reader.is_alive() for reader in readers))
    assert labels.get_labels() == {"b"}


def test_labels_that_nobody_has_asked_for_are_read_before_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_labels, "RENEW_SECONDS", 0.01)
    monkeypatch.setattr(user_labels, "FRESH_SECONDS", 0.1)
    monkeypatch.setattr(user_labels, "KEPT_SECONDS", 0.05)
    granted, readings = ["a"], []

    def read() -> list[str]:
        readings.append(time.monotonic())
        return list(granted)

    labels = UserLabels(read, ["a"])
    assert labels.get_labels() == {"a"}
    wait_until(lambda: time.monotonic() - (readings or [time.monotonic()])[-1] > 0.2)
    granted.append("b")
    assert labels.get_labels() == {"a", "b"}
    labels.close()


def test_a_store_that_does_not_answer_leaves_the_labels_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_labels, "RENEW_SECONDS", 0.01)
    monkeypatch.setattr(user_labels, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(user_labels, "MAX_WAIT_SECONDS", 0.1)
    answers, granted = threading.Event(), ["b"]

    def read() -> list[str]:
        answers.wait()
        if not granted:
            raise RuntimeError("down")
        return granted

    labels = UserLabels(read, ["a"])
    assert labels.get_labels() == {"a"}
    answers.set()
    wait_until(lambda: labels.get_labels() == {"b"})
    granted.clear()
    assert labels.get_labels() == {"b"}
    labels.close()
