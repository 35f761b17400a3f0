/** The list of fields: a column for a click, and a field's values with their numbers where it is opened. */

import { fill, h, show } from "../../shared/dom.js";
import { describeError, formatCount, formatShare, formatValue } from "../../shared/texts.js";
import { describeField, describeIndexes, isWhollyIndexed } from "./describe.js";

const SAMPLE = 1000;

/**
 * @param {{
 *   onToggle: (name: string) => void,
 *   onValue: (anchor: Element, field: string, value: any) => void,
 *   readTop: (field: import("./catalog.js").Field) => Promise<{values: {value: any, count: number}[], total: number}>,
 * }} handlers
 */
export function createFieldList({ onToggle, onValue, readTop }) {
  let shown = new Map();
  const search = h("input", {
    type: "search",
    "aria-label": "Find a field",
    placeholder: "Find a field",
    oninput: narrow,
  });
  const list = h("ul", { class: "field-list" });

  function narrow() {
    const text = search.value.trim().toLowerCase();
    for (const [name, entry] of shown) show(entry.element, `${name} ${entry.field.ecs}`.toLowerCase().includes(text));
  }

  function makeEntry(field) {
    const box = h("input", {
      type: "checkbox",
      "aria-label": `Column ${field.name}`,
      onchange: () => onToggle(field.name),
    });
    const coverage = h("span", { class: "coverage", title: "Share of the events here that have the field" });
    const values = h("div", { class: "field-values", hidden: true });
    const open = h(
      "button",
      {
        type: "button",
        class: "field-name",
        "aria-expanded": "false",
        title: describeField(field),
        onclick: () => toggle(field, open, values),
      },
      h("span", { class: "mono" }, field.name),
      field.indexed && makeMark(field),
    );
    const element = h("li", {}, h("div", { class: "field-line" }, box, open, coverage), values);
    return { field, element, box, coverage, open, values };
  }

  function makeMark(field) {
    return h("span", { class: "indexed", title: describeIndexes(field) }, isWhollyIndexed(field) ? "●" : "◐");
  }

  async function toggle(field, open, values) {
    const opens = values.hidden;
    show(values, opens);
    open.setAttribute("aria-expanded", String(opens));
    if (!opens) return;
    fill(values, h("p", { class: "hint" }, `${describeField(field)} …`));
    try {
      const { values: top, total } = await readTop(field);
      fill(
        values,
        h("p", { class: "hint" }, describeField(field)),
        top.length ? top.map((one) => makeValue(field, one, total)) : h("p", { class: "hint" }, "no values here"),
      );
    } catch (error) {
      fill(values, h("p", { class: "form-error" }, describeError(error)));
    }
  }

  function makeValue(field, { value, count }, total) {
    const bar = h("i", { "aria-hidden": "true" });
    bar.style.width = `${total ? (100 * count) / total : 0}%`;
    const button = h(
      "button",
      {
        type: "button",
        class: "top-value",
        "aria-haspopup": "menu",
        title: formatValue(value),
        onclick: () => onValue(button, field.name, value),
      },
      bar,
      h("span", {}, formatValue(value) || "(empty)"),
      h("b", {}, total ? formatShare(count / total) : formatCount(count)),
    );
    return button;
  }

  return {
    element: h("aside", { class: "fields-panel", "aria-label": "Fields" }, search, list),
    /** @param {import("./catalog.js").Field[]} fields */
    setFields(fields) {
      shown = new Map(fields.map((field) => [field.name, makeEntry(field)]));
      fill(
        list,
        [...shown.values()].map((entry) => entry.element),
      );
      narrow();
    },
    setColumns(columns) {
      for (const [name, entry] of shown) entry.box.checked = columns.includes(name);
    },
    /** Shows in what share of the first rows each field is. */
    setRows(rows) {
      const sample = rows.slice(0, SAMPLE);
      for (const [name, entry] of shown) {
        const having = sample.reduce((count, row) => count + (row.event[name] !== undefined ? 1 : 0), 0);
        entry.coverage.textContent = sample.length ? formatShare(having / sample.length) : "";
      }
    },
    /** Opens a field and brings it into sight. */
    open(name) {
      const entry = shown.get(name);
      if (!entry) return;
      search.value = "";
      narrow();
      entry.element.scrollIntoView({ block: "nearest" });
      if (entry.values.hidden) toggle(entry.field, entry.open, entry.values);
      entry.open.focus();
    },
    /** Asks anew for the values of fields that are open: the search has changed. */
    refresh() {
      for (const { field, open, values } of shown.values()) {
        if (values.hidden) continue;
        values.hidden = true;
        toggle(field, open, values);
      }
    },
  };
}
