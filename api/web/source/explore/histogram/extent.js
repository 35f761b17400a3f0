/** The time from the first to the last event of sources, from their counts. */

import { get } from "../../shared/api.js";
import { toMicros } from "../../shared/times.js";

const SIZES = { day: 86400e6, hour: 3600e6, minute: 60e6 };
const FINER = { day: "hour", hour: "minute" };
const FEW = 3;

/**
 * Returns [first, end) of a source's events in a range, in microseconds, to the hour or minute where that is short.
 * @returns {Promise<[number, number] | null>} null if there are none
 */
async function findExtent(source, range, signal, bucket = "day") {
  const { buckets } = await get("/timeline", { source, ...range, bucket }, signal);
  if (!buckets.length) return null;
  const first = toMicros(buckets[0].start);
  const end = toMicros(buckets.at(-1).start) + SIZES[bucket];
  const finer = FINER[bucket];
  if (!finer || end - first > FEW * SIZES[bucket]) return [first, end];
  return findExtent(source, range, signal, finer);
}

/** Returns the extent of several sources together. */
export async function findCommonExtent(sources, range, signal) {
  const extents = (await Promise.all(sources.map((source) => findExtent(source, range, signal)))).filter(Boolean);
  if (!extents.length) return null;
  return [Math.min(...extents.map(([first]) => first)), Math.max(...extents.map(([, end]) => end))];
}
