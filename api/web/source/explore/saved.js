/** The box of saved searches: the service keeps them for whoever is signed in. */

import { get, send } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { describeError } from "../shared/texts.js";
import { notify } from "../shell/notice.js";
import { openPopover } from "../shell/popover.js";
import { EMPTY, writeSources } from "./search.js";

const PATH = "/searches";

/**
 * @param {Element} anchor
 * @param {{get: () => import("./search.js").Search, show: (search: import("./search.js").Search) => void}} search
 */
export function openSaved(anchor, search) {
  const name = h("input", {
    id: "saved-name",
    required: true,
    maxlength: "100",
    autocomplete: "off",
    placeholder: "failed logons",
  });
  const list = h("ul", {}, h("li", { class: "hint" }, "reading …"));
  const content = h(
    "div",
    { class: "saved-box" },
    h(
      "form",
      { onsubmit: save },
      h("label", { for: "saved-name" }, "Save this search as"),
      name,
      h("button", { type: "submit", class: "primary" }, "Save"),
    ),
    list,
  );
  const close = openPopover(anchor, content, { label: "Saved searches" });
  name.focus();
  read();

  async function read() {
    try {
      const { searches } = await get(PATH);
      fill(list, searches.length ? searches.map(makeEntry) : h("li", { class: "hint" }, "You have saved none yet."));
    } catch (error) {
      fill(list, h("li", { class: "form-error" }, describeError(error)));
    }
  }

  function makeEntry({ name: title, search: saved }) {
    const open = () => {
      close();
      search.show(readSaved(saved));
    };
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "open", onclick: open, title: saved.where ?? "all events" },
        h("span", {}, title),
        h("small", {}, saved.source),
      ),
      h(
        "button",
        { type: "button", "aria-label": `Remove ${title}`, title: "Remove", onclick: () => change("DELETE", title) },
        "✕",
      ),
    );
  }

  function save(event) {
    event.preventDefault();
    change("PUT", name.value.trim(), writeSaved(search.get()));
  }

  async function change(method, title, body) {
    try {
      await send(method, `${PATH}/${encodeURIComponent(title)}`, body);
      name.value = "";
      await read();
    } catch (error) {
      notify(describeError(error), "bad");
    }
  }
}

/** Returns a search as the service keeps it. Relative times stay relative. */
function writeSaved(search) {
  const { since, until, where, columns, stats, stack, tab } = search;
  const members = { source: writeSources(search), since, until, where, stats, view: { stack, tab } };
  if (columns.length) members.columns = columns;
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value));
}

/** Returns the search of the page that is kept so. A search that a program has saved may lack members. */
function readSaved(saved) {
  const { source = "*", view = {}, ...members } = saved;
  const texts = Object.entries(members).filter(
    ([name, value]) => name in EMPTY && (typeof value === "string" || name === "columns"),
  );
  const sources = source === "*" ? [] : source.split(",");
  return { ...EMPTY, ...Object.fromEntries(texts), stack: view.stack ?? "", tab: view.tab ?? "events", sources };
}
