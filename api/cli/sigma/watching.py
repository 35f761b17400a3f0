"""Runs ``watchfloor sigma watch``: looks for new events again and again, and brings alerts into the store."""

from __future__ import annotations

import threading
from argparse import Namespace
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from watchfloor.api.cli.terminal.context import open_store, print_message, read_settings
from watchfloor.api.cli.terminal.signals import stop_on_signals
from watchfloor.api.requests import parse_time_range
from watchfloor.ingest.intake.load import Load
from watchfloor.ingest.worker.pool import WorkerPool
from watchfloor.query.rules.alerts.alert import ALERTS_SOURCE
from watchfloor.query.rules.alerts.alert_state import AlertState
from watchfloor.query.rules.alerts.detect import Detector, WatchedRules
from watchfloor.query.rules.alerts.webhook import WebhookPoster, check_webhook
from watchfloor.query.service import QueryService
from watchfloor.schema.errors import OperatorError, UserError
from watchfloor.schema.filter.sigma.correlations.rule_set import convert_rules
from watchfloor.schema.filter.sigma.rule_file import RuleEntry, read_rules
from watchfloor.schema.settings.settings import Settings
from watchfloor.schema.source import Source
from watchfloor.schema.text import format_number
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.runtime.private_files import make_private_folder, write_private

from .hunting import choose_runnable

POLL_SECONDS = 10.0
"""The pause between two looks."""
MAX_FILE_ALERTS = 10_000


def watch_rules(args: Namespace) -> None:
    """Watches until it is stopped."""
    settings = read_settings(args)
    since, _ = parse_time_range(args.since, None)
    if args.webhook is not None:
        check_webhook(args.webhook)
    entries = list(read_rules(args.rules))
    folder = settings.home / "sigma" / args.name
    busy = UserError(f"another watch named {args.name} runs here; stop it, or choose another --name")
    with ExitStack() as stack, stop_on_signals() as stop:
        stack.enter_context(hold_file_lock(folder / "lock", busy))
        state = AlertState(folder / "state.db")
        stack.callback(state.close)
        if args.webhook is None:
            state.skip_posts()
        else:
            stack.enter_context(WebhookPoster(args.webhook, folder / "state.db", print_message))
        pool = stack.enter_context(WorkerPool(settings, 1, settings.home / "log" / "sigma.log"))
        _AlertWatch(settings, entries, state, pool, folder).run(since, stop)


class _AlertWatch:
    """A running watch."""

    def __init__(
        self, settings: Settings, entries: list[RuleEntry], state: AlertState, pool: WorkerPool, folder: Path
    ) -> None:
        self._settings, self._entries, self._state, self._pool = settings, entries, state, pool
        self._folder = folder
        self._known: dict[str, Source] | None = None
        self._rules: WatchedRules | None = None

    def run(self, since: int | None, stop: threading.Event) -> None:
        """Watches until ``stop`` is set. A server that is down is waited for."""
        while not stop.is_set():
            try:
                with open_store(self._settings) as store:
                    service = QueryService(store)
                    while not stop.is_set():
                        self._find_alerts(store.catalog.read_sources(), service, since)
                        self._load_alerts(stop)
                        stop.wait(POLL_SECONDS)
            except OperatorError as error:
                print_message(f"{error}; trying again")
                stop.wait(POLL_SECONDS)

    def _find_alerts(self, sources: Mapping[str, Source], service: QueryService, since: int | None) -> None:
        known = dict(sources)
        known.pop(ALERTS_SOURCE, None)  # it changes with the first alert, and no rule is about it
        is_new = known != self._known
        if is_new:
            self._rules = self._read_rules(known)
        assert self._rules is not None
        detector = Detector(service, self._state, self._rules, print_message)
        if is_new:
            detector.begin_watch(since)
            self._known = known
            print_message(
                f"watching {format_number(len(self._rules.watched), 'source')} with "
                f"{format_number(len(self._rules.rules) + len(self._rules.correlations), 'rule')}"
            )
        added = detector.find_alerts()
        if added:
            print_message(f"{format_number(added, 'new alert')}")

    def _read_rules(self, known: dict[str, Source]) -> WatchedRules:
        """Returns the rules that have sources in the store; other rules wait for theirs."""
        rules = convert_rules(self._entries, known)
        _, correlations, failed = choose_runnable(rules, known)
        if failed and self._known is None:
            print_message(
                f"{len(failed):,} of {format_number(len(rules.outcomes), 'rule')} cannot be run, or wait for events of "
                f"their sources; `sigma check --failed` tells why"
            )
        return WatchedRules(rules.rules, correlations, known)

    def _load_alerts(self, stop: threading.Event) -> None:
        """Brings the alerts that are not in the store yet into it, as files of lines."""
        while not stop.is_set() and (waiting := self._state.next_file(MAX_FILE_ALERTS)) is not None:
            number, lines = waiting
            path = self._folder / "alerts" / f"{number:08}.ndjson"
            text = "".join(f"{line}\n" for line in lines)
            if not path.exists() or path.read_text("utf-8") != text:
                make_private_folder(path.parent)
                write_private(path, text)
            load = Load(self._settings, [path], ALERTS_SOURCE, workers=0)
            for progress in load:
                self._pool.restart_dead()
                if progress.problem:
                    print_message(progress.problem)
                if stop.is_set():
                    return
            if load.result.clean:
                self._state.mark_loaded(number)
            else:
                print_message(f"{path} was not loaded; trying again")
                return
