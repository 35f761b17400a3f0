/** Counts of the matching events by time, the newest part first, in all or stacked by a field's values or by source. */

import { chooseBucket, formatWidth, toIso, toMicros } from "../../shared/times.js";
import { writeEquality } from "../filter/condition.js";
import { writeRequest } from "../search.js";
import { askSources, readParts } from "../stats/answers.js";
import { mergeValues, readValues } from "../stats/top_values.js";

export const BY_SOURCE = "_source";
export const OTHER = "other";
const MOST_VALUES = 6;

/**
 * @typedef {{
 *   since: number, until: number, width: number, starts: number[], total: number, share: number,
 *   series: {name: string, value?: any, counts: number[], total: number}[],
 * }} Histogram
 * Times are in microseconds, the width in seconds. The series add up to all events.
 * @typedef {{all: Histogram["series"][0], byValue: Histogram["series"], share: number}} SourceCounts
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
  const request = writeRequest(search, { since: toIso(histogram.since), until: toIso(histogram.until) });
  const field = search.stack === BY_SOURCE ? "" : search.stack;
  const found = field ? await readValues(request, field, sources, MOST_VALUES, signal) : new Map();
  const values = mergeValues(found.values(), MOST_VALUES).map((one) => one.value);
  const count = (source, partial) => {
    // Only values that a source has are asked of it: in its type of the field, others may be none.
    const own = new Set(found.get(source)?.map((one) => String(one.value)));
    const wanted = values.filter((value) => own.has(String(value)));
    return countSource(histogram, { ...request, source, partial }, field, wanted, signal);
  };
  if (sources.length === 1) {
    for await (const one of count(sources[0], true)) yield stackUp(histogram, [one], values);
    return;
  }
  const counts = await askSources(sources, async (source) => {
    let last = null;
    for await (const one of count(source, false)) last = one;
    return last;
  });
  if (search.stack !== BY_SOURCE) yield stackUp(histogram, [...counts.values()].filter(Boolean), values);
  else yield stackSources(histogram, [...counts.values()].filter(Boolean));
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

/** @returns {AsyncGenerator<SourceCounts>} the counts of one source so far */
async function* countSource(histogram, request, field, values, signal) {
  const parts = values.map((value, number) => `count_if(${writeEquality(field, value)}) as v${number}`);
  const stats = `${["count()", ...parts].join(", ")} by ${writeBucket(histogram)}`;
  for await (const { rows, share } of readParts({ ...request, stats }, signal)) {
    const byValue = values.map((value, n) => ({ ...makeSeries(histogram, String(value), rows, `v${n}`), value }));
    yield { all: makeSeries(histogram, request.source, rows, "count"), byValue, share };
  }
}

/** Adds up the counts of sources: a series for each value and one for what they leave, or one of all events. */
function stackUp(histogram, counts, values) {
  const all = addUp(
    counts.map((one) => one.all),
    "events",
    histogram,
  );
  const series = values.map((value) => {
    const same = counts.flatMap((one) => one.byValue.filter((given) => given.name === String(value)));
    return { ...addUp(same, String(value), histogram), value };
  });
  const other = subtract(all, series);
  if (other.total) series.push(other);
  const share = Math.min(1, ...counts.map((one) => one.share));
  return { ...histogram, total: all.total, share, series: values.length ? series : [all] };
}

/** Makes a series of each source, of the smallest ones together. */
function stackSources(histogram, counts) {
  const found = counts.map((one) => one.all).filter((series) => series.total);
  const largest = found.sort((one, other) => other.total - one.total).slice(0, MOST_VALUES);
  const rest = found.slice(MOST_VALUES);
  const series = rest.length ? [...largest, addUp(rest, OTHER, histogram)] : largest;
  return { ...histogram, total: found.reduce((sum, one) => sum + one.total, 0), share: 1, series };
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

function addUp(found, name, histogram) {
  const counts = new Array(histogram.starts.length).fill(0);
  for (const series of found) series.counts.forEach((count, number) => (counts[number] += count));
  return { name, counts, total: found.reduce((sum, series) => sum + series.total, 0) };
}
