/** The most frequent values of a field in one source or in several. */

import { askSources, readRows } from "./answers.js";

const MOST_OF_EACH = 1000;

/**
 * @typedef {{value: any, count: number}} ValueCount
 * Values of several sources are the same if their texts are: a condition finds them in all.
 */

/**
 * Returns the values of a field in each source that has it: of one source the `most` frequent ones, of several so many
 * that their sums tell which are the most frequent in all.
 * @param {object} request the members of requests about the search's events
 * @returns {Promise<Map<string, ValueCount[]>>} by source
 */
export async function readValues(request, field, sources, most, signal) {
  const limit = sources.length > 1 ? MOST_OF_EACH : most;
  const stats = { aggregates: [{ function: "count" }], by: [{ field, as: "value" }] };
  stats.stages = [{ having: { field: "value", op: "exists" } }, { sort: ["-count"] }, { limit }];
  const ask = (source) => readRows({ ...request, source, stats }, signal);
  // Of one source it is told what does not fit.
  return sources.length > 1 ? askSources(sources, ask) : new Map([[sources[0], await ask(sources[0])]]);
}

/**
 * Returns the most frequent values of lists of them.
 * @param {Iterable<ValueCount[]>} lists
 * @param {number} most
 */
export function mergeValues(lists, most) {
  const sums = new Map();
  for (const { value, count } of [...lists].flat()) {
    const known = sums.get(String(value));
    if (known) known.count += count ?? 0;
    else sums.set(String(value), { value, count: count ?? 0 });
  }
  return [...sums.values()].sort((one, other) => other.count - one.count).slice(0, most);
}
