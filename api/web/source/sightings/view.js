/** Sightings: one box; where a value occurs, how often and when. Each place leads into Explore. */

import { get } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { recall, rememberRecent } from "../shared/memory.js";
import { describeError, formatCount, formatNumber } from "../shared/texts.js";
import { describeRange, formatMicros, toMicros } from "../shared/times.js";
import { createTimePicker } from "../explore/time/picker.js";
import { writeEquality, writeField, writeValue } from "../explore/filter/condition.js";
import { EMPTY, resolveRange, toAddress } from "../explore/search.js";
import { openMenu } from "../shell/popover.js";
import { makeTable } from "../shell/table.js";
import { preferences } from "../shell/preferences.js";
import { drawSparkline } from "./sparkline.js";

const KINDS = [
  "ip",
  "port",
  "domain",
  "url",
  "user",
  "hash",
  "mac",
  "email",
  "file",
  "process",
  "host",
  "asn",
  "country",
  "user_agent",
];

export function createSightings() {
  let asked = { value: "", kind: "", since: "", until: "" };
  let controller = null;
  const input = h("input", {
    id: "value",
    class: "mono",
    spellcheck: "false",
    autocomplete: "off",
    placeholder: "10.1.2.3, 10.1.0.0/16, user, *.example.com, hash …",
  });
  const kind = h(
    "select",
    { id: "kind" },
    h("option", { value: "" }, "any kind"),
    KINDS.map((name) => h("option", { value: name }, name)),
  );
  const time = createTimePicker({ get: () => asked, choose: (since, until) => go({ since, until }) });
  const recent = h("button", { type: "button", "aria-haspopup": "menu", onclick: offerRecent }, "Recent");
  const status = h("p", { class: "status-line", role: "status" });
  const results = h("div", { class: "sightings-results" });
  const element = h(
    "main",
    { class: "sightings" },
    h("h1", {}, "Sightings"),
    h("p", { class: "hint" }, "Where a value occurs, in all sources, from their indexes alone."),
    h(
      "form",
      { class: "sightings-form", onsubmit: submit },
      h("label", { for: "value", class: "hidden" }, "Value"),
      input,
      h("label", { for: "kind", class: "hidden" }, "Kind"),
      kind,
      time.element,
      recent,
      h("button", { type: "submit", class: "primary" }, "Find"),
    ),
    status,
    results,
  );

  function submit(event) {
    event.preventDefault();
    go({ value: input.value.trim(), kind: kind.value });
  }

  function go(changes) {
    const next = { ...asked, ...changes };
    const given = Object.entries(next).filter(([, value]) => value);
    const address = `#/sightings?${new URLSearchParams(given)}`;
    if (location.hash === address) find();
    else location.hash = address;
  }

  function offerRecent() {
    const values = recall("sightings", []);
    openMenu(
      recent,
      "Values that were looked for",
      values.length
        ? values.slice(0, 20).map((value) => ({ text: value, act: () => go({ value, kind: "" }) }))
        : [{ text: "none yet", act: () => {} }],
    );
  }

  async function find() {
    controller?.abort();
    if (!asked.value) {
      status.textContent = "";
      return fill(results);
    }
    const own = (controller = new AbortController());
    rememberRecent("sightings", asked.value);
    status.textContent = "looking …";
    try {
      const answer = await get("/find", { value: asked.value, kind: asked.kind, ...resolveRange(asked) }, own.signal);
      status.textContent = describeAnswer(answer);
      fill(results, makePlaces(answer), makeMissed(answer.not_looked_up));
    } catch (error) {
      if (error.name === "AbortError") return;
      status.textContent = "";
      fill(results, h("p", { class: "form-error", role: "alert" }, describeError(error)));
    }
  }

  function describeAnswer({ sightings, kinds }) {
    const as = `as ${kinds.join(", ")}`;
    const range = describeRange(asked.since, asked.until, preferences.get().zone).toLowerCase();
    const total = sightings.reduce((sum, sighting) => sum + sighting.count, 0);
    if (!sightings.length) return `not seen ${as} (${range})`;
    return `${formatNumber(total, "sighting")} in ${formatNumber(sightings.length, "field")}, ${as}`;
  }

  function makePlaces({ sightings }) {
    if (!sightings.length) return null;
    const ends = [
      Math.min(...sightings.map((sighting) => toMicros(sighting.first))),
      Math.max(...sightings.map((sighting) => toMicros(sighting.last))),
    ];
    const columns = ["Source", "Field", "Kind", "#Events", "First", "Last", "When"];
    return makeTable(
      "Places",
      columns,
      sightings.map((sighting) => makeRow(sighting, ends)),
    );
  }

  function makeRow(sighting, ends) {
    const { zone } = preferences.get();
    return h(
      "tr",
      {},
      h("td", {}, h("a", { href: writeLink(sighting), title: "The events in Explore" }, sighting.source)),
      h("td", { class: "mono" }, sighting.field),
      h("td", {}, sighting.kind),
      h("td", { class: "number" }, formatCount(sighting.count)),
      h("td", { class: "mono" }, formatMicros(toMicros(sighting.first), zone)),
      h("td", { class: "mono" }, formatMicros(toMicros(sighting.last), zone)),
      h("td", {}, drawSparkline(sighting.hours, ends, "events over time")),
    );
  }

  function writeLink(sighting) {
    const where = writeCondition(sighting.field, asked.value);
    return toAddress({ ...EMPTY, sources: [sighting.source], since: sighting.first, until: sighting.last, where });
  }

  function makeMissed(missed) {
    if (!missed.length) return null;
    return h(
      "details",
      {},
      h("summary", {}, `${formatNumber(missed.length, "field")} not looked up`),
      h(
        "ul",
        {},
        missed.map((one) => h("li", {}, h("span", { class: "mono" }, `${one.source} ${one.field}`), `: ${one.reason}`)),
      ),
    );
  }

  return {
    element,
    enter(parameters) {
      asked = Object.fromEntries(["value", "kind", "since", "until"].map((name) => [name, parameters.get(name) ?? ""]));
      input.value = asked.value;
      kind.value = asked.kind;
      time.render();
      find();
      if (!asked.value) input.focus();
    },
    leave: () => controller?.abort(),
    press(event) {
      if (event.key !== "/") return;
      event.preventDefault();
      input.focus();
    },
  };
}

/** Returns the condition for what was looked for: a network, an ending, or a value. */
function writeCondition(field, value) {
  if (/^[\d.:a-f]+\/\d+$/i.test(value)) return `${writeField(field)} in ${value}`;
  if (value.startsWith("*.")) return `${writeField(field)} endswith ${writeValue(value.slice(1))}`;
  return writeEquality(field, value);
}
