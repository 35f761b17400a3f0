/** A table that scrolls by itself where the window is narrow. */

import { h } from "../shared/dom.js";

/**
 * @param {string} label
 * @param {string[]} columns those of numbers begin with #
 * @param {Node[]} rows
 */
export function makeTable(label, columns, rows) {
  const heads = columns.map((name) => {
    const isNumber = name.startsWith("#");
    return h("th", { scope: "col", class: isNumber ? "number" : null }, isNumber ? name.slice(1) : name);
  });
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": label },
    h("table", { class: "plain wide" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, rows)),
  );
}
