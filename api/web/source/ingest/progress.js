/** How ingest goes, for operators: the lag, the rates, and the work items. */

import { get } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { formatBytes, formatCount, formatNumber, formatValue } from "../shared/texts.js";
import { formatMicros, toMicros } from "../shared/times.js";
import { preferences } from "../shell/preferences.js";
import { makeTable } from "../shell/table.js";

const COLUMNS = ["State", "File", "#Bytes", "Source", "#Events", "#Quarantined", "Changed", "By", "Reason"];
const SPANS = { 60: "last minute", 600: "last 10 minutes", 3600: "last hour" };

const MOST_ITEMS = 50;

export function createProgress() {
  let state = "";
  const tiles = h("div", { class: "tiles" });
  const items = h("div", {});
  const choice = h("select", { id: "state", onchange: () => ((state = choice.value), readItems()) });
  const element = h(
    "section",
    { "aria-label": "Work items" },
    h("h2", {}, "Work items"),
    h("p", { class: "buttons" }, h("label", { for: "state" }, "State"), choice),
    items,
  );

  async function read() {
    const summary = await get("/ingest");
    if (!choice.options.length) {
      const option = (value, text) => h("option", { value }, text);
      fill(
        choice,
        option("", "all"),
        Object.keys(summary.states).map((name) => option(name, name)),
      );
    }
    fill(tiles, makeLag(summary.lag), summary.rates.map(makeRate), Object.entries(summary.states).map(makeState));
    await readItems();
  }

  async function readItems() {
    const { items: found } = await get("/ingest/items", { state, limit: MOST_ITEMS });
    const rows = found.map(makeRow);
    fill(items, rows.length ? makeTable("Last items", COLUMNS, rows) : h("p", { class: "hint" }, "no items"));
  }

  return { tiles, element, read };
}

function makeTile(title, value, more) {
  return h("div", { class: "tile" }, h("span", {}, title), h("strong", {}, value), h("small", {}, more));
}

function makeLag(lag) {
  const since = lag.waiting_since ? `waiting since ${showTime(lag.waiting_since)}` : "nothing waits";
  return makeTile(
    "Lag",
    lag.items ? formatBytes(lag.bytes) : "none",
    lag.items ? `${formatNumber(lag.items, "item")}, ${since}` : since,
  );
}

function makeRate(rate) {
  const bytes = `${formatBytes(rate.bytes_per_second)}/s, ${formatNumber(rate.items, "item")}`;
  return makeTile(
    SPANS[rate.seconds] ?? `last ${rate.seconds} s`,
    `${formatCount(Math.round(rate.events_per_second))} events/s`,
    bytes,
  );
}

function makeState([name, totals]) {
  const quarantined = totals.quarantined ? `, ${formatNumber(totals.quarantined, "line")} quarantined` : "";
  return makeTile(name, formatNumber(totals.items, "item"), `${formatNumber(totals.events, "event")}${quarantined}`);
}

function makeRow(item) {
  const bytes = item.end === null ? "–" : formatBytes(item.end - item.start);
  return h(
    "tr",
    {},
    h("td", {}, h("span", { class: `state ${item.state}` }, item.state)),
    h("td", { class: "mono", title: item.file }, shorten(item.file)),
    h("td", { class: "number" }, bytes),
    h("td", {}, item.feed ?? "–"),
    h("td", { class: "number" }, formatCount(item.events)),
    h("td", { class: "number" }, formatCount(item.quarantined)),
    h("td", { class: "mono" }, showTime(item.at)),
    h("td", { class: "mono" }, formatValue(item.by)),
    h("td", {}, formatValue(item.reason)),
  );
}

const showTime = (iso) => formatMicros(toMicros(iso), preferences.get().zone);

/** Returns a path with its end whole, for that tells files apart. */
export function shorten(path) {
  const text = formatValue(path);
  return text.length > 48 ? `…${text.slice(-47)}` : text;
}
