/** Explore: a search, its histogram, its events, its statistics and its plan. This file joins the parts. */

import { send } from "../shared/api.js";
import { fill, h, show } from "../shared/dom.js";
import { recall, remember, rememberRecent } from "../shared/memory.js";
import { createStore } from "../shared/store.js";
import { describeError } from "../shared/texts.js";
import { notify } from "../shell/notice.js";
import { createCatalog } from "./fields/catalog.js";
import { createFieldList } from "./fields/list.js";
import { createFilterEditor } from "./filter/editor.js";
import { createHistogramRunner } from "./histogram/runner.js";
import { openHistory, openMoreMenu } from "./more_menu.js";
import { createPlanView } from "./plan_view.js";
import { createEvents } from "./rows/events.js";
import { EMPTY, readAddress, resolveRange, toAddress, writeRequest, writeSources } from "./search.js";
import { createSourcePicker } from "./source_picker.js";
import { createStatsView } from "./stats/view.js";
import { createTimePicker } from "./time/picker.js";
import { createSuggestions } from "./filter/suggestions.js";
import { openValueMenu } from "./value_menu.js";

const TABS = { events: "Events", stats: "Stats", plan: "Plan" };
const ASKS = new Set(["sources", "since", "until", "where"]);

export function createExplore() {
  const catalog = createCatalog();
  const search = createStore(EMPTY);
  let fields = [];
  let wasRun = false;

  const actions = {
    get: search.get,
    filter: (where) => go({ where }),
    chooseSource: (name) => go({ sources: [name], columns: [], stack: "" }),
    readAll: () => events.readAll(),
    showTop: (field) => {
      if (matchMedia("(max-width: 800px)").matches || search.get().sources.length !== 1) go({ tab: "stats", stats: `top 20 ${field}` });
      else fieldList.open(field);
    },
  };
  const onValue = (anchor, field, value) => openValueMenu(anchor, field, value, actions);
  const suggestions = createSuggestions(search.get, catalog);
  const editor = createFilterEditor({
    listFields: () => fields,
    findValues: suggestions.findValues,
    check: checkFilter,
    run: (where) => go({ where }, true),
  });
  const sources = createSourcePicker({
    get: () => search.get().sources,
    choose: (names) => go({ sources: names, columns: [], stack: "" }),
    list: () => catalog.listSources(true),
  });
  const time = createTimePicker({ get: search.get, choose: (since, until) => go({ since, until }, true) });
  const histogram = createHistogramRunner({
    get: search.get,
    listSources: async () => (search.get().sources.length ? search.get().sources : (await catalog.listSources()).map((s) => s.name)),
    onRange: (since, until) => go({ since, until }),
    onStack: (stack) => go({ stack }),
    onValue,
  });
  const fieldList = createFieldList({ onToggle: toggleColumn, onValue, readTop: suggestions.readTop });
  const events = createEvents({
    get: search.get,
    onValue,
    onColumns: (columns) => go({ columns }),
    onRows: (run) => {
      plan.showRun(run.summary);
      fieldList.setRows(run.rows);
      showRunning(run);
    },
    onAround: (source, since, until) => go({ sources: [source], since, until, where: "", columns: [], stack: "" }),
  });
  const stats = createStatsView({ get: search.get, onRun: (text) => go({ stats: text, tab: "stats" }, true), onValue });
  const plan = createPlanView({ explain });

  const runButton = h("button", { type: "button", class: "primary run", onclick: () => go({ where: editor.get() }, true) }, "Run");
  const cancelButton = h("button", { type: "button", class: "danger run", hidden: true, onclick: cancel, title: "Cancel (Esc)" }, "Cancel");
  const liveButton = h("button", { type: "button", "aria-pressed": "false", onclick: toggleLive, title: "New events as they arrive" }, "Live");
  const historyButton = h("button", { type: "button", "aria-haspopup": "menu", onclick: () => openHistory(historyButton, actions) }, "History");
  const moreButton = h("button", { type: "button", "aria-haspopup": "menu", onclick: () => openMoreMenu(moreButton, actions) }, "More");
  const tabs = Object.entries(TABS).map(([name, title]) =>
    h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, "data-tab": name, onclick: () => go({ tab: name }) }, title));
  const panels = { events: events.element, stats: stats.element, plan: plan.element };
  const fieldsButton = h("button", { type: "button", class: "fields-button", "aria-pressed": "true", onclick: toggleFields }, "Fields");

  const body = h("div", { class: "explore-body" }, fieldList.element,
    h("div", { class: "results" }, Object.entries(panels).map(([name, panel]) =>
      h("div", { class: "panel", role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}` }, panel))));
  const element = h("main", { class: "explore" },
    h("h1", { class: "hidden" }, "Explore"),
    h("div", { class: "toolbar" }, sources.element, time.element, h("div", { class: "buttons" }, historyButton, moreButton, liveButton, runButton, cancelButton)),
    editor.element,
    histogram.element,
    h("div", { class: "tabs" }, fieldsButton, h("div", { role: "tablist", "aria-label": "Results", onkeydown: moveTab }, tabs), events.status),
    body);

  /** Changes the search by way of the address, so that the browser's own back button undoes it. `anew` runs it in any case. */
  function go(changes, anew = false) {
    const next = { ...search.get(), ...changes };
    const address = toAddress(next);
    if (location.hash === address) {
      if (anew) follow(next, true);
    } else location.hash = address;
  }

  async function follow(next, anew = false) {
    const before = search.get();
    search.update(next);
    const changed = new Set(Object.keys(EMPTY).filter((name) => String(before[name]) !== String(next[name])));
    editor.set(next.where);
    sources.render();
    time.render();
    const asks = anew || !wasRun || [...ASKS].some((name) => changed.has(name));
    if (!wasRun || changed.has("sources")) await readFields();
    if (search.get() !== next && toAddress(search.get()) !== toAddress(next)) return;
    showTab();
    histogram.showStack(next.stack);
    events.setColumns(fields);
    fieldList.setColumns(events.columns);
    if (asks) run();
    else if (changed.has("stack")) histogram.run();
    if (next.tab === "stats" && (asks || changed.has("tab") || changed.has("stats"))) stats.run();
    if (next.tab === "plan" && (asks || changed.has("tab"))) plan.show();
  }

  function run() {
    wasRun = true;
    const { where, sources: names } = search.get();
    rememberRecent("filters", where);
    remember("sources", names);
    const range = resolveRange(search.get());
    events.start(range);
    histogram.run(range);
    fieldList.refresh();
  }

  async function readFields() {
    try {
      fields = await catalog.readFields(search.get().sources);
    } catch (error) {
      fields = [];
      notify(describeError(error), "bad");
    }
    const isMany = search.get().sources.length !== 1;
    fieldList.setFields(fields);
    histogram.offerFields(fields, isMany);
    stats.setFields(fields);
    editor.recheck();
  }

  /** Returns what is wrong with a filter, as the service sees it. */
  async function checkFilter(where) {
    try {
      await send("POST", "/explain", { source: writeSources(search.get()), ...writeRequest({ ...search.get(), where }) });
      return null;
    } catch (error) {
      if (!["bad-filter", "unknown-field"].includes(error.kind)) return null;
      return { position: error.position ?? 0, reason: error.reason ?? error.message };
    }
  }

  function explain() {
    return send("POST", "/explain", { source: writeSources(search.get()), ...writeRequest(search.get()) });
  }

  function showRunning({ status }) {
    const isRunning = ["running", "watching"].includes(status);
    show(runButton, !isRunning);
    show(cancelButton, isRunning);
    liveButton.setAttribute("aria-pressed", String(status === "watching"));
  }

  function showTab() {
    const chosen = search.get().tab;
    for (const tab of tabs) {
      const isChosen = tab.dataset.tab === chosen;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      show(element.querySelector(`#panel-${tab.dataset.tab}`), isChosen);
    }
    show(fieldsButton, chosen === "events");
    body.classList.toggle("no-fields", chosen !== "events" || !recall("fields", true));
    if (chosen === "events") events.mount();
  }

  function moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  }

  function toggleColumn(name) {
    const columns = events.fieldColumns;
    go({ columns: columns.includes(name) ? columns.filter((known) => known !== name) : [...columns, name] });
  }

  function toggleFields() {
    remember("fields", !recall("fields", true));
    fieldsButton.setAttribute("aria-pressed", String(recall("fields", true)));
    showTab();
  }

  function toggleLive() {
    if (events.run.status === "watching") cancel();
    else events.watch();
  }

  function cancel() {
    events.cancel();
    histogram.cancel();
    stats.cancel();
  }

  return {
    element,
    async enter(parameters) {
      let next = readAddress(parameters);
      if (![...parameters].length && !wasRun) next = { ...next, sources: await chooseFirst(catalog) };
      else if (![...parameters].length) next = search.get();
      if (location.hash !== toAddress(next)) history.replaceState(null, "", toAddress(next));
      await follow(next);
      events.mount();
    },
    press(event) {
      const keys = {
        "/": () => editor.focus(), "[": () => histogram.move("earlier"), "]": () => histogram.move("later"),
        "+": () => histogram.move("in"), "-": () => histogram.move("out"), z: () => histogram.move("back"),
        Escape: cancel,
      };
      if (!keys[event.key] || event.defaultPrevented) return;
      event.preventDefault();
      keys[event.key]();
    },
  };
}

/** Returns the sources to begin with: those of the last time, or the first one that there is. */
async function chooseFirst(catalog) {
  const known = (await catalog.listSources().catch(() => [])).map((source) => source.name);
  const last = recall("sources", null);
  if (last?.every((name) => known.includes(name))) return last;
  return known.slice(0, 1);
}
