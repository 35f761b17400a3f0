/** Draws the rows of stats over time: a line for each number, or for each value of the other keys. */

import uPlot from "uplot";

import { fill, h, show } from "../../shared/dom.js";
import { formatShort, formatValue } from "../../shared/texts.js";
import { formatMicros, toMicros } from "../../shared/times.js";
import { preferences, readColour } from "../../shell/preferences.js";

const HEIGHT = 150;
const MOST_LINES = 6;
// A key that is a bucket of time, and the name that it is given: bare, or in one of the three marks.
const BUCKET = /\bbucket\s*\([^)]*\)(?:\s+as\s+(?:([\w@][\w.@-]*)|`([^`]*)`|"([^"]*)"|'([^']*)'))?/i;

export function createStatsChart() {
  const place = h("div", { class: "stats-chart", role: "img", "aria-label": "The stats over time" });
  const legend = h("ul", { class: "legend" });
  const element = h("div", { hidden: true }, legend, place);
  let plot = null;
  let lines = [];

  /** Draws rows over the time of one of their columns; none where they have no such column. */
  function draw(rows, column) {
    plot?.destroy();
    plot = null;
    lines = findLines(rows, column);
    show(element, lines.length > 0);
    if (!lines.length) return;
    const times = [...new Set(rows.map((row) => row[column]))].sort();
    const data = lines.map((line) => times.map((time) => line.points.get(time) ?? null));
    showLegend();
    plot = new uPlot(makeOptions(place.clientWidth), [times.map((time) => toMicros(time) / 1e6), ...data], place);
  }

  function showLegend() {
    fill(
      legend,
      lines.map((line, number) => {
        const chip = h("i", { "aria-hidden": "true" });
        chip.style.backgroundColor = readColour(`series-${number}`);
        return h("li", {}, h("span", {}, chip, h("span", {}, line.name)));
      }),
    );
  }

  function makeOptions(width) {
    const axis = { stroke: () => readColour("muted"), ticks: { show: false }, font: "11px system-ui" };
    const grid = { stroke: () => readColour("grid"), width: 1 };
    return {
      width,
      height: HEIGHT,
      padding: [8, 22, 0, 0],
      legend: { show: false },
      cursor: { show: false },
      scales: { y: { range: (_, least, most) => [Math.min(0, least), Math.max(1, most)] } },
      axes: [
        {
          ...axis,
          size: 24,
          space: 110,
          grid: { show: false },
          values: (_, ticks) => ticks.map((tick) => formatMicros(tick * 1e6, preferences.get().zone)),
        },
        { ...axis, size: 56, grid, values: (_, ticks) => ticks.map(formatShort) },
      ],
      series: [
        {},
        ...lines.map((_, number) => ({
          stroke: () => readColour(`series-${number}`),
          width: 2,
          points: { show: lines[number].points.size < 60, size: 5 },
        })),
      ],
    };
  }

  new ResizeObserver(
    () => plot && place.clientWidth && plot.setSize({ width: place.clientWidth, height: HEIGHT }),
  ).observe(place);
  window.addEventListener("themechange", () => {
    plot?.redraw();
    showLegend();
  });
  return { element, draw };
}

/**
 * Returns the column that has the times in the rows of stats over time.
 * @param {string} stats as they are written
 */
export function findTimeColumn(stats) {
  return BUCKET.exec(stats)?.slice(1).find(Boolean) ?? "bucket";
}

/**
 * Returns the lines to draw, those with the largest sums; none of rows that are not over time.
 * @param {object[]} rows
 * @param {string} column
 * @returns {{name: string, points: Map<string, number>}[]}
 */
function findLines(rows, column) {
  if (rows.length < 2 || typeof rows[0][column] !== "string") return [];
  const columns = rows.reduce((most, row) => (Object.keys(row).length > most.length ? Object.keys(row) : most), []);
  const keys = findKeys(rows, columns).filter((name) => name !== column);
  const isNumber = (value) => value === null || value === undefined || typeof value === "number";
  const numbers = columns.filter(
    (name) => name !== column && !keys.includes(name) && rows.every((row) => isNumber(row[name])),
  );
  const found = new Map();
  for (const row of rows) {
    const name = keys.map((key) => formatValue(row[key]) || "–").join(" · ");
    for (const number of keys.length ? numbers.slice(0, 1) : numbers) {
      const line = found.get(name || number) ?? { name: name || number, points: new Map(), sum: 0 };
      line.points.set(row[column], row[number] ?? 0);
      line.sum += row[number] ?? 0;
      found.set(line.name, line);
    }
  }
  return [...found.values()].sort((one, other) => other.sum - one.sum).slice(0, MOST_LINES);
}

/** Returns the keys of the groups that rows are of: the fewest first columns in which no two rows are the same. */
function findKeys(rows, columns) {
  for (let number = 1; number < columns.length; number++) {
    const keys = columns.slice(0, number);
    if (new Set(rows.map((row) => JSON.stringify(keys.map((key) => row[key])))).size === rows.length) return keys;
  }
  return columns;
}
