"""The memory of a stack's servers follows that of the machine, within bounds, and what is set wins.

In `make test`: it starts no servers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from watchfloor.schema.errors import StackError
from watchfloor.schema.settings.parse_setting import parse_size
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.stack.home import checks, server_sizes
from watchfloor.store.stack.home.home_folder import make_folders, make_secrets
from watchfloor.store.stack.home.server_sizes import (
    SMALL,
    apply_sizes,
    choose_caches,
    choose_sizes,
    choose_standing_workers,
    measure_machine,
)
from watchfloor.store.stack.home.stack_state import grow_state
from watchfloor.store.stack.servers.configuration import write_configuration
from watchfloor.store.stack.servers.stack_servers import make_servers

GIB = 1 << 30


@pytest.mark.parametrize(
    ("memory", "cores", "tservers", "heap", "maps"),
    [
        (1, 2, 1, "768m", "256m"),
        (4, 2, 1, "768m", "256m"),
        (8, 2, 1, "1344m", "256m"),
        (16, 4, 1, "2688m", "320m"),
        (24, 2, 1, "4096m", "512m"),
        (24, 2, 2, "2048m", "256m"),
        (64, 2, 1, "4096m", "512m"),
        (64, 16, 1, "10880m", "512m"),
        (1024, 64, 1, "16384m", "512m"),
        (1024, 64, 8, "16384m", "512m"),
    ],
)
def test_sizes_by_the_machine(memory: int, cores: int, tservers: int, heap: str, maps: str) -> None:
    sizes = choose_sizes(memory * GIB, cores, tservers)
    assert (sizes["tserver_heap"], sizes["tserver_maps"]) == (heap, maps)
    assert {name: size for name, size in sizes.items() if not name.startswith("tserver")} == {
        name: size for name, size in SMALL.items() if not name.startswith("tserver")
    }


@pytest.mark.parametrize("tservers", range(1, 9))
@pytest.mark.parametrize("cores", [1, 2, 8, 64])
def test_sizes_grow_with_memory_and_leave_most_of_it(tservers: int, cores: int) -> None:
    before = dict.fromkeys(SMALL, 0)
    for memory in range(1, 600):
        sizes = {name: parse_size(size) for name, size in choose_sizes(memory * GIB, cores, tservers).items()}
        assert all(sizes[name] >= max(before[name], parse_size(SMALL[name])) for name in SMALL)
        servers = tservers * (sizes["tserver_heap"] + sizes["tserver_maps"])
        small = tservers * (parse_size(SMALL["tserver_heap"]) + parse_size(SMALL["tserver_maps"]))
        assert servers <= max(small, memory * GIB // 4)
        before = sizes


@pytest.mark.parametrize(
    ("asked", "small", "memory", "cores", "workers"),
    [
        ("auto", False, 24, 2, 1),
        ("auto", False, 24, 1, 1),
        ("auto", False, 64, 8, 4),
        ("auto", False, 8, 16, 2),
        ("auto", False, 3, 2, 0),
        ("auto", False, 1024, 128, 16),
        ("auto", True, 64, 8, 0),
        ("0", False, 64, 8, 0),
        ("3", True, 4, 2, 3),
        ("200", False, 64, 8, 16),
    ],
)
def test_standing_workers_by_the_machine(asked: str, small: bool, memory: int, cores: int, workers: int) -> None:
    assert choose_standing_workers(Settings(standing_workers=asked), small, memory * GIB, cores) == workers


@pytest.mark.parametrize("heap", [256 << 20, 768 << 20, GIB, 3 * GIB, 16 * GIB])
def test_caches_leave_half_of_the_heap_to_scans(heap: int) -> None:
    data, index = choose_caches(heap)
    assert 0 < index < data and data + index <= heap // 2


def test_the_container_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "_CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(checks, "_OWN_GROUPS", tmp_path / "own")
    unbound = measure_machine()
    assert checks.read_container_limit() > 1 << 60 and unbound[0] > 0 and unbound[1] > 0
    unit = tmp_path / "system.slice" / "watchfloor.service"
    unit.mkdir(parents=True)
    (tmp_path / "own").write_text("12:memory:/old\n0::/system.slice/watchfloor.service\n")
    (unit / "memory.max").write_text("max\n")
    assert measure_machine()[0] == pytest.approx(unbound[0], rel=0.2)
    (unit.parent / "memory.max").write_text(f"{GIB}\n")
    (unit.parent / "memory.current").write_text(f"{GIB // 2}\n")
    assert measure_machine()[0] == GIB
    checks.check_memory(GIB // 2)
    (unit / "memory.max").write_text(f"{GIB // 4}\n")
    (unit / "memory.current").write_text("0\n")
    assert measure_machine()[0] == GIB // 4
    with pytest.raises(StackError, match="--small"):
        checks.check_memory(GIB // 2)


def test_what_is_set_wins(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, tserver_heap="300m")
    sizes = choose_sizes(24 * GIB, 2, 1)
    found = apply_sizes(settings, sizes)
    assert (found.tserver_heap, found.tserver_maps, found.gc_heap) == ("300m", "512m", "128m")
    assert apply_sizes(settings, {}).tserver_maps == SMALL["tserver_maps"]


def test_servers_get_their_sizes(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path)
    make_folders(settings)
    make_secrets(settings)
    state = replace(grow_state(None, 1), sizes=choose_sizes(24 * GIB, 2, 1))
    write_configuration(settings, state, native=tmp_path)
    lines = dict(line.split("=", 1) for line in (tmp_path / "conf/accumulo.properties").read_text().splitlines())
    assert int(lines["tserver.memory.maps.max"]) == 512 << 20
    assert int(lines["tserver.cache.data.size"]) == 4 * GIB * 2 // 5
    assert int(lines["tserver.scan.executors.default.threads"]) >= 2 * server_sizes.count_cores()
    (tserver,) = make_servers(settings, state).tservers
    assert {"-Xmx4096m", "-Xms4096m"} <= set(tserver.command)
    assert tserver.memory in (4 * GIB, 4 * GIB + (512 << 20))
