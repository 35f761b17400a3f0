"""Made-up figures of every experiment that has drawings of its own, and of some kinds that have none.

Metrics are those that the experiments declare, so that pictures have the titles that people see.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runs import ASKED, asking, experiment, loading, of_model

from watchfloor.loadgen.experiments.erasure.figures import POLICIES, STATES
from watchfloor.loadgen.experiments.lookups.figures import HIGHEST, LOWEST, MEAN
from watchfloor.loadgen.experiments.lookups.figures import make_published_figures as list_study_lookups
from watchfloor.loadgen.experiments.registry import load_experiment
from watchfloor.loadgen.experiments.responsiveness.figures import make_published_figures as list_paper_times
from watchfloor.loadgen.experiments.responsiveness.published import load_paper_times
from watchfloor.loadgen.experiments.ycsb.published import make_published_figures as list_study_operations
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.goal_size import size_goals
from watchfloor.loadgen.harness.measurement.measurement import Measurement
from watchfloor.loadgen.harness.measurement.metric import Goal, Metric
from watchfloor.loadgen.lookups.options import CODECS
from watchfloor.loadgen.ycsb.workloads import WORKLOADS, find_workload

SCHEMES = ("scan", "batched-scan", "index", "batched-index")
SECONDS = tuple(float(second) for second in range(20))


def declared(name: str) -> Mapping[str, Metric]:
    """Returns the metrics of an experiment by their names."""
    return {metric.name: metric for metric in load_experiment(name).metrics}


def everything() -> Iterator[Measurement]:
    """Yields all that has drawings of its own, and some that are none: with goals, with more figures than a picture."""
    yield from (loading(1), asking(1), of_batching(), of_first_result(), of_crossover(), of_blocks(), of_ingest())
    yield from (of_responsiveness(), of_peers(), of_page(), of_stats(), of_ycsb(), of_lookups(), of_erasure())
    yield from (of_continuous(), of_model())
    many = [Figure(ASKED, (1.0 + n, 2.0 + n), {"question": f"the question number {n}"}) for n in range(50)]
    yield experiment("many", many)


def of_batching() -> Measurement:
    row = declared("batching")["row_ms"]
    figures = [
        Figure(row, (scale * place, scale * place * 1.3), {"value": value, "row": number, "policy": policy})
        for value, scale in (("dense", 3.0), ("rare", 900.0))
        for place, number in enumerate(("1", "100", "1000", "last"), 1)
        for policy in ("none", "fixed", "bisect", "llcysa", "density")
    ]
    return experiment("batching", figures)


def of_erasure() -> Measurement:
    known = declared("erasure")
    figures = [
        Figure(known["erasure_lookup_ms"], (20.0 * place,), {"files": policy, "state": state, "of": MEAN})
        for policy in POLICIES
        for place, state in enumerate(STATES, 1)
    ]
    return experiment("erasure", [*figures, Figure(known["erasure_repair_seconds"], (14.0,), {})])


def of_first_result() -> Measurement:
    figures = [
        Figure(metric, (3.0 + place, 9.5), {"value": value, "scheme": scheme}, Goal(4, at_most=True))
        for metric in declared("first-result").values()
        for value in ("rare", "dense")
        for place, scheme in enumerate(("auto", *SCHEMES))
    ]
    return experiment("first-result", size_goals(figures, 50_000, 200_000, "events"))


def of_crossover() -> Measurement:
    asked = declared("crossover")["asked_ms"]
    figures = [
        Figure(asked, (2.0 + 100 * density * place,), {"where": f'left = "d{density}"', "task": task, "scheme": scheme})
        for density in (1e-5, 1e-3, 0.1, 0.5)
        for task in ("page", "end")
        for place, scheme in enumerate((*SCHEMES, "auto"), 1)
    ]
    return experiment("crossover", figures)


def of_blocks() -> Measurement:
    metrics = declared("blocks")
    figures = [
        Figure(metrics["load_megabytes_per_second"], (20.0, 31.0), {"engine": engine, "events": "10,000"})
        for engine in ("block", "cell", "duckdb", "chdb")
    ]
    figures += [
        Figure(metric, (4.0 * place, 5.0 * place), {"engine": engine, "events": "10,000", "question": question})
        for metric, questions in (
            (metrics["answer_ms"], ("newest 100, dense", "newest 100, middling", "all, rare")),
            (metrics["scan_events_per_second"], ("scan, one hit", "scan, pattern")),
        )
        for question in questions
        for place, engine in enumerate(("block", "duckdb", "chdb"), 1)
    ]
    ratio = metrics["peer_to_block"]
    figures += [
        Figure(ratio, (0.5, 0.7), {"engine": "duckdb", "what": what}, note="duckdb is ahead")
        for what in ("load", "disk", "newest row, dense")
    ]
    return experiment("blocks", figures)


def of_ingest() -> Measurement:
    """Ingest by clients in closed loop, and by a schedule."""
    metrics = declared("ingest")
    steady, over_time = metrics["steady_events_per_second"], metrics["instantaneous_events_per_second"]
    figures = []
    for clients in (1, 2, 4):
        for tservers in (1, 2):
            servers = f"{tservers} tablet server{'s' * (tservers > 1)}"
            of = {"clients": f"{clients} client{'s' * (clients > 1)}", "tservers": servers, "load": "closed loop"}
            speeds = tuple(1e4 * clients * tservers + 900 * (second % 5) for second in SECONDS)
            figures += [Figure(steady, speeds[5:], of, at=SECONDS[5:]), Figure(over_time, speeds, of, at=SECONDS)]
            figures.append(Figure(metrics["megabytes_per_second_per_client"], (31.0, 33.0), of))
            held = tuple(200.0 * (7 <= second < 9) for second in SECONDS)
            figures.append(Figure(metrics["hold_ms"], held, of, at=SECONDS))
            figures.append(Figure(metrics["silent_servers"], (0.0,) * len(SECONDS), of, at=SECONDS))
    for share in (50, 120):
        of = {"tservers": "2 tablet servers", "load": "open loop", "share": f"{share} %"}
        waited = tuple(share + second for second in SECONDS)
        figures.append(Figure(metrics["item_latency_ms"], waited, of, at=SECONDS))
        figures.append(Figure(metrics["item_latency_99th_ms"], waited, of))
    published = metrics["paper_megabytes_per_second_per_client"]
    figures.append(Figure(published, (1.1,), {"load": "the paper's"}, note="HPEC 2014"))
    return experiment("ingest", figures)


def of_responsiveness() -> Measurement:
    metrics = declared("responsiveness")
    figures = [
        Figure(
            metrics["row_ms"],
            (2.0 * place, 3.0 * place),
            {"query": query, "scheme": scheme, "layout": layout, "state": state, "row": row},
        )
        for layout in ("block", "cell")
        for query in ("A", "B", "C")
        for place, scheme in enumerate((*SCHEMES, "auto"), 1)
        for state in ("warm", "ingest")
        for row in ("1", "100", "1000", "last")
    ]
    figures += [
        Figure(metrics[name], (5.0, 8.0), {"layout": "block", "state": "idle", "load": load})
        for name in ("service_ms", "service_p99_ms", "latency_ms", "latency_p99_ms")
        for load in ("25% of the closed loop", "75% of the closed loop")
    ]
    return experiment("responsiveness", [*figures, *list_paper_times(load_paper_times(), figures)])


def of_peers() -> Measurement:
    metrics = declared("peers")
    engines = ("watchfloor", "duckdb", "chdb", "tantivy", "opensearch")
    figures = [
        Figure(metrics["row_ms"], (2.0 * place, 3.0 * place), {"question": question, "engine": engine})
        for question in ("popular, row 1", "popular, last row", "rare, row 1")
        for place, engine in enumerate(engines, 1)
    ]
    figures += [
        Figure(metrics["peer_to_watchfloor"], (ratio, ratio * 1.1), {"engine": engine, "what": what}, note=note)
        for what in ("load", "disk", "popular, row 1", "popular, last row", "rare, row 1")
        for engine, ratio in zip(engines[1:], (0.4, 0.6, 1.7, 3.0), strict=True)
        for note in (f"{engine if ratio < 1 else 'watchfloor'} is ahead",)
    ]
    return experiment("peers", figures)


def of_page() -> Measurement:
    metrics, questions = declared("page"), ("no hit", "dense", "middling, everything")
    figures = [
        Figure(metrics[name], (8.0 * place, 30.0), {"question": question, "engine": engine, "events": events}, goal)
        for events in ("5,000,000", "35,000,000")
        for place, question in enumerate(questions, 1)
        for name, engine, goal in (
            ("first_row_ms", "watchfloor", Goal(12, at_most=True)),
            ("page_ms", "watchfloor", Goal(20, at_most=True)),
            ("page_ms", "duckdb", None),
        )
    ]
    figures += [
        Figure(
            metrics["peer_to_watchfloor"],
            (ratio, ratio * 1.1),
            {"engine": "duckdb", "what": question, "events": "5,000,000"},
            note=f"{'duckdb' if ratio < 1 else 'watchfloor'} is ahead",
        )
        for question, ratio in zip(questions, (8.1, 0.4, 0.2), strict=True)
    ]
    figures.append(Figure(metrics["pages_per_second"], (60.0, 65.0), {"clients": "16 clients", "events": "5,000,000"}))
    return experiment("page", figures)


def of_stats() -> Measurement:
    metrics = declared("stats")
    questions = ("count of everything", "top domains", "timeline of a pattern", "client ports by server")
    figures = [
        Figure(metrics["answer_ms"], (9.0 * place, 12.0 * place), {"question": question, "engine": engine})
        for question in questions
        for place, engine in enumerate(("duckdb", "chdb", "watchfloor", "in process"), 1)
    ]
    figures += [
        Figure(
            metrics["watchfloor_to_peer"],
            (ratio,),
            {"question": question, "engine": engine, "ours": "watchfloor"},
            note=f"{engine if ratio > 1 else 'watchfloor'} is ahead",
        )
        for question, ratio in zip(questions, (5.1, 5.8, 0.8, 12.2), strict=True)
        for engine in ("duckdb", "chdb")
    ]
    figures.append(Figure(metrics["first_part_ms"], (32.0, 40.0), {"question": questions[1]}))
    return experiment("stats", figures)


def of_ycsb() -> Measurement:
    metrics = declared("ycsb")
    figures = [
        Figure(metrics[name], (value,), {"workload": workload, "mode": mode, "threads": threads})
        for name, value in (("ycsb_operations_per_second", 850.0), ("ycsb_mean_ms", 1.4))
        for workload in ("A", "C", "insert")
        for mode in ("buffer of 100 KB", "flushed")
        for threads in ("1 thread", "50 threads")
    ]
    figures += [
        Figure(metrics[name], (value,), {"workload": "A", "mode": mode, "threads": "1 thread", "operation": operation})
        for name, value in (("ycsb_50_percentile_ms", 1.1), ("ycsb_99_percentile_ms", 7.0))
        for mode in ("buffer of 100 KB", "flushed")
        for operation in ("read", "update")
    ]
    of = {"workload": "A", "mode": "flushed", "threads": "1 thread", "operation": "read"}
    due = metrics["ycsb_due_99_percentile_ms"]
    figures += [
        Figure(due, (9.0,), {**of, "latency": begin}) for begin in ("from when it was due", "from its beginning")
    ]
    published = list_study_operations([find_workload(name) for name in WORKLOADS], (1, 50), (100_000, 1_000_000))
    return experiment("ycsb", [*figures, *published])


def of_lookups() -> Measurement:
    """Look-ups and bulk writes by codec, with the study's."""
    metrics = declared("lookups")
    names = {LOWEST: 2, MEAN: 9, "50 % of look-ups": 7, "99 % of look-ups": 40, HIGHEST: 300}
    states = ("cold", "warm", "warm, one executor")
    figures = [
        Figure(metrics["lookup_ms"], (float(ms * place), ms * place + 5.0), {"codec": codec, "state": state, "of": of})
        for place, codec in enumerate(CODECS, 1)
        for state in states
        for of, ms in names.items()
    ]
    figures += [
        Figure(metrics["bucket_share"], (share,), {"codec": codec, "state": state, "time": time})
        for codec in CODECS
        for state in states
        for time, share in (("0 to 50 ms", 70.0), ("50 to 100 ms", 25.0), ("1 s and more", 5.0))
    ]
    for place, codec in enumerate(CODECS, 1):
        figures.append(Figure(metrics["rows_per_second_per_writer"], (9e3 * place,), {"codec": codec}))
        figures.append(Figure(metrics["bytes_per_row"], (60.0 * place,), {"codec": codec}))
    return experiment("lookups", [*figures, *list_study_lookups()])


def of_continuous() -> Measurement:
    metrics = declared("continuous")
    linked, labelled, unsplit = "linked lists", "linked lists with visibilities", "linked lists, not split beforehand"
    rates = {"plain BatchWriter loop": 228e3, linked: 227e3, labelled: 226e3, unsplit: 155e3}
    ingest = metrics["continuous_entries_per_second"]
    figures = [Figure(ingest, (rate, rate * 1.05), {"way": way}) for way, rate in rates.items()]
    figures += [Figure(ingest, (rate,), {"way": f"{linked}, beside a {walk}"}) for walk, rate in _list_walks(110e3)]
    goal = Goal(0.9, at_most=False)
    ratios = (
        (linked, "plain BatchWriter loop", 0.8, goal),
        (labelled, linked, 0.99, goal),
        (unsplit, linked, 0.68, None),
    )
    figures += [
        Figure(metrics["continuous_ingest_ratio"], (ratio,), {"way": way, "compared with": other}, goal)
        for way, other, ratio, goal in ratios
    ]
    figures = size_goals(figures, 260_000, 5_000_000, "entries")
    figures += [
        Figure(metrics[f"continuous_{name}_per_second"], (rate,), {"reader": walk, "table": table})
        for table in (linked, f"{linked}, beside ingest")
        for name, factor in (("requests", 1), ("entries_read", 1))
        for walk, rate in _list_walks(384.0 * factor)
    ]
    figures.append(Figure(metrics["continuous_verified_per_second"], (321e3,), {"table": linked}))
    return experiment("continuous", figures, settings={"tservers": 1, "shards": 4})


def _list_walks(rate: float) -> Sequence[tuple[str, float]]:
    return (("walk", rate), ("batch walk", rate * 8))
