/** The columns of the table of events: which there are, and how wide. */

import { formatValue } from "../../shared/texts.js";

export const TIME = "time";
export const SOURCE = "_source";
export const EVENT = "event";
const CHOSEN = 6;
const NARROWEST = 5;
const WIDEST = 46;
const WIDEST_WHOLE = 400;
const SAMPLE = 60;
const CHARACTER = 7.9; // pixels of a character of the table's font
const PADDING = 24;
const TIME_WIDTH = 208;

/**
 * Returns the columns to show: the time, the source among several, the chosen fields, and the whole event if none is.
 * @param {string[]} chosen
 * @param {import("../fields/catalog.js").Field[]} fields
 * @param {boolean} isMany whether there are several sources
 */
export function chooseColumns(chosen, fields, isMany) {
  const lead = isMany ? [TIME, SOURCE] : [TIME];
  if (chosen.length) return [...lead, ...chosen];
  if (isMany) return [...lead, EVENT];
  return [...lead, ...chooseFields(fields), EVENT];
}

/** Returns the names of the fields that are shown where none were chosen: the first indexed ones. */
function chooseFields(fields) {
  return fields
    .filter((field) => field.indexed && field.type !== "time")
    .slice(0, CHOSEN)
    .map((field) => field.name);
}

/** Returns the value that a row has in a column. */
export function readCell(row, column) {
  if (column === TIME || column === SOURCE) return row[column];
  return column === EVENT ? row.event : row.event[column];
}

/**
 * Returns widths in pixels that fit the first rows; the last column takes what is left.
 * @param {string[]} columns
 * @param {import("./query.js").Row[]} rows
 * @param {Set<string>} wide the columns that show their values whole
 */
export function measureColumns(columns, rows, wide) {
  const sample = rows.slice(0, SAMPLE);
  return columns.map((column, number) => {
    if (column === TIME) return TIME_WIDTH;
    if (column === EVENT) return null;
    const longest = sample.reduce((most, row) => Math.max(most, formatValue(readCell(row, column)).length), 0);
    const widest = wide.has(column) ? WIDEST_WHOLE : WIDEST;
    const characters = Math.min(widest, Math.max(NARROWEST, column.length + 2, longest));
    const width = Math.round(characters * CHARACTER + PADDING);
    return number === columns.length - 1 ? { least: width } : width;
  });
}

/** Returns the widths as a value of `grid-template-columns`. */
export function writeTemplate(widths) {
  return widths
    .map((width) => {
      if (width === null) return "minmax(420px, 1fr)";
      return typeof width === "number" ? `${width}px` : `minmax(${width.least}px, 1fr)`;
    })
    .join(" ");
}
