/** The help: keys, and the filter language on half a page. */

import { h } from "../shared/dom.js";

const KEYS = [
  ["/", "to the filter"],
  ["Enter", "in the filter: run"],
  ["Shift Enter", "in the filter: a new line"],
  ["Ctrl Space", "in the filter: complete"],
  ["Esc", "close a box or the event; cancel the query"],
  ["↑ ↓ ← →", "in the events: from cell to cell"],
  ["Enter", "on a value: its menu; on a time: the event"],
  ["[ ]", "the range before, the range after"],
  ["+ −", "zoom in, zoom out"],
  ["z", "zoom back"],
  ["?", "this help"],
];
const FILTERS = [
  ["status >= 500", "numbers, times and addresses have an order"],
  ["host = *.example.com", "a star is any text"],
  ["src in 10.0.0.0/8", "networks"],
  ["status in 500..599, user in (root, admin)", "ranges, lists"],
  ["uri ~ /\\.(exe|dll)$/i", "regular expressions"],
  ["exists user and not method = GET", "and, or, not, parentheses"],
  ["orig_bytes > resp_bytes * 10", "arithmetic, functions"],
  ["ip in @bad_ips", "a named list; ip is any field that is an address"],
];

export function openHelp() {
  const rows = (pairs, tag) =>
    h(
      "dl",
      {},
      pairs.map(([what, meaning]) => [h("dt", {}, h(tag, {}, what)), h("dd", {}, meaning)]),
    );
  const dialog = h(
    "dialog",
    { class: "help", "aria-labelledby": "help-title", onclose: () => dialog.remove() },
    h("h2", { id: "help-title" }, "Help"),
    h(
      "div",
      { class: "help-columns" },
      h("section", {}, h("h3", {}, "Keys"), rows(KEYS, "kbd")),
      h("section", {}, h("h3", {}, "Filters"), rows(FILTERS, "code")),
    ),
    h(
      "form",
      { method: "dialog", class: "buttons" },
      h("button", { class: "primary", autofocus: true }, "Close"),
      h("a", { href: "/static/licenses.txt", target: "_blank" }, "Licences of the libraries"),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
