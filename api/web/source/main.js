/** The page: signs in, then shows the view that the address names. */

import "uplot/dist/uPlot.min.css";
import "./styles/all.css";

import { createExplore } from "./explore/view.js";
import { createIngest } from "./ingest/view.js";
import { get, send, whenSignedOut } from "./shared/api.js";
import { fill, h } from "./shared/dom.js";
import { forgetData } from "./shared/memory.js";
import { createHeader } from "./shell/header.js";
import { openHelp } from "./shell/help.js";
import { createNotices, notify } from "./shell/notice.js";
import { closePopover } from "./shell/popover.js";
import { applyPreferences } from "./shell/preferences.js";
import { showSignIn } from "./shell/sign_in.js";
import { createSightings } from "./sightings/view.js";

const VIEWS = [
  { name: "explore", title: "Explore", role: "analyst", create: createExplore },
  { name: "sightings", title: "Sightings", role: "analyst", create: createSightings },
  { name: "ingest", title: "Ingest", role: null, create: createIngest },
];
const page = document.getElementById("page");
let shown = null;

async function begin() {
  applyPreferences();
  document.body.append(createNotices());
  whenSignedOut(() => {
    if (!shown) return;
    notify("the session has ended; sign in again");
    askToken();
  });
  try {
    openPage(await get("/session"));
  } catch (error) {
    if (error.status !== 401) notify(error.message, "bad");
    askToken();
  }
}

function askToken() {
  shown?.close();
  shown = null;
  showSignIn(page, openPage);
}

/** Builds the page for the one who has signed in. Views are made when they are first seen. */
function openPage(who) {
  const views = VIEWS.filter((view) => [null, who.role].includes(view.role) || who.role === "admin");
  const header = createHeader(who, views, signOut);
  const place = h("div", { class: "view" });
  const made = new Map();
  let current = null;

  function follow() {
    const [name, query = ""] = location.hash.replace(/^#\/?/, "").split("?");
    const view = views.find((known) => known.name === name) ?? views[0];
    if (!made.has(view.name)) made.set(view.name, view.create(who));
    const next = made.get(view.name);
    closePopover();
    if (next !== current) {
      current?.leave?.();
      fill(place, next.element);
      current = next;
    }
    header.mark(view.name);
    document.title = `${view.title} · Watchfloor`;
    next.enter(new URLSearchParams(query));
  }

  function press(event) {
    const isTyping = event.composedPath()[0]?.closest?.("input, textarea, select, [contenteditable=true]");
    // What is open over the page has its own keys: Escape closes it, unless that is prevented here.
    const isCovered = document.querySelector("dialog[open], :popover-open") !== null;
    if (isTyping || isCovered || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "?") openHelp();
    else current?.press?.(event);
  }

  window.addEventListener("hashchange", follow);
  document.addEventListener("keydown", press);
  fill(page, header.element, place);
  shown = {
    close() {
      window.removeEventListener("hashchange", follow);
      document.removeEventListener("keydown", press);
      current?.leave?.();
    },
  };
  follow();
}

async function signOut() {
  shown?.close();
  shown = null;
  forgetData();
  await send("DELETE", "/session").catch(() => {});
  history.replaceState(null, "", location.pathname);
  askToken();
}

begin();
