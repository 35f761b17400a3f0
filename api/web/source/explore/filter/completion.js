/** What the filter editor offers: fields, operators by the field's type, values from the service. */

import { readPlace } from "./language.js";
import { writeField, writeValue } from "./condition.js";

const ORDERED = ["=", "!=", "<", "<=", ">", ">=", "in"];
const OPERATORS = {
  string: ["=", "!=", "contains", "startswith", "endswith", "like", "~", "in", "not in"],
  ip: ["=", "!=", "in", "not in"],
  bool: ["=", "!="],
  int: ORDERED,
  float: ORDERED,
  port: ORDERED,
  time: ORDERED,
};
const MEANINGS = {
  "=": "has this value; * is any text",
  "!=": "has it not, or lacks the field",
  contains: "has the text somewhere",
  startswith: "begins with the text",
  endswith: "ends with the text",
  like: "fits; * any text, ? any one character",
  "~": "a regular expression, between slashes",
  in: "a list (…), a network, a range a..b, or @list",
  "not in": "none of a list, a network, a range or @list",
  "<": "before",
  "<=": "before, or the same",
  ">": "after",
  ">=": "after, or the same",
};
const JOINS = [
  ["and", "both hold"],
  ["or", "at least one holds"],
];
const STARTS = [
  ["not", "the next does not hold"],
  ["exists", "the event has the field"],
];

/**
 * Returns a completion source of CodeMirror.
 * @param {() => import("../fields/catalog.js").Field[]} listFields
 * @param {(field: string, prefix: string) => Promise<{value: any, count?: number}[]>} findValues
 */
export function completeFilter(listFields, findValues) {
  return async (context) => {
    const place = readPlace(context.state.doc.toString(), context.pos);
    if (place.expects === "field") return completeFields(place, listFields());
    if (place.expects === "operator") return completeOperators(place, listFields());
    if (place.expects === "join") return completeWords(place, JOINS);
    return completeValues(place, listFields(), findValues, context);
  };
}

function completeFields(place, fields) {
  const options = fields.map((field) => ({
    label: field.name,
    apply: `${writeField(field.name)} `,
    detail: [field.type, field.indexed ? "indexed" : "", field.ecs].filter(Boolean).join(" · "),
    type: "property",
    boost: field.indexed ? 1 : 0,
  }));
  const words = STARTS.map(([label, detail]) => ({ label, detail, apply: `${label} `, type: "keyword", boost: -2 }));
  return { from: place.from, options: [...options, ...words], validFor: /^[\w.@`-]*$/ };
}

function completeOperators(place, fields) {
  const type = fields.find((field) => field.name === place.field)?.type ?? "string";
  const options = (OPERATORS[type] ?? OPERATORS.string).map((label, rank) => ({
    label,
    detail: MEANINGS[label],
    apply: `${label} `,
    type: "operator",
    boost: -rank,
  }));
  return { from: place.from, options, validFor: /^[a-z!<>=~ ]*$/i };
}

function completeWords(place, words) {
  const options = words.map(([label, detail], rank) => ({
    label,
    detail,
    apply: `${label} `,
    type: "keyword",
    boost: -rank,
  }));
  return { from: place.from, options, validFor: /^\w*$/ };
}

/** Asks the service for values of the field that begin with what is typed. */
async function completeValues(place, fields, findValues, context) {
  const field = fields.find((known) => known.name === place.field);
  if (!field) return null;
  if (field.type === "bool")
    return completeWords(place, [
      ["true", ""],
      ["false", ""],
    ]);
  const prefix = place.typed.replace(/^["']|["']$/g, "");
  const found = await findValues(field.name, prefix);
  if (context.aborted || !found.length) return null;
  const options = found.map(({ value, count }, rank) => ({
    label: String(value),
    apply: `${writeValue(value)} `,
    detail: count === undefined ? "" : count.toLocaleString("en-US"),
    type: "text",
    boost: -rank,
  }));
  return { from: place.from, options, filter: false };
}
