/** The button that shows the sources, and the box in which one, several or all are chosen. */

import { fill, h, show } from "../shared/dom.js";
import { openPopover } from "../shell/popover.js";

/**
 * @param {{
 *   get: () => string[], choose: (names: string[]) => void,
 *   list: () => Promise<{name: string, title: string}[]>,
 * }} sources no chosen names stand for all
 */
export function createSourcePicker({ get, choose, list }) {
  const button = h("button", {
    type: "button",
    class: "picker",
    "aria-haspopup": "dialog",
    id: "sources",
    onclick: open,
  });

  async function open() {
    const all = await list();
    const chosen = new Set(get());
    const search = h("input", {
      type: "search",
      "aria-label": "Find a source",
      placeholder: "Find a source",
      oninput: narrow,
    });
    const rows = all.map(({ name, title }) => {
      const box = h("input", {
        type: "checkbox",
        checked: chosen.has(name),
        onchange: (e) => mark(name, e.target.checked),
      });
      const only = h("button", { type: "button", class: "only", onclick: () => take([name]) }, "only");
      return h(
        "li",
        { "data-text": `${name} ${title}`.toLowerCase() },
        h("label", {}, box, h("span", { class: "mono" }, name), h("small", {}, title === name ? "" : title)),
        only,
      );
    });
    const content = h(
      "div",
      { class: "source-box" },
      search,
      h("ul", {}, rows),
      h(
        "div",
        { class: "buttons" },
        h("button", { type: "button", onclick: () => take([]) }, "All sources"),
        h(
          "button",
          {
            type: "button",
            class: "primary",
            onclick: () => take(all.map((s) => s.name).filter((n) => chosen.has(n))),
          },
          "Apply",
        ),
      ),
    );
    const close = openPopover(button, content, { label: "Sources" });
    search.focus();

    function narrow() {
      for (const row of rows) show(row, row.dataset.text.includes(search.value.trim().toLowerCase()));
    }

    function mark(name, isChosen) {
      if (isChosen) chosen.add(name);
      else chosen.delete(name);
    }

    function take(names) {
      close();
      choose(names.length === all.length ? [] : names);
    }
  }

  return {
    element: button,
    render() {
      const names = get();
      const text = names.length === 0 ? "All sources" : names.length < 3 ? names.join(", ") : `${names.length} sources`;
      fill(button, h("span", { class: "label" }, "Sources "), text);
    },
  };
}
