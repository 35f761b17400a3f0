/** The menu of a value: filter by it, leave it out, see where else it occurs, and what values its field has. */

import { copyText } from "../shell/notice.js";
import { openMenu } from "../shell/popover.js";
import { formatValue } from "../shared/texts.js";
import { addCondition, writeEquality } from "./filter/condition.js";

/**
 * @param {Element} anchor
 * @param {string} field
 * @param {any} value
 * @param {{
 *   get: () => import("./search.js").Search,
 *   filter: (where: string) => void,
 *   showTop: (field: string) => void,
 *   chooseSource: (name: string) => void,
 * }} search
 */
export function openValueMenu(anchor, field, value, search) {
  const text = formatValue(value);
  const label = `${field}: ${text.length > 40 ? `${text.slice(0, 40)}…` : text}`;
  if (field === "_source") {
    openMenu(anchor, label, [
      { text: "Only this source", act: () => search.chooseSource(value) },
      { text: "Copy", act: () => copyText(text, "Name") },
    ]);
    return;
  }
  const filterBy = (negated) => {
    // The elements of a list are values of their own.
    const conditions = [value].flat().map((one) => writeEquality(field, one, negated));
    search.filter(conditions.reduce(addCondition, search.get().where));
  };
  openMenu(anchor, label, [
    { text: "Only this value", act: () => filterBy(false) },
    { text: "Not this value", act: () => filterBy(true) },
    {
      text: `Only events with ${field}`,
      act: () => search.filter(addCondition(search.get().where, writeEquality(field, null, true))),
    },
    null,
    { text: "Sightings in all sources", act: () => (location.hash = writeSightings(value)) },
    { text: `Top values of ${field}`, act: () => search.showTop(field) },
    null,
    { text: "Copy value", act: () => copyText(Array.isArray(value) ? text : String(value), "Value") },
    { text: "Copy as condition", act: () => copyText(writeEquality(field, [value].flat()[0]), "Condition") },
  ]);
}

/** Returns the address of a value's sightings. */
function writeSightings(value) {
  return `#/sightings?${new URLSearchParams({ value: String([value].flat()[0]) })}`;
}
