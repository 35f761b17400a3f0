/** The histogram with its head: the number of events, the legend, what it is stacked by, and buttons to zoom. */

import { fill, h, show } from "../../shared/dom.js";
import { formatCount, formatNumber } from "../../shared/texts.js";
import { formatMicros, formatWidth } from "../../shared/times.js";
import { preferences } from "../../shell/preferences.js";
import { createChart, readSeriesColour } from "./chart.js";
import { BY_SOURCE, OTHER } from "./counts.js";

/**
 * @param {{
 *   onZoom: (since: number, until: number) => void,
 *   onMove: (how: "in"|"out"|"earlier"|"later"|"back") => void,
 *   onStack: (field: string) => void,
 *   onSeries: (anchor: Element, value: any) => void,
 * }} handlers
 */
export function createHistogram({ onZoom, onMove, onStack, onSeries }) {
  /** @type {import("./counts.js").Histogram | null} */
  let histogram = null;
  const total = h("strong", { class: "total" }, "–");
  const point = h("span", { class: "point" });
  const legend = h("ul", { class: "legend" });
  const place = h("div", { class: "chart", role: "img", "aria-label": "Events over time" });
  const stack = h("select", { id: "stack", onchange: () => onStack(stack.value) });
  const button = (text, title, how) =>
    h("button", { type: "button", title, "aria-label": title, onclick: () => onMove(how) }, text);
  const back = button("Zoom back", "Zoom back (z)", "back");
  const chart = createChart(place, { onZoom, onPoint: showPoint });

  function showPoint(index) {
    if (index === null || !histogram || !(index in histogram.starts)) {
      point.textContent = histogram ? `per ${formatWidth(histogram.width)}` : "";
      return;
    }
    const count = histogram.series.reduce((sum, series) => sum + series.counts[index], 0);
    point.textContent = `${formatMicros(histogram.starts[index], preferences.get().zone)}: ${formatCount(count)}`;
  }

  function showLegend() {
    const { series } = histogram;
    fill(
      legend,
      series.length < 2
        ? []
        : series.map((one, number) => {
            const chip = h("i", { "aria-hidden": "true" });
            chip.style.backgroundColor = readSeriesColour(one, number);
            const isValue = one.name !== OTHER || one.value !== undefined;
            const text = [chip, h("span", {}, one.name), h("b", {}, formatCount(one.total))];
            const entry = isValue
              ? h(
                  "button",
                  { type: "button", "aria-haspopup": "menu", onclick: () => onSeries(entry, one.value ?? one.name) },
                  text,
                )
              : h("span", {}, text);
            return h("li", {}, entry);
          }),
    );
  }

  window.addEventListener("themechange", () => histogram && showLegend());
  return {
    element: h(
      "section",
      { class: "histogram", "aria-label": "Histogram" },
      h(
        "div",
        { class: "histogram-head" },
        total,
        point,
        legend,
        h(
          "div",
          { class: "buttons" },
          h("label", { for: "stack" }, "Stack by"),
          stack,
          button("◀", "Earlier ([)", "earlier"),
          button("▶", "Later (])", "later"),
          button("+", "Zoom in (+)", "in"),
          button("−", "Zoom out (−)", "out"),
          back,
        ),
      ),
      place,
    ),
    /** @param {import("./counts.js").Histogram} next */
    draw(next) {
      histogram = next;
      total.textContent = next.share < 1 ? `${formatCount(next.total)}+ events` : formatNumber(next.total, "event");
      place.setAttribute("aria-label", describe(next));
      showPoint(null);
      showLegend();
      chart.draw(next);
    },
    /** Says why there is no histogram. */
    fail(reason) {
      total.textContent = "–";
      point.textContent = reason;
    },
    offerBack: (possible) => show(back, possible),
    offerFields(fields, isMany) {
      const names = fields.filter((field) => field.type !== "time").map((field) => field.name);
      if (isMany) names.unshift(BY_SOURCE);
      const option = (value, text) => h("option", { value }, text);
      fill(
        stack,
        option("", "nothing"),
        names.map((name) => option(name, name === BY_SOURCE ? "source" : name)),
      );
    },
    showStack: (field) => (stack.value = field),
  };
}

function describe(histogram) {
  const peak = histogram.starts.reduce(
    (best, start, number) => {
      const count = histogram.series.reduce((sum, series) => sum + series.counts[number], 0);
      return count > best.count ? { count, start } : best;
    },
    { count: 0, start: histogram.since },
  );
  const ends = [histogram.since, histogram.until].map((time) => formatMicros(time, "utc")).join(" to ");
  const most = `most, ${formatCount(peak.count)}, at ${formatMicros(peak.start, "utc")}`;
  return `${formatNumber(histogram.total, "event")} from ${ends} UTC; ${most}`;
}
