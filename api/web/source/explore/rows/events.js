/** The events of a search: their table, the open event beside it, and the line that tells how the query goes. */

import { fill, h, show } from "../../shared/dom.js";
import { describeError, formatCount, formatNumber, formatSeconds } from "../../shared/texts.js";
import { formatTime, toMicros } from "../../shared/times.js";
import { openMenu } from "../../shell/popover.js";
import { preferences } from "../../shell/preferences.js";
import { EVENT, SOURCE, TIME, chooseColumns } from "./columns.js";
import { createDetail } from "./detail.js";
import { MOST_ROWS, PAGE_ROWS, createQueryRunner } from "./query.js";
import { createTable } from "./table.js";

/**
 * @param {{
 *   get: () => import("../search.js").Search,
 *   onValue: (anchor: Element, field: string, value: any) => void,
 *   onColumns: (columns: string[]) => void,
 *   onRows: (run: import("./query.js").Run) => void,
 *   readTimeField: (source: string) => Promise<string>,
 * }} handlers
 */
export function createEvents({ get, onValue, onColumns, onRows, readTimeField }) {
  let range = {};
  let columns = [TIME, EVENT];
  let open = -1;
  let measured = null;
  const runner = createQueryRunner(follow);
  const table = createTable({ onOpen: openEvent, onValue, onHeader: openColumnMenu, onEnd: readMore });
  const detail = createDetail({
    onValue,
    onStep: (step) => openEvent(open + step),
    onClose: closeEvent,
    readTimeField,
  });
  const bar = h("div", { class: "progress", "aria-hidden": "true" }, h("i", {}));
  const status = h("p", { class: "status-line", role: "status" });
  const empty = h("p", { class: "empty", hidden: true });

  /** Shows what has arrived. */
  function follow(run) {
    if (measured !== run) {
      table.setRows(run.rows);
      closeEvent();
    } else table.update(run.rows);
    if (run.rows.length && (measured !== run || !run.isFitted)) {
      run.isFitted = true;
      table.fit();
    }
    measured = run;
    fill(status, describeRun(run));
    showProgress(run);
    const isOver = !["running", "watching", "idle"].includes(run.status);
    show(empty, isOver && run.rows.length === 0);
    fill(empty, run.error ? describeError(run.error) : "No events match in this range.");
    onRows(run);
  }

  function showProgress(run) {
    const isRunning = ["running", "watching"].includes(run.status);
    bar.classList.toggle("running", isRunning);
    bar.firstChild.style.width = isRunning ? `${100 * estimateShare(run)}%` : "0";
  }

  function estimateShare(run) {
    const { since, until } = range;
    if (!run.rows.length) return 0.04;
    if (!since || !until) return Math.min(1, run.rows.length / PAGE_ROWS);
    const covered = (toMicros(until) - toMicros(run.rows.at(-1).time)) / (toMicros(until) - toMicros(since));
    return Math.max(0.04, Math.min(1, covered), run.rows.length / PAGE_ROWS);
  }

  function openEvent(index) {
    const row = runner.run.rows[index];
    if (!row) return;
    open = index;
    detail.show(row);
    table.mark(index);
  }

  /** Closes the open event, and returns whether there was one. */
  function closeEvent() {
    if (!detail.isOpen) return false;
    detail.close();
    open = -1;
    table.mark(-1);
    table.focus();
    return true;
  }

  /** Reads the rows behind the last one, when it is in sight. */
  function readMore() {
    const { status: state, summary } = runner.run;
    if (state === "limit" && summary?.cursor) runner.more(get(), range);
  }

  function openColumnMenu(anchor, column) {
    const names = columns.filter((name) => ![TIME, SOURCE, EVENT].includes(name));
    const at = names.indexOf(column);
    const move = (to) => {
      const next = names.filter((name) => name !== column);
      next.splice(to, 0, column);
      onColumns(next);
    };
    openMenu(anchor, `Column ${column}`, [
      ...(at > 0 ? [{ text: "Move left", act: () => move(at - 1) }] : []),
      ...(at < names.length - 1 ? [{ text: "Move right", act: () => move(at + 1) }] : []),
      { text: "As wide as its values", checked: table.isWide(column), act: () => table.toggleWide(column) },
      { text: "Remove the column", act: () => onColumns(names.filter((name) => name !== column)) },
      { text: "Only this column", act: () => onColumns([column]) },
      { text: "The columns of the beginning", act: () => onColumns([]) },
    ]);
  }

  return {
    element: h("div", { class: "events" }, h("div", { class: "table-box" }, bar, table.element, empty), detail.element),
    status,
    get run() {
      return runner.run;
    },
    get columns() {
      return columns;
    },
    /** The names of the fields that are shown as columns. */
    get fieldColumns() {
      return columns.filter((name) => ![TIME, SOURCE, EVENT].includes(name));
    },
    start(next) {
      range = next;
      runner.start(get(), range);
    },
    /** Reads the search's rows anew, up to the most that the table holds. */
    readAll: () => runner.start(get(), range, MOST_ROWS),
    watch: () => runner.watch(get()),
    closeEvent,
    cancel: runner.cancel,
    mount: table.mount,
    setWrap: table.setWrap,
    setColumns(fields) {
      const { columns: chosen, sources } = get();
      const next = chooseColumns(chosen, fields, sources.length !== 1);
      if (String(next) === String(columns)) return;
      columns = next;
      table.setColumns(columns);
    },
  };
}

/** Returns a sentence about how the query goes. */
function describeRun({ status, rows, summary, error, seconds, first, rate }) {
  const count = formatNumber(rows.length, "row");
  const until = rows.length ? ` back to ${formatTime(rows.at(-1).time, preferences.get().zone)}` : "";
  const texts = {
    idle: "",
    running: `${count}${until} · ${formatCount(Math.round(rate))} rows/s · ${formatSeconds(seconds)} …`,
    watching: `live · ${count}`,
    complete: !rows.length
      ? `no rows · after ${formatSeconds(seconds)}`
      : `all ${count} · first after ${formatSeconds(first)}, all after ${formatSeconds(seconds)}`,
    limit: `the newest ${count}${until} · first after ${formatSeconds(first)} · more as you scroll`,
    deadline: `${count}${until} · stopped at the deadline`,
    cancelled: `cancelled · ${count}${until}`,
    failed: `failed · ${count} · ${describeError(error)}`,
  };
  return texts[status] ?? `${status} · ${formatCount(rows.length)} · ${summary?.status ?? ""}`;
}
