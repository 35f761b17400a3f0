/** Writes conditions of the filter language, and adds them to a filter. */

import { readTokens } from "./language.js";

const PLAIN_FIELD = /^[A-Za-z_@][A-Za-z0-9_.@-]*$/;
const PLAIN_VALUE = /^[\w.:/@+%$-]+$/;
const KEYWORDS = new Set(["and", "or", "not", "in", "like", "startswith", "endswith", "contains", "exists"]);
const ESCAPES = {
  "\\": "\\\\",
  '"': '\\"',
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\b": "\\b",
  "\f": "\\f",
  "*": "\\*",
};

/** Returns a field's name as a filter has it. */
export function writeField(name) {
  return PLAIN_FIELD.test(name) && !KEYWORDS.has(name.toLowerCase()) ? name : `\`${name}\``;
}

/** Returns a value as a filter has it: bare where that is possible, else in quotes. */
export function writeValue(value) {
  const text = String(value);
  if (PLAIN_VALUE.test(text) && !text.startsWith("@") && !KEYWORDS.has(text.toLowerCase())) return text;
  const escaped = text.replace(/[\\"\n\r\t\b\f*]/g, (character) => ESCAPES[character]);
  // eslint-disable-next-line no-control-regex
  return `"${escaped.replace(/[\u0000-\u001f\u007f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`)}"`;
}

/** Returns the condition that a field has a value, or has none where the value is null. */
export function writeEquality(field, value, negated = false) {
  if (value === null || value === undefined) return `${negated ? "" : "not "}exists ${writeField(field)}`;
  return `${writeField(field)} ${negated ? "!=" : "="} ${writeValue(value)}`;
}

/** Returns a filter that demands a condition besides. A condition that it has already is not added again. */
export function addCondition(filter, condition) {
  const given = filter.trim();
  if (!given) return condition;
  const tokens = readTokens(given);
  if (!isPlain(tokens)) {
    // A comment ends with its line, and would take the parenthesis with it.
    return `(${given}${given.includes("#") ? "\n" : ""}) and ${condition}`;
  }
  return splitAnd(given, tokens).includes(condition)
    ? given
    : `${given}${given.includes("#") ? "\n" : " "}and ${condition}`;
}

/** Returns whether an `and` at the end binds all of a filter: it has no `or`, unless in parentheses. */
function isPlain(tokens) {
  let depth = 0;
  for (const { kind, text } of tokens) {
    if (text === "~") return false; // parentheses in a pattern are no parentheses
    if (text === "(") depth += 1;
    if (text === ")") depth -= 1;
    if (depth === 0 && kind === "keyword" && text.toLowerCase() === "or") return false;
  }
  return true;
}

/** Returns the texts between the `and`s of a filter. */
function splitAnd(filter, tokens) {
  const parts = [];
  let start = 0;
  for (const { kind, text, from, to } of tokens) {
    if (kind !== "keyword" || text.toLowerCase() !== "and") continue;
    parts.push(filter.slice(start, from).trim());
    start = to;
  }
  return [...parts, filter.slice(start).trim()];
}
