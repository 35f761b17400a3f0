/** Counts of the matching events by time, the newest part first, in all or stacked by a field's values or by source. */

import { stream } from "../../shared/api.js";
import { chooseBucket, formatWidth, toIso, toMicros } from "../../shared/times.js";
import { writeEquality } from "../filter/condition.js";
import { writeRequest } from "../search.js";

export const BY_SOURCE = "_source";
export const OTHER = "other";
const MOST_VALUES = 6;
const AT_ONCE = 2;

/**
 * @typedef {{
 *   since: number, until: number, width: number, starts: number[], total: number, share: number,
 *   series: {name: string, value?: any, counts: number[], total: number}[],
 * }} Histogram
 * Times are in microseconds, the width in seconds. The series add up to all events.
 */

/**
 * Yields the histogram so far.
 * @param {import("../search.js").Search} search
 * @param {string[]} sources
 * @param {[number, number]} extent
 * @returns {AsyncGenerator<Histogram>}
 */
export async function* readHistogram(search, sources, extent, signal) {
  const histogram = makeEmpty(extent);
  const range = { since: toIso(histogram.since), until: toIso(histogram.until) };
  const request = writeRequest(search, range);
  if (sources.length > 1) yield* countSources(histogram, request, sources, search.stack === BY_SOURCE, signal);
  else yield* countOne(histogram, { ...request, source: sources[0] }, search.stack, signal);
}

/** Returns a histogram without events whose buckets cover the range. */
export function makeEmpty([since, until]) {
  const width = chooseBucket(until - since);
  const step = width * 1e6;
  const first = Math.floor(since / step) * step;
  const starts = [];
  for (let start = first; start < until; start += step) starts.push(start);
  return { since, until, width, starts, total: 0, share: 0, series: [] };
}

async function* countOne(histogram, request, stack, signal) {
  const values = stack && stack !== BY_SOURCE ? await readTop(request, stack, signal) : [];
  const names = values.map((value, number) => [`v${number}`, value]);
  const parts = names.map(([name, value]) => `count_if(${writeEquality(stack, value)}) as ${name}`);
  const stats = `${["count()", ...parts].join(", ")} by ${writeBucket(histogram)}`;
  for await (const { rows, share } of readParts({ ...request, stats }, signal)) {
    const all = makeSeries(histogram, "events", rows, "count");
    const series = names.map(([name, value]) => ({ ...makeSeries(histogram, String(value), rows, name), value }));
    const other = subtract(all, series);
    if (other.total) series.push(other);
    yield { ...histogram, total: all.total, share, series: values.length ? series : [all] };
  }
}

async function* countSources(histogram, request, sources, isStacked, signal) {
  const found = [];
  const left = [...sources];
  const stats = `count() by ${writeBucket(histogram)}`;
  const work = async () => {
    for (let source = left.shift(); source; source = left.shift()) {
      try {
        for await (const { rows } of readParts({ ...request, source, stats, partial: false }, signal)) {
          found.push(makeSeries(histogram, source, rows, "count"));
        }
      } catch (error) {
        // A source that the filter does not fit cannot match.
        if (!["bad-filter", "unknown-field"].includes(error.kind)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const total = found.reduce((sum, series) => sum + series.total, 0);
  yield { ...histogram, total, share: 1, series: isStacked ? takeLargest(found) : [addUp(found, "events", histogram)] };
}

/** Yields the rows of an aggregation's answers, each of which replaces the one before. */
async function* readParts(body, signal) {
  let part = -1;
  let rows = [];
  for await (const lines of stream("/stats", { partial: true, ...body }, signal)) {
    for (const line of lines) {
      if (line.summary?.status === "failed") throw new Error(line.summary.problem.detail);
      if (!line.rows) continue;
      rows = line.part === part ? [...rows, ...line.rows] : line.rows;
      part = line.part;
      if (rows.length === line.rows.length || line.complete) yield { rows, share: line.share };
    }
  }
}

async function readTop(request, field, signal) {
  const stats = { aggregates: [{ function: "count" }], by: [{ field, as: "value" }] };
  stats.stages = [{ having: { field: "value", op: "exists" } }, { sort: ["-count"] }, { limit: MOST_VALUES }];
  let values = [];
  for await (const { rows } of readParts({ ...request, stats, partial: false }, signal))
    values = rows.map((row) => row.value);
  return values;
}

const writeBucket = (histogram) => `bucket(${formatWidth(histogram.width)})`;

function makeSeries(histogram, name, rows, column) {
  const counts = new Array(histogram.starts.length).fill(0);
  const [first] = histogram.starts;
  let total = 0;
  for (const row of rows) {
    const number = Math.round((toMicros(row.bucket) - first) / (histogram.width * 1e6));
    if (number in counts) counts[number] += row[column];
    total += row[column];
  }
  return { name, counts, total };
}

/** Returns what the series leave of all events; an event with several of the values counts once in each. */
function subtract(all, series) {
  const counts = all.counts.map((count, n) =>
    Math.max(
      0,
      series.reduce((left, one) => left - one.counts[n], count),
    ),
  );
  return { name: OTHER, counts, total: counts.reduce((sum, count) => sum + count, 0) };
}

function takeLargest(found) {
  const sorted = found.filter((series) => series.total).sort((one, other) => other.total - one.total);
  const rest = sorted.splice(MOST_VALUES);
  return rest.length ? [...sorted, addUp(rest, OTHER, { starts: rest[0].counts })] : sorted;
}

function addUp(found, name, histogram) {
  const counts = new Array(histogram.starts.length).fill(0);
  for (const series of found) series.counts.forEach((count, number) => (counts[number] += count));
  return { name, counts, total: found.reduce((sum, series) => sum + series.total, 0) };
}
