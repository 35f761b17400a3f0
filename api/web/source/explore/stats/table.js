/** The rows of an aggregation: keys are values with a menu, numbers have bars beside them. */

import { fill, h } from "../../shared/dom.js";
import { formatCount, formatNumber, formatValue } from "../../shared/texts.js";
import { formatTime } from "../../shared/times.js";
import { preferences } from "../../shell/preferences.js";

const MOST_ROWS = 500;
const TIME = /^\d{4}-\d\d-\d\dT/;

/** @param {(anchor: Element, field: string, value: any) => void} onValue */
export function createStatsTable(onValue) {
  const element = h("div", { class: "stats-table", tabindex: "0", role: "region", "aria-label": "Rows of the stats" });

  function draw(rows) {
    if (!rows.length) return fill(element, h("p", { class: "empty" }, "No events match."));
    const columns = [...new Set(rows.slice(0, MOST_ROWS).flatMap(Object.keys))];
    const scales = new Map(columns.map((column) => [column, findScale(rows, column)]));
    const shown = rows.slice(0, MOST_ROWS);
    fill(
      element,
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            columns.map((column) => h("th", { scope: "col", class: scales.get(column) ? "number" : null }, column)),
          ),
        ),
        h(
          "tbody",
          {},
          shown.map((row) =>
            h(
              "tr",
              {},
              columns.map((column) => makeCell(column, row[column], scales.get(column))),
            ),
          ),
        ),
      ),
      rows.length > MOST_ROWS &&
        h("p", { class: "hint" }, `and ${formatNumber(rows.length - MOST_ROWS, "row")} more; a limit shows fewer`),
    );
  }

  function makeCell(column, value, scale) {
    if (value === null || value === undefined) return h("td", { class: "missing" }, "–");
    if (scale && typeof value === "number") {
      const bar = h("i", { "aria-hidden": "true" });
      bar.style.width = `${(100 * Math.abs(value)) / scale}%`;
      return h(
        "td",
        { class: "number" },
        h("div", {}, bar, h("span", {}, Number.isInteger(value) ? formatCount(value) : value.toPrecision(5))),
      );
    }
    if (typeof value === "string" && TIME.test(value))
      return h("td", { class: "mono" }, formatTime(value, preferences.get().zone));
    const button = h(
      "button",
      {
        type: "button",
        class: "value",
        "aria-haspopup": "menu",
        onclick: () => onValue(button, column, value),
      },
      formatValue(value) || "(empty)",
    );
    return h("td", {}, button);
  }

  return { element, draw, clear: () => fill(element) };
}

/** Returns the largest number of a column whose values are all numbers; 0 if they are not. */
function findScale(rows, column) {
  let most = 0;
  for (const row of rows) {
    const value = row[column];
    if (value === null || value === undefined) continue;
    if (typeof value !== "number") return 0;
    most = Math.max(most, Math.abs(value));
  }
  return most;
}
