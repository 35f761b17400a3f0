"""Nobody but its owner can open anything in a stack's folder, whatever the umask of who starts it.

In `make test`: it looks at the shared stack, which `conftest.py` starts with a umask that closes nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from ingest_support import log_file, own, source

from watchfloor.ingest.intake.load import Load
from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.admin.tables import SOURCES_TABLE
from watchfloor.store.bridge.requests import EntryScan
from watchfloor.store.encoding.keys import event_table
from watchfloor.store.encoding.ranges import Ranges
from watchfloor.store.runtime.file_lock import hold_file_lock
from watchfloor.store.runtime.private_files import make_private_folder, open_private
from watchfloor.store.stack.home.home_folder import close_home, make_folders, make_secrets
from watchfloor.store.stack.home.stack_state import StackState, save_state
from watchfloor.store.store import Store

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")


@contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def open_entries(home: Path) -> dict[str, str]:
    """Every file and folder of a stack that others may read, write or enter, with its mode."""
    found = {}
    for path in (home, *home.rglob("*")):
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        if not stat.S_ISLNK(mode) and mode & 0o077:
            found[str(path)] = stat.filemode(mode)
    return found


def try_to_open(paths: list[Path]) -> list[Path]:
    """Returns those of the paths that another user of the machine can open or list."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        for n, path in enumerate(paths):
            try:
                os.close(os.open(path, os.O_RDONLY))
                os.write(write, b"%d\n" % n)
            except OSError:
                pass
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        opened = [paths[int(line)] for line in answers]
    os.waitpid(child, 0)
    return opened


@pytest.mark.stack
@pytest.mark.parametrize("mask", [0o000, 0o022])
@pytest.mark.parametrize("mode", ["live", "bulk"])
def test_what_servers_and_workers_write_is_closed(
    store_settings: Settings, tmp_path: Path, mask: int, mode: str
) -> None:
    settings, kind = replace(own(store_settings, "closed"), ingest_mode=mode), source(f"closed{mask}{mode}")
    with Store.open(store_settings) as store:
        store.catalog.register(kind)
        with umask(mask):
            load = Load(settings, [log_file(tmp_path / "a.log", 500)], kind.name, workers=1)
            for _ in load:
                pass
        assert load.result.events == 500
        store.connection.client.tableOperations().flush(event_table(kind), None, None, True)
    assert list((settings.home / "data/accumulo/tables").rglob("*.rf"))
    assert open_entries(settings.home) == {}


@needs_root
@pytest.mark.stack
def test_another_user_opens_nothing_of_a_running_stack(store_settings: Settings) -> None:
    every = [store_settings.home, *store_settings.home.rglob("*")]
    assert len(every) > 50
    assert try_to_open([Path("/")]) == [Path("/")]
    assert try_to_open(every) == []


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_new_stack_is_closed_from_its_first_file_on(tmp_path: Path, mask: int) -> None:
    settings = Settings(home=tmp_path / "home")
    with umask(mask):
        make_folders(settings)
        make_secrets(settings)
        save_state(settings, StackState())
        open_private(settings.home / "log/worker.log", "ab").close()
        make_private_folder(settings.home / "sigma/default")
        with hold_file_lock(settings.home / "retry.lock", StackError("busy")):
            assert open_entries(settings.home) == {}


def test_the_folder_of_an_older_version_is_mended(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "home")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch(mode=0o644)
    make_folders(settings)
    for path in (settings.home, settings.home / "data", settings.home / "log"):
        path.chmod(0o755)
    (settings.home / "log/old.log").touch(mode=0o644)
    (settings.home / "log/link").symlink_to(elsewhere)
    assert close_home(settings) == 4
    assert open_entries(settings.home) == {}
    assert close_home(settings) == 0
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o644


def test_a_link_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / "real")
    with pytest.raises(StackError, match=rf"{tmp_path}/home is a symbolic link: name .*{tmp_path}/real"):
        make_folders(Settings(home=tmp_path / "home"))
    assert list((tmp_path / "real").iterdir()) == []


@needs_root
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    os.chown(tmp_path / "home", NOBODY, NOBODY)
    with pytest.raises(StackError, match=f"{tmp_path}/home belongs to user {NOBODY}: run this as that user"):
        make_folders(Settings(home=tmp_path / "home"))


@pytest.mark.stack
def test_logs_of_servers_have_no_values_that_were_asked_for(query_store: Store) -> None:
    secret = "asked-for-in-confidence"
    ranges = Ranges()
    ranges.add_row(secret.encode())
    assert not list(query_store.scan(EntryScan(SOURCES_TABLE, ranges)))
    logs = list((query_store.settings.home / "log").glob("tserver*.log"))
    assert logs and not any(secret in log.read_text(errors="replace") for log in logs)
