/** How a query is run, in plain words: the plan before, and the batches with their times after it. */

import { fill, h } from "../shared/dom.js";
import { formatCount, formatNumber, formatSeconds, formatShare } from "../shared/texts.js";
import { formatTime } from "../shared/times.js";
import { preferences } from "../shell/preferences.js";

const SCHEMES = {
  scan: "All events of the time range are read on the tablet servers, in one go, and filtered there.",
  "batched-scan": "Events are read and filtered on the tablet servers, the newest part of the range first.",
  index: "The index tells where the events are, in one go; only these places are read.",
  "batched-index": "The index tells where the events are; these places are read, the newest part of the range first.",
};

/** @param {{explain: () => Promise<object>}} options */
export function createPlanView({ explain }) {
  const plan = h("div", {});
  const run = h("div", {});
  const element = h("section", { class: "plan-view", tabindex: "0", role: "region", "aria-label": "Plan" }, plan, run);

  async function show() {
    fill(plan, h("p", { class: "hint" }, "asking for the plan …"));
    try {
      const answer = await explain();
      const plans = answer.plan ? [["", answer.plan]] : Object.entries(answer.sources ?? {});
      fill(
        plan,
        plans.map(([name, plan]) => describePlan(name, plan)),
        describeOthers(answer),
        h("details", {}, h("summary", {}, "The plan as the command line shows it"), h("pre", {}, answer.text)),
      );
    } catch (error) {
      fill(plan, h("p", { class: "form-error" }, error.message));
    }
  }

  /** Shows how the last run went; null while there is none. */
  const showRun = (summary) => fill(run, summary && describeRun(summary));

  return { element, show, showRun };
}

function describePlan(name, plan) {
  return h(
    "article",
    {},
    name && h("h3", {}, name),
    h("p", { class: "lead" }, SCHEMES[plan.scheme] ?? plan.scheme),
    plan.because && h("p", {}, `Why: ${plan.because}.`),
    plan.expected && h("p", {}, describeExpected(plan)),
    plan.residual && h("p", {}, "Each event that is read is checked by ", h("code", {}, plan.residual)),
    (plan.notes ?? []).map((note) => h("p", { class: "hint" }, note)),
    describeTerms("Read from the index", plan.access?.terms),
    describeTerms("Not worth reading from the index", plan.left_out),
    describeWeighed(plan.weighed),
  );
}

function describeExpected({ expected, events }) {
  if (expected.matches === 0) return "The counts say that nothing matches.";
  const matches = `${formatNumber(Math.round(expected.matches), "event")}${expected.certain ? "" : " or fewer"}`;
  const [first, end] = [expected.first_page_seconds, expected.end_seconds].map(formatSeconds);
  const when = `the first page is expected after ${first}, the end after ${end}`;
  return `About ${matches} of ${formatCount(events)} match; ${when}.`;
}

function describeTerms(title, terms) {
  if (!terms?.length) return null;
  const rows = terms.map((term) => [
    h("code", {}, term.condition),
    term.count === null ? "–" : formatCount(term.count),
    term.density === null ? "–" : formatShare(term.density),
  ]);
  return makeTable(title, ["Condition", "Events", "Share"], rows);
}

function describeWeighed(weighed) {
  if (!weighed || weighed.length < 2) return null;
  const rows = weighed.map((way) => [
    way.taken ? h("strong", {}, `${way.rule} (taken)`) : way.rule,
    formatCount(Math.round(way.places ?? 0)),
    formatSeconds(way.first_page_seconds),
    formatSeconds(way.end_seconds),
  ]);
  return makeTable("The ways that were weighed", ["Way", "Places", "First page", "End"], rows);
}

function describeOthers(answer) {
  const left = Object.entries(answer.left_out ?? {});
  return [
    answer.settled?.length ? h("p", {}, `Nothing can match in ${answer.settled.join(", ")}; not read.`) : null,
    answer.not_reached?.length
      ? h("p", {}, `The query ended before it came to ${answer.not_reached.join(", ")}.`)
      : null,
    left.length ? makeTable("Sources left out", ["Source", "Reason"], left) : null,
  ];
}

/** Describes how the last run of the query went, batch by batch. */
function describeRun(summary) {
  const rows = (summary.query_batches ?? []).map((batch) => [
    `${formatTime(batch.since, preferences.get().zone)} – ${formatTime(batch.until, preferences.get().zone)}`,
    formatCount(batch.rows),
    formatSeconds(batch.seconds),
  ]);
  const [first, all] = [summary.first_seconds, summary.seconds].map(formatSeconds);
  const batches = formatNumber(summary.batches ?? rows.length, "batch", "batches");
  return h(
    "article",
    {},
    h("h3", {}, "The last run"),
    h("p", {}, `${formatNumber(summary.rows, "row")} in ${all}, the first after ${first}, in ${batches}.`),
    rows.length > 0 && makeTable("Batches", ["Range", "Rows", "Time"], rows),
  );
}

function makeTable(title, columns, rows) {
  return h(
    "table",
    { class: "plain" },
    h("caption", {}, title),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        columns.map((column) => h("th", { scope: "col" }, column)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          row.map((cell) => h("td", {}, cell)),
        ),
      ),
    ),
  );
}
