"""A tablet server is killed in the middle of a removal: nothing that is kept is lost, and the next completes it.

In `make soak`: all tablets of the run are loaded anew.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
from expiring import KEEP, check_removed, check_shown, fill
from ingest_support import wait_for
from loaded import split_tables

from watchfloor.schema.errors import StoreError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.retention import removal
from watchfloor.store.retention.policy import set_keep
from watchfloor.store.stack.servers.process import find_process
from watchfloor.store.store import Store

pytestmark = [pytest.mark.stack, pytest.mark.crash, pytest.mark.soak, pytest.mark.timeout(600)]


@pytest.fixture
def store(store_settings: Settings) -> Iterator[Store]:
    with Store.open(store_settings) as opened:
        yield opened


@pytest.mark.parametrize("step", ["remove_expired_events", "remove_expired_rows"])
def test_the_tablet_server_is_killed_in_a_removal(
    step: str, store_settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The supervisor starts it again, and the removal goes on or says that the store did not answer."""
    source = fill(store, f"crashed{step[-4:]}", "block")
    split_tables(store, source, 20)
    known: Callable[..., Any] = getattr(removal, step)
    killed: list[int] = []

    def kill() -> None:
        server = find_process(store_settings.home / "run/tserver1.json")
        assert server is not None
        server.kill()
        killed.append(server.pid)

    def begin(*arguments: Any, **options: Any) -> Any:
        threading.Timer(0.2, kill).start()
        return known(*arguments, **options)

    monkeypatch.setattr(removal, step, begin)
    set_keep(store, source.name, KEEP)
    with suppress(StoreError):
        removal.remove_expired(store, [source], lambda seconds: None)
    wait_for(lambda: killed)
    monkeypatch.undo()
    check_shown(store, source)
    removal.remove_expired(store, [source], lambda seconds: None)
    check_removed(store, source)
