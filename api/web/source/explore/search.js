/** What is asked for in Explore, its form in the address, and as members of requests. */

import { parseTime, toIso } from "../shared/times.js";

/**
 * @typedef {{
 *   sources: string[], since: string, until: string, where: string,
 *   columns: string[], stack: string, tab: "events"|"stats"|"plan", stats: string,
 * }} Search
 * Times are as people wrote them. No columns stand for those that the page chooses.
 */

/** @type {Search} */
export const EMPTY = { sources: [], since: "", until: "", where: "", columns: [], stack: "", tab: "events", stats: "" };
const LISTS = { sources: "source", columns: "columns" };
const ALL = "*";

/** Returns the part of the address behind `#`. It holds no secret: the session's cookie is no part of it. */
export function toAddress(search) {
  const parameters = new URLSearchParams({ source: writeSources(search) });
  for (const [name, value] of Object.entries(search)) {
    const text = Array.isArray(value) ? value.join(",") : value;
    if (text && text !== EMPTY[name] && name !== "sources") parameters.set(LISTS[name] ?? name, text);
  }
  return `#/explore?${parameters}`;
}

/** @param {URLSearchParams} parameters */
export function readAddress(parameters) {
  const search = { ...EMPTY };
  for (const name of Object.keys(EMPTY)) {
    const text = parameters.get(LISTS[name] ?? name);
    if (text === null || text === ALL) continue;
    search[name] = Array.isArray(EMPTY[name]) ? text.split(",").filter(Boolean) : text;
  }
  return search;
}

/** Returns the member `source` of a request; of no chosen sources it means all. */
export function writeSources(search) {
  return search.sources.length ? search.sources.join(",") : ALL;
}

/** Returns the range with relative times resolved at `now` (µs), so that all requests of a run have the same one. */
export function resolveRange(search, now = Date.now() * 1000) {
  const resolve = (text) => {
    if (!text) return undefined;
    const micros = parseTime(text, now);
    return micros === null ? text : toIso(micros);
  };
  return { since: resolve(search.since), until: resolve(search.until) };
}

/** Returns the members that all requests about the search's events have. */
export function writeRequest(search, range = resolveRange(search)) {
  const members = { ...range, where: search.where.trim() };
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value));
}
