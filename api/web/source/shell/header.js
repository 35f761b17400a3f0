/** The bar at the top: views, the zone of times, the theme, help, and who is signed in. */

import { h } from "../shared/dom.js";
import { openHelp } from "./help.js";
import { openMenu } from "./popover.js";
import { nextTheme, nextZone, preferences } from "./preferences.js";

const ZONES = { utc: "UTC", local: "Local time" };
const THEMES = { auto: "Auto", light: "Light", dark: "Dark" };

/**
 * @param {{name: string, role: string}} who
 * @param {{name: string, title: string}[]} views
 * @param {() => void} signOut
 */
export function createHeader(who, views, signOut) {
  const links = views.map((view) => h("a", { href: `#/${view.name}`, "data-view": view.name }, view.title));
  const zone = h("button", {
    type: "button",
    class: "wide-only",
    onclick: nextZone,
    title: "Times in UTC or local time",
  });
  const theme = h("button", {
    type: "button",
    class: "wide-only",
    onclick: nextTheme,
    title: "Colours: as the system, light, dark",
  });
  const help = h(
    "button",
    { type: "button", class: "wide-only", onclick: openHelp, title: "Keys and filters (?)" },
    "Help",
  );
  const user = h(
    "button",
    { type: "button", class: "user", "aria-haspopup": "menu", onclick: openUser, title: "Who is signed in" },
    who.name,
  );

  /** Opens the menu of the session. It has all that the bar has no room for on a phone. */
  function openUser() {
    const state = preferences.get();
    openMenu(user, `Session of ${who.name}, ${who.role}`, [
      { text: `Times: ${ZONES[state.zone]}`, act: nextZone },
      { text: `Colours: ${THEMES[state.theme]}`, act: nextTheme },
      { text: "Help", act: openHelp },
      null,
      { text: `Sign out ${who.name} (${who.role})`, act: signOut },
    ]);
  }

  function showPreferences() {
    const state = preferences.get();
    zone.textContent = ZONES[state.zone];
    theme.textContent = THEMES[state.theme];
  }

  preferences.subscribe(showPreferences);
  showPreferences();
  const element = h(
    "header",
    { class: "top" },
    h(
      "a",
      { class: "brand", href: "#/explore" },
      h("span", { class: "brand-mark", "aria-hidden": "true" }),
      "Watchfloor",
    ),
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
