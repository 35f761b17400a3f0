/** What the browser remembers for this page: choices and recent filters, never a token. */

const PREFIX = "watchfloor.";

export function recall(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(PREFIX + name)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function remember(name, value) {
  try {
    localStorage.setItem(PREFIX + name, JSON.stringify(value));
  } catch {
    // A browser that keeps nothing forgets the choice when the page is closed.
  }
}

/** Forgets what tells of data: for those who sit here next. */
export function forgetData() {
  for (const name of ["filters", "sightings", "stats"]) localStorage.removeItem(PREFIX + name);
}

/** Puts a text in front of a remembered list of distinct texts. */
export function rememberRecent(name, text, most = 40) {
  if (!text.trim()) return;
  remember(name, [text, ...recall(name, []).filter((known) => known !== text)].slice(0, most));
}
