/** Draws a histogram with uPlot: stacked bars, and a brush that chooses a range. */

import uPlot from "uplot";

import { formatShort } from "../../shared/texts.js";
import { formatMicros } from "../../shared/times.js";
import { preferences, readColour } from "../../shell/preferences.js";
import { OTHER } from "./counts.js";

const HEIGHT = 132;
const DAY = 86400;
const LEAST_DRAG = 5; // pixels

/**
 * @param {HTMLElement} place
 * @param {{onZoom: (since: number, until: number) => void, onPoint: (index: number|null) => void}} handlers
 */
export function createChart(place, { onZoom, onPoint }) {
  /** @type {import("./counts.js").Histogram | null} */
  let histogram = null;
  let plot = null;
  let drawn = "";

  /** Draws the histogram. A plot is made anew only where the number of series or the zone has changed. */
  function draw(next) {
    histogram = next;
    const shape = `${next.series.length} ${preferences.get().zone}`;
    const data = stack(next);
    if (plot && shape === drawn) {
      plot.setData(data, false);
      plot.setScale("x", readScale(next));
      return;
    }
    plot?.destroy();
    drawn = shape;
    plot = new uPlot(makeOptions(next), data, place);
  }

  function makeOptions(next) {
    const axis = { stroke: () => readColour("muted"), ticks: { show: false }, font: "11px system-ui" };
    return {
      width: Math.max(place.clientWidth, 100),
      height: HEIGHT,
      padding: [8, 22, 0, 0],
      legend: { show: false },
      tzDate: (seconds) =>
        preferences.get().zone === "utc" ? uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC") : new Date(seconds * 1e3),
      scales: {
        x: { time: true, range: () => readEnds(histogram) },
        y: { range: (_, least, most) => [0, Math.max(1, most)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 24,
          space: 70,
          values: (_, ticks, axisNumber, space, step) => ticks.map((tick) => writeTick(tick, step)),
        },
        {
          ...axis,
          size: 46,
          values: (_, ticks) => ticks.map((tick) => (tick % 1 ? "" : formatShort(tick))),
          grid: { stroke: () => readColour("grid"), width: 1 },
        },
      ],
      cursor: { y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: LEAST_DRAG } },
      series: [{}, ...next.series.map((_, number) => makeSeries(next.series.length - 1 - number))],
      hooks: { setSelect: [select], setCursor: [(u) => onPoint(u.cursor.idx ?? null)] },
    };
  }

  function makeSeries(number) {
    return {
      fill: () => readSeriesColour(histogram.series[number], number),
      width: 0,
      points: { show: false },
      paths: uPlot.paths.bars({ size: [0.92, 60], align: 1, gap: 0 }),
    };
  }

  function select(u) {
    const { left, width } = u.select;
    if (width < LEAST_DRAG) return;
    const since = u.posToVal(left, "x") * 1e6;
    const until = u.posToVal(left + width, "x") * 1e6;
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    onZoom(since, until);
  }

  new ResizeObserver(
    () => plot && place.clientWidth && plot.setSize({ width: place.clientWidth, height: HEIGHT }),
  ).observe(place);
  window.addEventListener("themechange", () => plot?.redraw());
  preferences.subscribe(() => histogram && draw(histogram));
  return { draw };
}

/** Returns the colour of a series by its number. */
export function readSeriesColour(series, number) {
  return readColour(series.name === OTHER && series.value === undefined ? "series-other" : `series-${number}`);
}

/** Returns the time of a tick: the day at midnight, else hours and minutes, and seconds where ticks are so close. */
function writeTick(seconds, step) {
  const text = formatMicros(seconds * 1e6, preferences.get().zone);
  const [day, clock] = text.split(" ");
  if (step >= DAY || clock === "00:00")
    return new Date(`${day}T00:00Z`).toLocaleDateString("en-GB", {
      day: "numeric",
      month: "short",
      year: step > 20 * DAY ? "numeric" : undefined,
      timeZone: "UTC",
    });
  return clock;
}

const readEnds = (histogram) => [histogram.since / 1e6, Math.max(histogram.until, histogram.starts.at(-1)) / 1e6];

function readScale(histogram) {
  const [min, max] = readEnds(histogram);
  return { min, max };
}

/** Returns uPlot's columns: the highest stack first, so that the lower ones are drawn over it. */
function stack(histogram) {
  let below = histogram.starts.map(() => 0);
  const sums = histogram.series.map((series) => (below = below.map((sum, number) => sum + series.counts[number])));
  return [histogram.starts.map((start) => start / 1e6), ...sums.reverse()];
}
