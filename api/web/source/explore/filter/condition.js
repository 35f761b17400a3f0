/** Writes conditions of the filter language, and adds them to a filter. */

const PLAIN_FIELD = /^[A-Za-z_@][A-Za-z0-9_.@-]*$/;
const PLAIN_VALUE = /^[\w.:/@+%$-]+$/;
const KEYWORDS = new Set(["and", "or", "not", "in", "like", "startswith", "endswith", "contains", "exists"]);
const ESCAPES = { "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f", "*": "\\*" };

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
  const parts = splitAnd(given);
  if (parts === null) return `(${given})\nand ${condition}`.replace("\n", hasComment(given) ? "\n" : " ");
  return parts.includes(condition) ? given : `${given} and ${condition}`;
}

/** Returns the parts of a plain `a and b and c`; null if the filter has an `or`, or a comment at its end. */
function splitAnd(filter) {
  const outside = filter.replace(/"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g, (text) => "\u0000".repeat(text.length));
  if (/\bor\b/i.test(outside) || outside.includes("#")) return null;
  const parts = [];
  let start = 0;
  for (const found of outside.matchAll(/\sand\s/gi)) {
    parts.push(filter.slice(start, found.index).trim());
    start = found.index + found[0].length;
  }
  return [...parts, filter.slice(start).trim()];
}

function hasComment(filter) {
  return filter.includes("#");
}
