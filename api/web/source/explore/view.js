/** Explore: a search, its histogram, its events, its statistics and its plan. This file joins the parts. */

import { h, show } from "../shared/dom.js";
import { recall, remember, rememberRecent } from "../shared/memory.js";
import { createStore } from "../shared/store.js";
import { describeError } from "../shared/texts.js";
import { notify } from "../shell/notice.js";
import { createExplainer } from "./explain.js";
import { createCatalog } from "./fields/catalog.js";
import { createFieldList } from "./fields/list.js";
import { createFilterEditor } from "./filter/editor.js";
import { createSuggestions } from "./filter/suggestions.js";
import { createHistogramRunner } from "./histogram/runner.js";
import { createPlanView } from "./plan_view.js";
import { createEvents } from "./rows/events.js";
import { EMPTY, readAddress, resolveRange, toAddress } from "./search.js";
import { createSourcePicker } from "./source_picker.js";
import { createStatsView } from "./stats/view.js";
import { createTabs } from "./tabs.js";
import { createTimePicker } from "./time/picker.js";
import { createToolbar } from "./toolbar.js";
import { openValueMenu } from "./value_menu.js";

const NARROW = matchMedia("(max-width: 800px)");
const ASKS = ["sources", "since", "until", "where"];

export function createExplore() {
  const catalog = createCatalog();
  const search = createStore(EMPTY);
  const explainer = createExplainer(search.get);
  const suggestions = createSuggestions(search.get, catalog);
  let fields = [];
  let shown = null; // the last search that was shown
  let showsFields = !NARROW.matches && recall("fields", true);
  let wraps = recall("wrap", false);

  // What the parts do to the search. All of it goes by way of the address.
  const chooseSources = (names) => go({ sources: names, columns: [], stack: "" });
  const actions = {
    get: search.get,
    show: (saved) => go(saved, true),
    filter: (where) => go({ where }),
    chooseSource: (name) => chooseSources([name]),
    showTop,
    readAll: () => events.readAll(),
    run: () => go({ where: editor.get() }, true),
    watch: () => events.watch(),
    cancel,
  };
  const onValue = (anchor, field, value) => openValueMenu(anchor, field, value, actions);

  const sources = createSourcePicker({
    get: () => search.get().sources,
    choose: chooseSources,
    list: () => catalog.listSources(true),
  });
  const time = createTimePicker({ get: search.get, choose: (since, until) => go({ since, until }, true) });
  const toolbar = createToolbar([sources.element, time.element], actions);
  const editor = createFilterEditor({
    listFields: () => fields,
    findValues: suggestions.findValues,
    check: explainer.check,
    run: actions.run,
  });
  const histogram = createHistogramRunner({
    get: search.get,
    listSources: () => catalog.listNames(search.get().sources),
    onRange: (since, until) => go({ since, until }),
    onStack: (stack) => go({ stack }),
    onValue,
  });
  const fieldList = createFieldList({ onToggle: toggleColumn, onValue, readTop: suggestions.readTop });
  const events = createEvents({
    get: search.get,
    onValue,
    onColumns: (columns) => go({ columns }),
    onRows: followRun,
    readTimeField: catalog.readTimeField,
  });
  const stats = createStatsView({ get: search.get, onRun: (text) => go({ stats: text, tab: "stats" }, true), onValue });
  const plan = createPlanView(explainer);
  const tabs = createTabs(
    {
      events: { title: "Events", element: events.element },
      stats: { title: "Stats", element: stats.element },
      plan: { title: "Plan", element: plan.element },
    },
    (tab) => go({ tab }),
  );
  const fieldsButton = h("button", { type: "button", onclick: toggleFields }, "Fields");
  const wrapButton = h(
    "button",
    { type: "button", onclick: toggleWrap, title: "Long values in up to four lines" },
    "Wrap",
  );
  const body = h("div", { class: "explore-body" }, fieldList.element, tabs.panels);
  const element = h(
    "main",
    { class: "explore" },
    h("h1", { class: "hidden" }, "Explore"),
    toolbar.element,
    editor.element,
    histogram.element,
    h("div", { class: "tabs" }, fieldsButton, tabs.list, wrapButton, events.status),
    body,
  );

  /** Changes the search by way of the address, so that the back button undoes it. `anew` runs it in any case. */
  function go(changes, anew = false) {
    const next = { ...search.get(), ...changes };
    const address = toAddress(next);
    if (location.hash !== address) location.hash = address;
    else if (anew) follow(next, true);
  }

  /**
   * Shows another search, and asks for what has changed since the last one that was shown. A search that another one
   * follows while its fields are read is not shown.
   */
  async function follow(next, anew = false) {
    search.update(next);
    const last = shown ?? EMPTY;
    const changed = new Set(Object.keys(EMPTY).filter((name) => String(last[name]) !== String(next[name])));
    if (changed.has("where")) editor.set(next.where);
    sources.render();
    time.render();
    const asks = anew || !shown || ASKS.some((name) => changed.has(name));
    if (!shown || changed.has("sources")) await readFields();
    if (toAddress(search.get()) !== toAddress(next)) return;
    shown = next;
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
    rememberRecent("filters", search.get().where);
    remember("sources", search.get().sources);
    const range = resolveRange(search.get());
    events.start(range);
    histogram.run(range);
    fieldList.refresh();
  }

  async function readFields() {
    const { sources: asked } = search.get();
    let found = [];
    try {
      found = await catalog.readFields(asked);
    } catch (error) {
      notify(describeError(error), "bad");
    }
    if (String(search.get().sources) !== String(asked)) return;
    fields = found;
    fieldList.setFields(fields);
    histogram.offerFields(fields, search.get().sources.length !== 1);
    stats.setFields(fields);
    editor.recheck();
  }

  function followRun(queryRun) {
    toolbar.showRun(queryRun);
    plan.showRun(queryRun.summary);
    fieldList.setRows(queryRun.rows);
  }

  function showTab() {
    const { tab } = search.get();
    tabs.show(tab);
    for (const button of [fieldsButton, wrapButton]) show(button, tab === "events");
    fieldsButton.setAttribute("aria-pressed", String(showsFields));
    wrapButton.setAttribute("aria-pressed", String(wraps));
    events.setWrap(wraps);
    body.classList.toggle("no-fields", tab !== "events" || !showsFields);
    if (tab === "events") events.mount();
  }

  function showTop(field) {
    if (showsFields && search.get().sources.length === 1) fieldList.open(field);
    else go({ tab: "stats", stats: `top 20 ${field}` });
  }

  function toggleColumn(name) {
    const columns = events.fieldColumns;
    go({ columns: columns.includes(name) ? columns.filter((known) => known !== name) : [...columns, name] });
  }

  function toggleFields() {
    showsFields = !showsFields;
    if (!NARROW.matches) remember("fields", showsFields);
    showTab();
  }

  function toggleWrap() {
    wraps = !wraps;
    remember("wrap", wraps);
    showTab();
  }

  function cancel() {
    events.cancel();
    histogram.cancel();
    stats.cancel();
  }

  const keys = {
    "/": () => editor.focus(),
    "[": () => histogram.move("earlier"),
    "]": () => histogram.move("later"),
    "+": () => histogram.move("in"),
    "-": () => histogram.move("out"),
    z: () => histogram.move("back"),
    Escape: () => events.closeEvent() || cancel(),
  };
  return {
    element,
    /** Shows the search of the address; of an address without one, the last search or a first one. */
    async enter(parameters) {
      let next = readAddress(parameters);
      if (!parameters.size) next = shown ? search.get() : { ...EMPTY, sources: await chooseFirst(catalog) };
      if (location.hash !== toAddress(next)) history.replaceState(null, "", toAddress(next));
      await follow(next);
      events.mount();
    },
    press(event) {
      if (!keys[event.key] || event.defaultPrevented) return;
      event.preventDefault();
      keys[event.key]();
    },
  };
}

/** Returns the sources to begin with: those of the last time, or the first one that there is. */
async function chooseFirst(catalog) {
  const known = await catalog.listNames([]).catch(() => []);
  const last = recall("sources", null);
  if (last?.every((name) => known.includes(name))) return last;
  return known.slice(0, 1);
}
