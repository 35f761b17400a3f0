/** Short messages at the edge of the window, which screen readers speak. */

import { h } from "../shared/dom.js";

const SECONDS = 6;
const place = h("div", { class: "notices", role: "status", "aria-live": "polite" });

export function createNotices() {
  return place;
}

/** Shows a message for some seconds. */
export function notify(text, kind = "plain") {
  const message = h("p", { class: `notice ${kind}` }, text);
  place.append(message);
  setTimeout(() => message.remove(), SECONDS * 1000);
}

/** Copies a text and says so. */
export async function copyText(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    notify(`${what} copied`);
  } catch {
    notify("the browser does not let this page copy here", "bad");
  }
}
