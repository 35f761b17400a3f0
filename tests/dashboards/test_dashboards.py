"""Every query of the dashboards, the console and the rules finds something in a Prometheus beside a stack at work.

In `make test`: it is short, on the stack of the run.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ingest_support import ledger_rows, line, own, pool, running_master, source, wait_for
from prometheus import ROOT, Prometheus, find_program, run_prometheus
from served import AnyToken, serve_app

from watchfloor.api.client import Client
from watchfloor.api.rest.app import create_app
from watchfloor.api.rest.base.limits import RestLimits
from watchfloor.api.rest.serve import StoreServices
from watchfloor.schema.settings.settings import Settings
from watchfloor.store.runtime.metrics_port import make_scrape_configuration
from watchfloor.store.store import Store

pytestmark = pytest.mark.stack
FOLDER = ROOT / "dashboards"
GRAFANA = sorted((FOLDER / "grafana").glob("*.json"))
EVENTS, BAD, FILES = 6000, 5, 3
PROCESSES = {"tserver", "manager", "gc", "worker", "master", "service"}


def read_panels(file: Path) -> list[tuple[str, str]]:
    """Returns the titles and queries of a dashboard."""
    return [
        (panel["title"], target["expr"])
        for panel in json.loads(file.read_text())["panels"]
        for target in panel["targets"]
    ]


@pytest.fixture(scope="module")
def prometheus(store_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """A Prometheus that has watched a master, a worker, Accumulo and the service at work for some seconds."""
    find_program("prometheus")
    folder, logs = tmp_path_factory.mktemp("prometheus"), tmp_path_factory.mktemp("logs")
    settings, ours = own(store_settings, "dashboards"), source("dashboards")
    (folder / "token").write_text("operator")
    services = StoreServices(settings)
    app = create_app(services, AnyToken(), RestLimits(), settings)
    try:
        with serve_app(app, RestLimits()) as port, Store.open(settings) as store:
            store.catalog.register(ours)
            configuration = {
                "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                "rule_files": [str(FOLDER / "rules.yml")],
                **make_scrape_configuration(replace(settings, port=port), folder / "token"),
            }
            with (
                running_master(settings, logs, ours.name, settle=0.1),
                pool(settings),
                run_prometheus(folder, configuration, FOLDER / "consoles") as server,
            ):
                wait_for(lambda: {s["metric"]["process"] for s in server.query("up == 1")} >= PROCESSES, 60)
                work(store, logs, ours.name, Client(f"http://127.0.0.1:{port}", "a-token"))
                wait_for(lambda: server.value("sum(watchfloor_ingest_events_total)") == EVENTS, 30)
                wait_for(lambda: (server.value("sum(rate(watchfloor_queries_total[5m]))") or 0) > 0, 30)
                yield server
    finally:
        services.close()


def work(store: Store, logs: Path, name: str, client: Client) -> None:
    """Ingests files one after the other, while queries of each kind run."""
    for number in range(FILES):
        lines = [line(i, f"{number}-") for i in range(EVENTS // FILES)] + ["{"] * BAD
        path = logs / f"{number}.log"
        path.write_text("\n".join(lines) + "\n")
        wait_for(lambda p=path: bool(rows := ledger_rows(store, p)) and all(r.state == "done" for r in rows), 120)  # type: ignore[misc]
        for _ in range(3):
            assert list(client.query(name, where="n = 1", limit=50))
            assert list(client.stats(name, "count() by host"))
            client.count(name)
            time.sleep(1.1)


def test_every_process_is_found_and_counts_right(prometheus: Prometheus) -> None:
    assert prometheus.value("sum(watchfloor_ingest_events_total)") == EVENTS
    assert prometheus.value("sum(watchfloor_ingest_quarantined_lines_total)") == FILES * BAD
    assert prometheus.value('watchfloor_master_files_total{outcome="queued"}') == FILES
    assert prometheus.value("watchfloor_store_up") == 1
    assert prometheus.value('sum(watchfloor_queries_total{kind="query"})') == 3 * FILES
    assert prometheus.value("sum(accumulo_tserver_tablets_online)") > 0  # type: ignore[operator]


def test_no_dashboard_is_forgotten() -> None:
    assert [file.stem for file in GRAFANA] == ["watchfloor-ingest", "watchfloor-queries", "watchfloor-store"]
    for file in GRAFANA:
        dashboard = json.loads(file.read_text())
        assert dashboard["uid"] == file.stem and dashboard["templating"]["list"][0]["type"] == "datasource"


@pytest.mark.parametrize(
    ("title", "query"), [panel for file in GRAFANA for panel in read_panels(file)], ids=lambda text: text[:60]
)
def test_every_query_of_a_dashboard_finds_something(prometheus: Prometheus, title: str, query: str) -> None:
    samples = prometheus.query(query)
    assert samples, f"{title}: {query}"
    # So few events may be found without a look into the block cache: the share of hits is then that of none.
    is_number = any(sample["value"][1] != "NaN" for sample in samples)
    assert is_number or "blockcache" in query, f"{title}: {query}"


def test_the_rules_are_evaluated_and_none_fires(prometheus: Prometheus) -> None:
    groups = json.loads(prometheus.get("/api/v1/rules"))["data"]["groups"]
    rules: list[dict[str, Any]] = [rule for group in groups for rule in group["rules"]]
    assert len(rules) == (FOLDER / "rules.yml").read_text().count("- alert:")
    assert {rule["name"]: rule["health"] for rule in rules} == {rule["name"]: "ok" for rule in rules}
    assert [rule["name"] for rule in rules if rule["state"] == "firing"] == []


def test_the_names_in_rules_exist(prometheus: Prometheus) -> None:
    known = set(json.loads(prometheus.get("/api/v1/label/__name__/values"))["data"])
    used = set(
        re.findall(r"\b(?:watchfloor|accumulo)_[a-z_]+", re.sub(r"remedy: .*", "", (FOLDER / "rules.yml").read_text()))
    )
    assert used - known <= {"watchfloor_server_restarts_total"}, "a server that never restarted has no count"


def test_the_console_shows_figures(prometheus: Prometheus) -> None:
    page = prometheus.get("/consoles/watchfloor.html")
    for process in PROCESSES:
        assert f"<td>{process}</td>" in page
    figures = dict(re.findall(r"<tr><td>([^<]+)</td><td class=\"n\">([^<]*)</td>", page))
    assert len(figures) == 13 and "–" not in figures.values()
    assert figures["work items that wait"] == "0" and "down</td>" not in page
