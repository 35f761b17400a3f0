/** The tabs over the results. The arrow keys go from one to the next. */

import { h, show } from "../shared/dom.js";

/**
 * @param {Object<string, {title: string, element: HTMLElement}>} tabs by name
 * @param {(name: string) => void} choose
 */
export function createTabs(tabs, choose) {
  const buttons = Object.entries(tabs).map(([name, { title }]) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "aria-controls": `panel-${name}`,
        "data-tab": name,
        onclick: () => choose(name),
      },
      title,
    ),
  );
  const panels = Object.entries(tabs).map(([name, { element }]) =>
    h("div", { class: "panel", role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}` }, element),
  );

  function move(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[(at + step + buttons.length) % buttons.length];
    next.focus();
    next.click();
  }

  return {
    list: h("div", { role: "tablist", "aria-label": "Results", onkeydown: move }, buttons),
    panels: h("div", { class: "results" }, panels),
    show(name) {
      buttons.forEach((button, number) => {
        const isChosen = button.dataset.tab === name;
        button.setAttribute("aria-selected", String(isChosen));
        button.tabIndex = isChosen ? 0 : -1;
        show(panels[number], isChosen);
      });
    },
  };
}
