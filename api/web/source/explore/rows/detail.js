/** One event: all its fields with their menus, its JSON, and what happened around it. */

import { fill, h } from "../../shared/dom.js";
import { formatValue } from "../../shared/texts.js";
import { formatTime } from "../../shared/times.js";
import { copyText } from "../../shell/notice.js";
import { preferences } from "../../shell/preferences.js";
import { createNeighbours } from "./neighbours.js";

const FIELDS = "Fields";
const AROUND = "Around";

/**
 * @param {{
 *   onValue: (anchor: Element, field: string, value: any) => void,
 *   onStep: (step: number) => void,
 *   onClose: () => void,
 *   readTimeField: (source: string) => Promise<string>,
 * }} handlers
 */
export function createDetail({ onValue, onStep, onClose, readTimeField }) {
  let row = null;
  let shown = FIELDS;
  const neighbours = createNeighbours({ readTimeField, onOpen: show });
  const title = h("h2", {});
  const content = h("div", {
    class: "detail-content",
    tabindex: "0",
    role: "region",
    "aria-label": "Fields of the event",
  });
  const ways = [FIELDS, "JSON", AROUND].map((way) =>
    h(
      "button",
      { type: "button", "aria-pressed": String(way === shown), "data-way": way, onclick: () => choose(way) },
      way,
    ),
  );
  const element = h(
    "aside",
    { class: "detail", "aria-label": "Event", hidden: true, onkeydown: press },
    h(
      "div",
      { class: "detail-head" },
      title,
      h(
        "div",
        { class: "buttons" },
        h(
          "button",
          { type: "button", title: "The newer event", "aria-label": "Newer event", onclick: () => onStep(-1) },
          "↑",
        ),
        h(
          "button",
          { type: "button", title: "The older event", "aria-label": "Older event", onclick: () => onStep(1) },
          "↓",
        ),
        ways,
        h("button", { type: "button", onclick: () => copyText(writeJson(), "Event") }, "Copy"),
        h("button", { type: "button", title: "Close (Esc)", "aria-label": "Close", onclick: onClose }, "✕"),
      ),
    ),
    content,
  );

  function choose(way) {
    shown = way;
    for (const button of ways) button.setAttribute("aria-pressed", String(button.dataset.way === way));
    render();
  }

  const writeJson = () => JSON.stringify({ _source: row._source, ...row.event }, null, 2);

  function render() {
    if (!row) return;
    fill(
      title,
      h("span", { class: "mono" }, formatTime(row.time, preferences.get().zone)),
      " ",
      h("small", {}, row._source),
    );
    const around = ways.at(-1);
    around.disabled = !row._id;
    around.title = row._id
      ? "What happened before and after it in this source"
      : "Your labels hide where this event comes from";
    if (shown === "JSON") fill(content, h("pre", {}, writeJson()));
    else if (shown === AROUND && row._id) {
      fill(content, neighbours.element);
      neighbours.show(row);
    } else fill(content, h("dl", { class: "fields" }, Object.entries(row.event).map(writeField)));
  }

  function writeField([name, value]) {
    const button = h(
      "button",
      { type: "button", class: "value", "aria-haspopup": "menu", onclick: () => onValue(button, name, value) },
      formatValue(value) || "(empty)",
    );
    return [h("dt", {}, name), h("dd", {}, button)];
  }

  function press(event) {
    if (event.key !== "Escape" || document.querySelector(":popover-open")) return;
    event.stopPropagation();
    onClose();
  }

  function show(next) {
    row = next;
    element.hidden = false;
    content.scrollTop = 0;
    render();
  }

  preferences.subscribe(render);
  return {
    element,
    show,
    close() {
      row = null;
      element.hidden = true;
    },
    get isOpen() {
      return row !== null;
    },
  };
}
