/** The bar at the top: views, the zone of times, the theme, help, and who is signed in. */

import { h } from "../shared/dom.js";
import { openHelp } from "./help.js";
import { openMenu } from "./popover.js";
import { nextTheme, nextZone, preferences } from "./preferences.js";

/**
 * @param {{name: string, role: string}} who
 * @param {{name: string, title: string}[]} views
 * @param {() => void} signOut
 */
export function createHeader(who, views, signOut) {
  const links = views.map((view) => h("a", { href: `#/${view.name}`, "data-view": view.name }, view.title));
  const zone = h("button", { type: "button", onclick: nextZone, title: "Times in UTC or local time" });
  const theme = h("button", { type: "button", onclick: nextTheme, title: "Colours: as the system, light, dark" });
  const help = h("button", { type: "button", onclick: openHelp, title: "Keys and filters (?)" }, "Help");
  const user = h(
    "button",
    { type: "button", "aria-haspopup": "menu", onclick: () => openUser(user), title: "Who is signed in" },
    who.name,
  );

  function openUser(anchor) {
    openMenu(anchor, "Session", [{ text: `Sign out ${who.name} (${who.role})`, act: signOut }]);
  }

  function showPreferences() {
    const state = preferences.get();
    zone.textContent = state.zone === "utc" ? "UTC" : "Local time";
    theme.textContent = { auto: "Auto", light: "Light", dark: "Dark" }[state.theme];
  }

  preferences.subscribe(showPreferences);
  showPreferences();
  const element = h(
    "header",
    { class: "top" },
    h("a", { class: "brand", href: "#/explore" }, h("span", { class: "brand-mark", "aria-hidden": "true" }), "Watchfloor"),
    h("nav", { "aria-label": "Views" }, links),
    h("div", { class: "top-right" }, zone, theme, help, user),
  );
  return {
    element,
    /** Marks the view that is shown. */
    mark(name) {
      for (const link of links) {
        if (link.dataset.view === name) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
      }
    },
  };
}
