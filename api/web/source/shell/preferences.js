/** The theme of the page and the zone of its times, as the browser remembers them. */

import { recall, remember } from "../shared/memory.js";
import { createStore } from "../shared/store.js";

const THEMES = ["auto", "light", "dark"];
const probe = document.createElement("i");

/** @type {ReturnType<typeof createStore<{theme: "auto"|"light"|"dark", zone: "utc"|"local"}>>} */
export const preferences = createStore({ theme: recall("theme", "auto"), zone: recall("zone", "utc") });

/** Follows the preferences on the page. Pictures that are drawn listen to `themechange` of the window. */
export function applyPreferences() {
  const apply = () => {
    document.documentElement.dataset.theme = preferences.get().theme;
    window.dispatchEvent(new Event("themechange"));
  };
  preferences.subscribe((state, changed) => {
    for (const name of changed) remember(name, state[name]);
    if (changed.has("theme")) apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  apply();
}

export function nextTheme() {
  const { theme } = preferences.get();
  preferences.update({ theme: THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] });
}

export function nextZone() {
  preferences.update({ zone: preferences.get().zone === "utc" ? "local" : "utc" });
}

/** Returns a colour of the theme, for pictures that are drawn. */
export function readColour(name) {
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
