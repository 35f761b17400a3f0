/** One event: all its fields with their menus, and its JSON. */

import { fill, h } from "../../shared/dom.js";
import { formatValue } from "../../shared/texts.js";
import { formatTime } from "../../shared/times.js";
import { copyText } from "../../shell/notice.js";
import { preferences } from "../../shell/preferences.js";

/**
 * @param {{
 *   onValue: (anchor: Element, field: string, value: any) => void,
 *   onStep: (step: number) => void,
 *   onClose: () => void,
 *   onAround: (row: import("./query.js").Row) => void,
 * }} handlers
 */
export function createDetail({ onValue, onStep, onClose, onAround }) {
  let row = null;
  let isRaw = false;
  const title = h("h2", {});
  const content = h("div", { class: "detail-content", tabindex: "0", role: "region", "aria-label": "Fields of the event" });
  const raw = h("button", { type: "button", "aria-pressed": "false", onclick: toggleRaw }, "JSON");
  const element = h(
    "aside",
    { class: "detail", "aria-label": "Event", hidden: true, onkeydown: press },
    h("div", { class: "detail-head" },
      title,
      h("div", { class: "buttons" },
        h("button", { type: "button", title: "The newer event", "aria-label": "Newer event", onclick: () => onStep(-1) }, "↑"),
        h("button", { type: "button", title: "The older event", "aria-label": "Older event", onclick: () => onStep(1) }, "↓"),
        raw,
        h("button", { type: "button", onclick: () => copyText(writeJson(), "Event") }, "Copy"),
        h("button", { type: "button", title: "Events of this source a minute around it", onclick: () => onAround(row) }, "Around"),
        h("button", { type: "button", title: "Close (Esc)", "aria-label": "Close", onclick: onClose }, "✕"))),
    content,
  );

  function toggleRaw() {
    isRaw = !isRaw;
    raw.setAttribute("aria-pressed", String(isRaw));
    render();
  }

  const writeJson = () => JSON.stringify({ _source: row._source, ...row.event }, null, 2);

  function render() {
    if (!row) return;
    fill(title, h("span", { class: "mono" }, formatTime(row.time, preferences.get().zone)), " ", h("small", {}, row._source));
    if (isRaw) fill(content, h("pre", {}, writeJson()));
    else fill(content, h("dl", { class: "fields" }, Object.entries(row.event).map(writeField)));
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

  preferences.subscribe(render);
  return {
    element,
    show(next) {
      row = next;
      element.hidden = false;
      content.scrollTop = 0;
      render();
    },
    close() {
      row = null;
      element.hidden = true;
    },
    get isOpen() {
      return row !== null;
    },
  };
}
