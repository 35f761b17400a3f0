"""Warms a service up by questions such as people ask, before it says that it is ready and then beside its requests.

In the first queries after a start the JVMs of the service and of the servers load and compile code, connections are
opened, tablets are located, and the catalog and the first blocks are read.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial

import orjson
from flask import Flask

from watchfloor.api.rest.base.context import QueryServices
from watchfloor.schema.errors import OperatorError, WatchfloorError
from watchfloor.schema.source import Source
from watchfloor.schema.visibility.grant import EVERYTHING
from watchfloor.store.bridge.threads import JavaThreadPool, start_thread

from .questions import Event, WarmUpQuestion, ask_newest, list_questions

WARM_UP_SECONDS = 3.0
"""The longest time that a start waits for it."""
LATER_SECONDS = 30.0
"""The longest time for which it goes on afterwards."""
PAUSE_SECONDS = 0.02
"""Seconds between two questions, and between two looks at whether requests run, while it goes on."""
FIRST_PAUSE_SECONDS = 2.0
"""Seconds until it goes on: requests often come at once after a start."""
QUESTION_SECONDS = 1.0
"""The deadline of a question: it is to warm up what answers, not to be answered."""
MANY_EVENTS = 100_000
"""Events of a source from which on a warm-up takes all of its time, and goes on afterwards."""
_AT_ONCE = 2
_MOST_SOURCES = 4
_ROUNDS = 4
"""The rounds of a warm-up where no source has many events."""
_PATIENCE, _FASTER = 5, 0.97
"""It has gone on for long enough if so many rounds were none that took this part of the time of the fastest before."""
log = logging.getLogger(__name__)


class WarmUp:
    """Asks questions of the sources that have events, round after round.

    ``app`` answers them without any token. An error ends the warm-up, and is told by the requests that meet it.
    """

    def __init__(self, app: Flask, services: QueryServices) -> None:
        self._app, self._services = app, services
        self._newest: dict[str, tuple[Source, list[Event]]] = {}
        self._round = 0
        self._has_many: bool | None = None
        """Whether a source has ``MANY_EVENTS``; None if that is not known yet."""

    def run(self, seconds: float = WARM_UP_SECONDS) -> int:
        """Asks several questions at once, for ``seconds`` at most. Returns how many were answered.

        Raises ``OperatorError`` while the store does not answer.
        """
        sources = self._services.read_sources(EVERYTHING)
        answered, until = 0, time.monotonic() + seconds
        try:
            self._find_events(sources, until)
            with JavaThreadPool(_AT_ONCE, "warm-up") as pool:
                while self._newest and time.monotonic() < until:
                    if self._round >= _ROUNDS and not self._has_many_events():
                        break
                    answers = pool.map(partial(self._ask, until=until), self._list_round())
                    answered += sum(answer is not None for answer in answers)
        except WatchfloorError as error:
            log.info("the warm-up has ended early: %s", error)
        return answered

    @contextmanager
    def go_on(self, is_quiet: Callable[[], bool], stopping: threading.Event) -> Iterator[None]:
        """Asks one question after the other beside the ``with`` block while ``is_quiet``, until they get no faster.

        It ends with the block, or once ``stopping`` is set.
        """
        left = threading.Event()

        def pause(seconds: float = PAUSE_SECONDS) -> bool:
            while not (left.wait(seconds) or stopping.is_set()):
                if is_quiet():
                    return True
            return False

        thread = start_thread(lambda: self._go_on(pause), "warm-up")
        try:
            yield
        finally:
            left.set()
            thread.join(QUESTION_SECONDS)

    def _go_on(self, pause: Callable[..., bool]) -> None:
        """Asks questions until rounds get no faster. ``pause`` returns when the next one may be asked, False to end."""
        fastest, slow, until = float("inf"), 0, time.monotonic() + LATER_SECONDS
        try:
            if not (pause(FIRST_PAUSE_SECONDS) and self._has_many_events()):
                return
            while slow < _PATIENCE:
                took = 0.0
                for question in self._list_round():
                    if not pause() or time.monotonic() >= until:
                        return
                    began = time.monotonic()
                    self._ask(question, until)
                    took += time.monotonic() - began
                slow = 0 if took < _FASTER * fastest else slow + 1
                fastest = min(fastest, took)
        except WatchfloorError as error:
            log.info("the warm-up has ended early: %s", error)

    def _has_many_events(self) -> bool:
        """Returns whether a source has ``MANY_EVENTS``, which is read once."""
        if self._has_many is None:
            service = self._services.open_service(EVERYTHING)
            self._has_many = any(service.count_events(name, None, None) >= MANY_EVENTS for name in self._newest)
        return self._has_many

    def _find_events(self, sources: Mapping[str, Source], until: float) -> None:
        """Reads the newest events of sources. All are asked for them, in half of the time until ``until``."""
        half = (time.monotonic() + until) / 2
        for source in sources.values():
            events = self._ask(ask_newest(source), half, half)
            if events and len(self._newest) < _MOST_SOURCES:
                self._newest[source.name] = source, events

    def _list_round(self) -> Iterator[WarmUpQuestion]:
        self._round += 1
        for source, events in self._newest.values():
            yield from list_questions(source, events, self._round)

    def _ask(self, question: WarmUpQuestion, until: float, seconds: float = QUESTION_SECONDS) -> list[Event] | None:
        """Returns the events or rows of an answer, or None if it is ``until`` already (by ``time.monotonic``).

        A question that the service refuses, as its source has changed, has none of them.
        Raises ``OperatorError`` if it could not answer.
        """
        if (left := until - time.monotonic()) <= 0:
            return None
        body = {**question.body, "deadline": min(left, seconds)}
        answer = self._app.test_client(use_cookies=False).post(question.path, json=body)
        if answer.status_code >= 500:
            raise OperatorError(answer.get_data(as_text=True))
        if answer.status_code != 200:
            return []
        *events, _ = map(orjson.loads, answer.get_data().splitlines())
        return events
