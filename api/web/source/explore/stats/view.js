/** Statistics of what the filter matches: a pipe of the stats language, its rows as a table with bars. */

import { stream } from "../../shared/api.js";
import { fill, h } from "../../shared/dom.js";
import { recall, rememberRecent } from "../../shared/memory.js";
import { describeError, formatNumber, formatSeconds, formatShare } from "../../shared/texts.js";
import { openMenu } from "../../shell/popover.js";
import { writeField } from "../filter/condition.js";
import { resolveRange, writeRequest } from "../search.js";
import { createStatsChart, findTimeColumn } from "./chart.js";
import { createStatsTable } from "./table.js";

/**
 * @param {{
 *   get: () => import("../search.js").Search,
 *   onRun: (stats: string) => void,
 *   onValue: (anchor: Element, field: string, value: any) => void,
 * }} handlers
 */
export function createStatsView({ get, onRun, onValue }) {
  let controller = null;
  let fields = [];
  const input = h("input", {
    id: "stats",
    class: "mono",
    spellcheck: "false",
    autocomplete: "off",
    "aria-describedby": "stats-error",
    placeholder: "count() by user | sort -count | limit 20",
  });
  const error = h("p", { class: "form-error", id: "stats-error", role: "alert" });
  const status = h("p", { class: "status-line", role: "status" });
  const table = createStatsTable(onValue);
  const chart = createStatsChart();
  const presets = h("button", { type: "button", "aria-haspopup": "menu", onclick: offerPresets }, "Examples");

  function submit(event) {
    event.preventDefault();
    rememberRecent("stats", input.value);
    onRun(input.value.trim());
  }

  function offerPresets() {
    const indexed = fields.find((field) => field.indexed && field.type !== "time") ?? fields[0];
    const number = fields.find((field) => ["int", "float"].includes(field.type) && !field.indexed);
    const by = indexed ? writeField(indexed.name) : "user";
    const texts = [
      `top 20 ${by}`,
      `rare 20 ${by}`,
      "timeline 1h",
      `count(), distinct(${by}) by bucket(1d) | sort bucket`,
      number &&
        `count(), sum(${writeField(number.name)}), p95(${writeField(number.name)}) by ${by} | sort -count | limit 20`,
      ...recall("stats", []).slice(0, 6),
    ].filter(Boolean);
    openMenu(
      presets,
      "Examples and recent stats",
      [...new Set(texts)].map((text) => ({ text, act: () => onRun(text) })),
    );
  }

  async function run() {
    const search = get();
    input.value = search.stats;
    controller?.abort();
    error.textContent = "";
    if (!search.stats) return clear();
    if (search.sources.length !== 1) {
      error.textContent = "Stats are of one source: choose one above.";
      return clear();
    }
    const own = (controller = new AbortController());
    status.textContent = "computing …";
    try {
      await read(
        {
          source: search.sources[0],
          ...writeRequest(search, resolveRange(search)),
          stats: search.stats,
          partial: true,
        },
        own,
      );
    } catch (problem) {
      if (problem.name === "AbortError") return;
      status.textContent = "";
      error.textContent = describeError(problem);
      clear();
    }
  }

  function clear() {
    chart.draw([]);
    table.clear();
  }

  async function read(body, own) {
    let part = -1;
    let rows = [];
    for await (const lines of stream("/stats", body, own.signal)) {
      for (const line of lines) {
        if (line.summary) return finish(line.summary);
        rows = line.part === part ? [...rows, ...line.rows] : line.rows;
        part = line.part;
        status.textContent = line.complete ? "" : `${formatShare(line.share)} of the time range so far`;
        draw(rows);
      }
    }
  }

  function draw(rows) {
    chart.draw(rows, findTimeColumn(get().stats));
    table.draw(rows);
  }

  function finish(summary) {
    if (summary.status === "failed") throw new Error(summary.problem.detail);
    const bounds = Object.keys(summary.approximate ?? {});
    const from = { counts: "from counts alone", index: "from events that the index finds", scan: "from a scan" };
    status.textContent = [
      formatNumber(summary.rows, "row"),
      summary.events === undefined ? "" : `of ${formatNumber(summary.events, "event")}`,
      `in ${formatSeconds(summary.seconds)}`,
      from[summary.from] ?? "",
      bounds.length ? `· approximate: ${bounds.join(", ")}` : "",
      summary.status === "complete" ? "" : `· ${summary.status}`,
    ]
      .filter(Boolean)
      .join(" ");
  }

  return {
    element: h(
      "section",
      { class: "stats-view", "aria-label": "Stats" },
      h(
        "form",
        { class: "stats-form", onsubmit: submit },
        h("label", { for: "stats" }, "Stats"),
        input,
        presets,
        h("button", { type: "submit", class: "primary" }, "Compute"),
      ),
      error,
      status,
      chart.element,
      table.element,
    ),
    run,
    cancel: () => controller?.abort(),
    setFields: (next) => (fields = next),
  };
}
