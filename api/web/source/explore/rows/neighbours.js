/** The events of the same source next to an open one in time. */

import { get } from "../../shared/api.js";
import { fill, h } from "../../shared/dom.js";
import { describeError, formatValue } from "../../shared/texts.js";
import { formatTime } from "../../shared/times.js";
import { preferences } from "../../shell/preferences.js";

const EACH_SIDE = 10;
const MOST_CHARACTERS = 160;

/**
 * @param {{
 *   readTimeField: (source: string) => Promise<string>,
 *   onOpen: (row: import("./query.js").Row) => void,
 * }} options
 */
export function createNeighbours({ readTimeField, onOpen }) {
  const element = h("div", { class: "neighbours" });

  /** Shows what happened around an event. */
  async function show(row) {
    fill(element, h("p", { class: "hint" }, "reading …"));
    try {
      const path = `/events/${encodeURIComponent(row._id)}`;
      const [answer, timeField] = await Promise.all([
        get(path, { newer: EACH_SIDE, older: EACH_SIDE }),
        readTimeField(row._source),
      ]);
      const toRow = ({ _id, ...event }) => ({ _id, _source: answer.source, time: event[timeField], event });
      fill(
        element,
        h("ol", {}, [
          answer.newer.map((event) => makeEntry(toRow(event), timeField)),
          h("li", { class: "marked", "aria-current": "true" }, writeEntry(row, timeField)),
          answer.older.map((event) => makeEntry(toRow(event), timeField)),
        ]),
      );
    } catch (error) {
      fill(element, h("p", { class: "form-error" }, describeError(error)));
    }
  }

  function makeEntry(row, timeField) {
    return h(
      "li",
      {},
      h("button", { type: "button", class: "value", onclick: () => onOpen(row) }, writeEntry(row, timeField)),
    );
  }

  return { element, show, clear: () => fill(element) };
}

function writeEntry(row, timeField) {
  const fields = Object.entries(row.event).filter(([name]) => name !== timeField);
  const text = fields
    .map(([, value]) => formatValue(value))
    .join(" ")
    .slice(0, MOST_CHARACTERS);
  return [h("b", {}, formatTime(row.time, preferences.get().zone)), ` ${text}`];
}
