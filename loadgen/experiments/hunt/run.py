"""``bench hunt``: many rules over process events in one pass, beside the rules one by one.

events ─▶ load ─▶ rules ─▶ all in one pass, a sample of them as a query each ─▶ the same matches ─▶ figures
"""

from __future__ import annotations

import random
import statistics
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from watchfloor.loadgen.harness.cpu_usage import await_rest
from watchfloor.loadgen.harness.experiment import Experiment, add_count
from watchfloor.loadgen.harness.loads import LoadCase, load_file
from watchfloor.loadgen.harness.measurement.figure import Figure
from watchfloor.loadgen.harness.measurement.metric import Goal, GoalSize, Metric
from watchfloor.loadgen.harness.session import BenchSession, print_progress
from watchfloor.query.preparation.request import QueryRequest
from watchfloor.query.rules.hunt import Hunt
from watchfloor.query.rules.packing import RulePack, pack_rules
from watchfloor.query.service import QueryService
from watchfloor.query.texts.event_ids import ID_COLUMN
from watchfloor.schema.errors import RuleError, UserError
from watchfloor.schema.filter.json_form import to_json
from watchfloor.schema.filter.sigma.convert import ConvertedRule, convert_rule
from watchfloor.schema.filter.sigma.rule_file import ParsedRule, parse_rules, read_rules
from watchfloor.schema.source import Source
from watchfloor.store.admin.tables import compact_source

from .events import SOURCE, write_process_events
from .rules import make_rules

PASS = Metric(
    "hunt_seconds", "s", "from the start of a hunt with all rules to its last match", title="hunt with all rules"
)
ONE = Metric(
    "rule_seconds",
    "s",
    "**mean** of the rules of a sample, each as a query of its own: from the query to its last event",
    "mean",
    title="one rule as a query",
)
RATIO = Metric(
    "one_by_one_to_hunt",
    "",
    "rules x mean `rule_seconds` / median `hunt_seconds`; samples: hunt by hunt",
    better="higher",
    title="rules one by one / in one pass, ratio of times",
)
RATE = Metric("hunt_verdicts_per_second", "verdicts/s", "rules x events / `hunt_seconds`", title="verdicts of a hunt")
ESTIMATE = Metric(
    "estimate_to_hunt",
    "",
    "seconds that the hunt says before it begins / median `hunt_seconds`; samples: hunt by hunt",
    title="time of a hunt that was expected / taken, ratio",
)
SAME = Metric(
    "same_answers",
    "",
    "rules of the sample for which the hunt found the events that their queries found / all of the sample",
    better="higher",
    exact=True,
    title="same answers (1 is all)",
)
METRICS = (PASS, ONE, RATIO, RATE, ESTIMATE, SAME)
_RULES, _EVENTS = 1_000, 1_000_000
"""The numbers of rules and events from which on the goal applies."""
_LEAST_RATIO = 10


@dataclass
class _Samples:
    """The seconds of hunts and of single rules, the expected seconds, and for each sampled rule whether all is same."""

    hunts: list[float] = field(default_factory=list)
    rules: list[float] = field(default_factory=list)
    expected: float = 0.0
    same: list[bool] = field(default_factory=list)


def add_options(parser: ArgumentParser) -> None:
    add_count(parser, "--events", _EVENTS, "process events")
    add_count(parser, "--count", _RULES, "rules to make")
    parser.add_argument("--rules", metavar="DIR", help="Sigma rules to take instead, of those that can be run")
    add_count(parser, "--sample", 30, "rules that are run one by one")
    add_count(parser, "--repeats", 3, "hunts")


def run(session: BenchSession, options: Namespace) -> list[Figure]:
    path = session.folder / "process.json"
    file = write_process_events(path, options.events, options.seed)
    print_progress(f"{file.events:,} events generated, {file.bytes / 1e6:,.0f} MB")
    source = session.create_source(SOURCE)
    load_file(session, source, file, LoadCase("block", file="whole", workers=1))
    compact_source(session.store.connection, source)
    path.unlink()
    rules = list(_convert_rules(options, source))
    if not rules:
        raise UserError(f"no rule of {options.rules} can be run over {SOURCE}")
    (pack,) = pack_rules(rules)
    print_progress(f"{len(pack.rules):,} rules")
    await_rest(session.settings)
    samples = _Samples()
    service = QueryService(session.store)
    found: dict[str, list[str]] = {}
    for turn in range(-1, options.repeats):
        hunt = Hunt(service, [pack])
        samples.expected = hunt.estimate_cost().seconds
        found = _list_matches(hunt)
        if turn >= 0:
            samples.hunts.append(hunt.seconds)
        print_progress(f"hunt {turn + 1} of {options.repeats}: {hunt.seconds:.1f} s")
    _ask_one_by_one(service, rules, options, found, samples)
    return list(_make_figures(samples, pack, file.events))


def _convert_rules(options: Namespace, source: Source) -> Iterator[ConvertedRule]:
    """Yields the rules that can be run, as filters of ``source``."""
    known = {SOURCE: replace(source, name=SOURCE)}
    if options.rules:
        entries = read_rules([options.rules])
    else:
        texts = enumerate(make_rules(options.count, options.seed))
        entries = (entry for number, text in texts for entry in parse_rules(text, f"rule {number}"))
    for entry in entries:
        if isinstance(entry, ParsedRule):
            try:
                rule = convert_rule(entry, known)
            except RuleError:
                continue
            yield replace(rule, filters=tuple(replace(one, source=source) for one in rule.filters))


def _list_matches(hunt: Hunt) -> dict[str, list[str]]:
    """Returns the IDs of the events that each rule matches, by the ID of the rule."""
    found: dict[str, list[str]] = {}
    for batch in hunt:
        if len(batch):
            found.setdefault(batch.column("id")[0].as_py(), []).extend(batch.column("event_id").to_pylist())
    return found


def _ask_one_by_one(
    service: QueryService,
    rules: Sequence[ConvertedRule],
    options: Namespace,
    found: dict[str, list[str]],
    samples: _Samples,
) -> None:
    """Asks for what each rule of a sample matches by a query, after one that warms up, and compares the events."""
    chosen = random.Random(options.seed).sample(rules, min(options.sample, len(rules)))
    for rule in (chosen[0], *chosen):
        (one,) = rule.filters
        request = QueryRequest(one.source.name, where=None if one.tree is None else to_json(one.tree), ids=True)
        started = time.perf_counter()
        ids = [name for batch in service.run(request) for name in batch.column(ID_COLUMN).to_pylist()]
        samples.rules.append(time.perf_counter() - started)
        samples.same.append(sorted(ids) == sorted(found.get(rule.info.id, [])))
    del samples.rules[0], samples.same[0]


def _make_figures(samples: _Samples, pack: RulePack, events: int) -> Iterator[Figure]:
    many = len(pack.rules)
    labels = {"rules": f"{many:,}", "events": f"{events:,}"}
    alone = many * sum(samples.rules) / len(samples.rules)
    size = GoalSize(min(events, events * many / _RULES), _EVENTS, "events with as many rules")
    middle = statistics.median(samples.hunts)
    yield Figure(PASS, tuple(samples.hunts), labels)
    yield Figure(ONE, tuple(samples.rules), labels)
    yield Figure(
        RATIO,
        tuple(alone / each for each in samples.hunts),
        labels,
        Goal(_LEAST_RATIO, at_most=False, size=size),
        derived=alone / middle,
    )
    yield Figure(RATE, tuple(many * events / each for each in samples.hunts), labels)
    yield Figure(
        ESTIMATE, tuple(samples.expected / each for each in samples.hunts), labels, derived=samples.expected / middle
    )
    yield Figure(
        SAME, (sum(samples.same) / len(samples.same),), {"sampled": f"{len(samples.same)}"}, Goal(1, at_most=False)
    )


EXPERIMENT = Experiment(
    name="hunt",
    summary="many Sigma rules over process events in one pass, beside the rules one by one",
    metrics=METRICS,
    quick_options=("--events", "50000", "--count", "200", "--sample", "5", "--repeats", "1"),
    quick_seconds=30,
    add_options=add_options,
    run=run,
    tserver_heap="3g",
)
