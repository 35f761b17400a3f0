/** The table of events: only the rows in sight are in the page. A grid for the keyboard: one cell has the focus. */

import { Virtualizer, elementScroll, observeElementOffset, observeElementRect } from "@tanstack/virtual-core";

import { everyFrame, fill, h } from "../../shared/dom.js";
import { formatValue } from "../../shared/texts.js";
import { formatTime } from "../../shared/times.js";
import { preferences } from "../../shell/preferences.js";
import { EVENT, SOURCE, TIME, measureColumns, readCell, writeTemplate } from "./columns.js";

const ROW_HEIGHT = 27;
const WRAPPED_HEIGHT = 81; // four lines; table.css has the same heights
const HEADER_HEIGHT = 34;
const OVERSCAN = 10;
const PAGE = 20;
// How much of an event one cell has, in one line or wrapped: fields, and characters of a value.
const SOME = { fields: 12, characters: 120 };
const MORE = { fields: 40, characters: 480 };

/**
 * @param {{
 *   onOpen: (index: number) => void,
 *   onValue: (anchor: Element, field: string, value: any, row: import("./query.js").Row) => void,
 *   onHeader: (anchor: Element, column: string) => void,
 *   onEnd: () => void,
 * }} handlers `onEnd` is called when the last row is in sight
 */
export function createTable({ onOpen, onValue, onHeader, onEnd }) {
  let rows = [];
  let columns = [];
  let marked = -1;
  let wraps = false;
  const wide = new Set(); // columns as wide as their values
  const shown = new Map(); // the rows that are in the page, by their index
  const active = { row: 0, column: 0 };
  let isAwaited = false; // the active cell had the focus when the rows were taken out of the page
  const header = h("div", { class: "row header", role: "row", "aria-rowindex": "1" });
  const body = h("div", { class: "rows", role: "rowgroup" });
  const grid = h(
    "div",
    { class: "grid", role: "grid", "aria-label": "Events" },
    h("div", { role: "rowgroup", class: "headers" }, header),
    body,
  );
  const scroller = h("div", { class: "table", onkeydown: press, onclick: click, onfocusin: activate }, grid);
  const paint = everyFrame(render);
  /** Makes all rows anew: at once where one has the focus, so that no key goes to a page without it. */
  const repaint = () => {
    const hadFocus = body.contains(document.activeElement);
    isAwaited ||= hadFocus;
    for (const row of shown.values()) row.remove();
    shown.clear();
    if (hadFocus) render();
    else paint();
  };
  const options = () => ({
    count: rows.length,
    getScrollElement: () => scroller,
    estimateSize: () => (wraps ? WRAPPED_HEIGHT : ROW_HEIGHT),
    overscan: OVERSCAN,
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    onChange: paint,
    scrollPaddingStart: HEADER_HEIGHT,
    scrollPaddingEnd: HEADER_HEIGHT, // the rows begin below it
  });
  const virtualizer = new Virtualizer(options());
  let unmount = null;

  /** Makes the rows that have come into sight, and drops those that have left it. */
  function render() {
    const seen = virtualizer.getVirtualItems();
    body.style.height = `${virtualizer.getTotalSize()}px`;
    const hadFocus = body.contains(document.activeElement) || (isAwaited && document.activeElement === document.body);
    const wanted = new Set(seen.map((item) => item.index));
    for (const [index, element] of shown) {
      if (wanted.has(index)) continue;
      element.remove();
      shown.delete(index);
    }
    let next = null; // in the page, too, a row stands before the one that follows it
    for (const { index, start } of seen.toReversed()) {
      if (!shown.has(index)) {
        shown.set(index, makeRow(index, start));
        body.insertBefore(shown.get(index), next);
      }
      next = shown.get(index);
    }
    if (hadFocus) focusActive();
    if (rows.length) isAwaited = false;
    if (rows.length && seen.at(-1)?.index === rows.length - 1) onEnd();
  }

  function makeRow(index, start) {
    const row = rows[index];
    const cells = columns.map((column, number) => makeCell(row, column, index, number));
    const element = h(
      "div",
      {
        class: index === marked ? "row marked" : "row",
        role: "row",
        "aria-rowindex": String(index + 2),
        "data-row": index,
      },
      cells,
    );
    element.style.transform = `translateY(${start}px)`;
    return element;
  }

  function makeCell(row, column, index, number) {
    const isActive = index === active.row && number === active.column;
    const properties = { role: "gridcell", tabindex: isActive ? "0" : "-1", "data-column": number };
    const value = readCell(row, column);
    if (column === TIME)
      return h("div", { ...properties, class: "cell time" }, formatTime(value, preferences.get().zone));
    if (column === EVENT) return h("div", { ...properties, class: "cell event" }, writeEvent(row));
    if (value === undefined || value === null) return h("div", { ...properties, class: "cell missing" }, "–");
    const text = formatValue(value);
    const kind = typeof value === "number" ? "cell value number" : "cell value";
    return h("div", { ...properties, class: kind, title: text.length > 24 ? text : null }, h("span", {}, text));
  }

  /** Writes the fields that have no column of their own, but not the time again. */
  function writeEvent(row) {
    const most = wraps ? MORE : SOME;
    return Object.entries(row.event)
      .filter(([name, value]) => !columns.includes(name) && value !== row.time)
      .slice(0, most.fields)
      .map(([name, value]) => [h("b", {}, name), ` ${formatValue(value).slice(0, most.characters)} `]);
  }

  const isNumber = (column) => typeof (rows[0] && readCell(rows[0], column)) === "number";

  function renderHeader() {
    fill(
      header,
      columns.map((column) => {
        const title = column === EVENT ? "event" : column === SOURCE ? "source" : column;
        const isFixed = [TIME, SOURCE, EVENT].includes(column);
        const content = isFixed
          ? title
          : h(
              "button",
              { type: "button", "aria-haspopup": "menu", onclick: (e) => onHeader(e.currentTarget, column) },
              title,
            );
        return h("div", { role: "columnheader", class: isNumber(column) ? "cell number" : "cell" }, content);
      }),
    );
  }

  function activate(event) {
    const cell = event.target.closest?.("[role=gridcell]");
    if (!cell) return false;
    active.row = Number(cell.parentElement.dataset.row);
    active.column = Number(cell.dataset.column);
    return true;
  }

  function click(event) {
    if (!activate(event)) return;
    focusActive();
    if (event.target.closest(".value > span")) openActive();
    else onOpen(active.row);
  }

  /** Opens the menu of the active cell's value, or the event. */
  function openActive() {
    const row = rows[active.row];
    const column = columns[active.column];
    const value = readCell(row, column);
    if ([TIME, EVENT].includes(column) || value === undefined || value === null) onOpen(active.row);
    else onValue(findCell() ?? scroller, column, value, row);
  }

  function press(event) {
    if (!event.target.closest?.("[role=gridcell]")) return;
    const steps = {
      ArrowDown: [1, 0],
      ArrowUp: [-1, 0],
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
      PageDown: [PAGE, 0],
      PageUp: [-PAGE, 0],
      Home: [0, -columns.length],
      End: [0, columns.length],
    };
    const step = steps[event.key];
    if (step) move(step[0], step[1], event.ctrlKey);
    else if (event.key === "Enter") openActive();
    else if (event.key === " ") onOpen(active.row);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function move(down, right, isFar) {
    const bound = (number, most) => Math.max(0, Math.min(most, number));
    if (isFar && right) active.row = right < 0 ? 0 : rows.length - 1;
    else active.column = bound(active.column + right, columns.length - 1);
    active.row = bound(active.row + down, rows.length - 1);
    virtualizer.scrollToIndex(active.row);
    render();
    focusActive();
  }

  function findCell() {
    return body.querySelector(`[data-row="${active.row}"] > [data-column="${active.column}"]`);
  }

  function focusActive() {
    for (const cell of body.querySelectorAll("[tabindex='0']")) cell.tabIndex = -1;
    const cell = findCell();
    if (!cell) return;
    cell.tabIndex = 0;
    cell.focus({ preventScroll: true });
  }

  function show(next, isOther) {
    rows = next;
    grid.setAttribute("aria-rowcount", String(rows.length + 1));
    virtualizer.setOptions(options());
    virtualizer._willUpdate();
    if (isOther) repaint();
    else paint();
  }

  preferences.subscribe(repaint);
  return {
    element: scroller,
    /** Follows the size of the window; called when the table is in the page. */
    mount() {
      unmount ??= virtualizer._didMount();
      virtualizer._willUpdate();
      paint();
    },
    /** Shows other rows, from the first one on. */
    setRows(next) {
      Object.assign(active, { row: 0, column: 0 });
      marked = -1;
      scroller.scrollTop = 0;
      show(next, true);
    },
    /** Rows were added: to the same array behind those that it had, or in another one. */
    update(next) {
      show(next, next !== rows);
    },
    setColumns(next) {
      columns = next;
      active.column = Math.min(active.column, columns.length - 1);
      grid.setAttribute("aria-colcount", String(columns.length));
      this.fit();
    },
    /** Makes the columns as wide as the first rows need. */
    fit() {
      renderHeader();
      grid.style.setProperty("--columns", writeTemplate(measureColumns(columns, rows, wide)));
      repaint();
    },
    isWide: (column) => wide.has(column),
    /** Makes a column as wide as its values are, or again as wide as others. */
    toggleWide(column) {
      if (!wide.delete(column)) wide.add(column);
      this.fit();
    },
    /** Shows values in up to four lines, or in one. The first row in sight stays there. */
    setWrap(next) {
      if (next === wraps) return;
      const first = Math.floor(scroller.scrollTop / options().estimateSize());
      wraps = next;
      grid.classList.toggle("wraps", wraps);
      virtualizer.setOptions(options());
      virtualizer.measure();
      body.style.height = `${virtualizer.getTotalSize()}px`;
      scroller.scrollTop = first * options().estimateSize();
      repaint();
    },
    /** Marks the row whose event is open, and brings it into sight. */
    mark(index) {
      shown.get(marked)?.classList.remove("marked");
      shown.get(index)?.classList.add("marked");
      marked = index;
      if (index >= 0) {
        active.row = index;
        virtualizer.scrollToIndex(index);
      }
      paint();
    },
    focus: () => focusActive(),
  };
}
