/** The buttons beside sources and time: run, cancel, live, what was run before or saved, and all else. */

import { h, show } from "../shared/dom.js";
import { openHistory, openMoreMenu } from "./more_menu.js";
import { openSaved } from "./saved.js";

/**
 * @param {Element[]} pickers
 * @param {{
 *   get: () => import("./search.js").Search, show: (search: import("./search.js").Search) => void,
 *   filter: (where: string) => void, readAll: () => void,
 *   run: () => void, cancel: () => void, watch: () => void,
 * }} actions
 */
export function createToolbar(pickers, actions) {
  const run = h("button", { type: "button", class: "primary run", onclick: actions.run }, "Run");
  const cancel = h(
    "button",
    { type: "button", class: "danger run", hidden: true, onclick: actions.cancel, title: "Cancel (Esc)" },
    "Cancel",
  );
  const live = h(
    "button",
    { type: "button", "aria-pressed": "false", onclick: toggleLive, title: "New events as they arrive" },
    "Live",
  );
  const history = h(
    "button",
    { type: "button", "aria-haspopup": "menu", onclick: () => openHistory(history, actions) },
    "History",
  );
  const saved = h(
    "button",
    { type: "button", "aria-haspopup": "dialog", onclick: () => openSaved(saved, actions) },
    "Saved",
  );
  const more = h(
    "button",
    { type: "button", "aria-haspopup": "menu", onclick: () => openMoreMenu(more, actions) },
    "More",
  );

  function toggleLive() {
    if (live.getAttribute("aria-pressed") === "true") actions.cancel();
    else actions.watch();
  }

  return {
    element: h(
      "div",
      { class: "toolbar" },
      pickers,
      h("div", { class: "buttons" }, history, saved, more, live, run, cancel),
    ),
    /** Follows the query: one that runs can be cancelled. */
    showRun({ status }) {
      const isRunning = ["running", "watching"].includes(status);
      const hadFocus = [run, cancel].includes(document.activeElement);
      show(run, !isRunning);
      show(cancel, isRunning);
      if (hadFocus) (isRunning ? cancel : run).focus();
      live.setAttribute("aria-pressed", String(status === "watching"));
    },
  };
}
