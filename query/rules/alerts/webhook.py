"""Posts alerts to an address as JSON, in a thread of its own, oldest first.

An alert that the receiver does not take is tried again, the pauses growing, and given up after ``TRIES``.
"""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from watchfloor.schema.errors import UserError, WatchfloorError

from .alert_state import AlertState

TRIES = 8
TIMEOUT_SECONDS = 10.0
FIRST_PAUSE, LAST_PAUSE = 1.0, 60.0
"""Seconds between two tries, which double from the first to the last."""
_POLL_SECONDS = 1.0


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Takes an answer that points elsewhere for a failure."""

    def redirect_request(self, *_: Any) -> None:
        return None


def check_webhook(address: str) -> None:
    """Raises ``UserError`` unless an address is one of http or https with a host."""
    try:
        parts = urlsplit(address)
        is_sound = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        is_sound = False
    if not is_sound or not address.isascii() or any(character <= " " for character in address):
        raise UserError("--webhook must be an address that begins with http:// or https:// and names a host")


class WebhookPoster:
    """Posts the alerts of a state that were not posted yet. A context manager: it posts while it is open.

    ``report`` gets a line about what fails.
    """

    def __init__(
        self, address: str, state_file: Path, report: Callable[[str], None], first_pause: float = FIRST_PAUSE
    ) -> None:
        check_webhook(address)
        self._address, self._state_file, self._report, self._first_pause = address, state_file, report, first_pause
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._post_alerts, name="webhook", daemon=True)
        # An answer is read from the address itself; a proxy of the environment is used.
        self._opener = urllib.request.build_opener(_NoRedirects)

    def __enter__(self) -> WebhookPoster:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT_SECONDS + 1)

    def _post_alerts(self) -> None:
        while not self._stop.is_set():
            try:
                state = AlertState(self._state_file)
                try:
                    self._post_from(state)
                finally:
                    state.close()
            except WatchfloorError as error:
                self._report(f"webhook: {error}")
                self._stop.wait(LAST_PAUSE)

    def _post_from(self, state: AlertState) -> None:
        while not self._stop.is_set():
            waiting = state.next_unposted()
            if waiting is None:
                self._stop.wait(_POLL_SECONDS)
            elif self._post_until_taken(waiting[1]):
                state.mark_posted(waiting[0])

    def _post_until_taken(self, line: str) -> bool:
        """Returns true if an alert was taken, or was given up; false if the poster was closed meanwhile."""
        pause = self._first_pause
        for left in reversed(range(TRIES)):
            failure = self._post(line)
            if not failure:
                return True
            if not left:
                alert = orjson.loads(line)
                self._report(f"webhook: {failure}; the alert {alert['alert_id']} is given up after {TRIES} tries")
                return True
            self._report(f"webhook: {failure}; trying again in {pause:g} s")
            if self._stop.wait(pause):
                return False
            pause = min(pause * 2, LAST_PAUSE)
        return False

    def _post(self, line: str) -> str:
        """Posts an alert once. Returns why it was not taken; empty if it was."""
        alert = orjson.loads(line)
        body = orjson.dumps({**alert, "event": orjson.loads(alert["event"])})
        request = urllib.request.Request(
            self._address, body, {"Content-Type": "application/json", "User-Agent": "watchfloor"}, method="POST"
        )
        try:
            with self._opener.open(request, timeout=TIMEOUT_SECONDS) as answer:
                return "" if 200 <= answer.status < 300 else f"the answer is {answer.status}"
        except urllib.error.HTTPError as error:
            error.close()
            return f"the answer is {error.code}"
        except (OSError, HTTPException, ValueError) as error:
            return f"no answer: {getattr(error, 'reason', None) or error or type(error).__name__}"
