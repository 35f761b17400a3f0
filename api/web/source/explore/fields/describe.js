/** Says in words what a field is: its type, what its indexes cover, and its ECS name. */

import { formatMicros, toMicros } from "../../shared/times.js";

const KINDS = { indexed: "indexed", reversed: "indexed by endings", sighted: "sightings" };
const NOT_YET = "2262"; // the year of an index that has only just been added, and has no events yet
const MOST_SOURCES = 3;

/** @param {import("./catalog.js").Field} field */
export function describeField(field) {
  const type = field.isList ? `list of ${field.type}` : field.type;
  return [type, describeIndexes(field), field.ecs].filter(Boolean).join(" · ");
}

/** Returns what the indexes of a field cover, by source where that differs; nothing of a field without any. */
export function describeIndexes(field) {
  const texts = field.sources.map((source) => field.indexes[source].map(describeIndex).join(", "));
  if (new Set(texts).size === 1) return texts[0];
  const having = texts.filter(Boolean).length;
  if (texts.length > MOST_SOURCES) return `indexed in ${having} of ${texts.length} sources`;
  return field.sources.map((source, number) => `${source}: ${texts[number] || "not indexed"}`).join("; ");
}

/** Returns whether a field's own index has all events in all of its sources. */
export function isWhollyIndexed(field) {
  return field.sources.every((source) => field.indexes[source].some(({ kind, from }) => kind === "indexed" && !from));
}

function describeIndex({ kind, from }) {
  if (!from) return KINDS[kind];
  if (from.startsWith(NOT_YET)) return `${KINDS[kind]} soon`;
  return `${KINDS[kind]} from ${formatMicros(toMicros(from), "utc")} UTC on`;
}
