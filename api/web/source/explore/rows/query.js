/** Runs a query and collects its rows as they arrive. */

import { stream } from "../../shared/api.js";
import { writeRequest, writeSources } from "../search.js";

export const PAGE_ROWS = 1000;
export const MOST_ROWS = 100_000;

/**
 * @typedef {{time: string, _source: string, event: Object<string, any>, _id?: string}} Row
 * @typedef {{
 *   status: "idle"|"running"|"complete"|"limit"|"deadline"|"cancelled"|"failed"|"watching",
 *   rows: Row[], summary: object|null, error: Error|null, began: number, seconds: number, first: number|null,
 *   rate: number,
 * }} Run
 * The rate is in rows a second, of those that this answer has brought.
 */

/** @returns {Run} */
const newRun = () => ({
  status: "idle",
  rows: [],
  summary: null,
  error: null,
  began: performance.now(),
  seconds: 0,
  first: null,
  rate: 0,
});

/**
 * Returns a runner of one query at a time.
 * @param {(run: Run) => void} onChange is called when rows have arrived, and when the state changes
 */
export function createQueryRunner(onChange) {
  let run = newRun();
  let controller = null;

  async function read(body, status, addRows) {
    controller?.abort();
    const own = (controller = new AbortController());
    const mine = run;
    mine.status = status;
    mine.error = null;
    mine.began = performance.now();
    onChange(mine);
    const had = mine.rows.length;
    const seconds = () => (performance.now() - mine.began) / 1000;
    try {
      for await (const lines of stream("/query", body, own.signal)) {
        const last = lines.at(-1);
        const rows = last?.summary && !last.event ? lines.slice(0, -1) : lines;
        if (rows.length) {
          mine.first ??= seconds();
          addRows(mine, rows);
        }
        if (rows.length !== lines.length) finish(mine, last.summary);
        mine.seconds = seconds();
        mine.rate = (mine.rows.length - had) / mine.seconds;
        if (mine === run) onChange(mine);
      }
      if (mine.status === status) fail(mine, new Error("the answer was cut off: it has no summary"));
    } catch (error) {
      if (error.name === "AbortError") mine.status = "cancelled";
      else fail(mine, error);
    }
    mine.seconds = seconds();
    if (mine === run) onChange(mine);
  }

  function finish(mine, summary) {
    mine.summary = summary;
    mine.status = summary.status;
    if (summary.status === "failed") mine.error = new Error(summary.problem?.detail ?? "the query failed");
  }

  function fail(mine, error) {
    mine.status = "failed";
    mine.error = error;
  }

  const append = (mine, rows) => {
    for (const row of rows) mine.rows.push(row);
  };
  const writeBody = (search, range) => ({
    source: writeSources(search),
    ...writeRequest(search, range),
    own_columns: true,
    ids: true,
  });

  return {
    get run() {
      return run;
    },
    /** Starts a query; one that runs is cancelled. */
    start(search, range, rows = PAGE_ROWS) {
      run = newRun();
      return read({ ...writeBody(search, range), limit: rows }, "running", append);
    },
    /** Reads the rows that follow those that are here. */
    more(search, range, rows = PAGE_ROWS) {
      return read({ ...writeBody(search, range), limit: rows, cursor: run.summary.cursor }, "running", append);
    },
    /** Shows the events of the last minutes, and new ones on top of them as they arrive. */
    watch(search) {
      run = newRun();
      const { since, until, ...body } = writeBody(search, {});
      const most = 10 * PAGE_ROWS;
      return read({ ...body, watch: true }, "watching", (mine, rows) => {
        mine.rows = [...rows.toReversed(), ...mine.rows].slice(0, most);
      });
    },
    /** Ends the query. The service notices that its client has gone, and stops its scans. */
    cancel: () => controller?.abort(),
  };
}
