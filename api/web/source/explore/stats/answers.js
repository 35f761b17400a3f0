/** Asks the service for statistics of one source or of several, and reads the rows of its answers. */

import { stream } from "../../shared/api.js";

const AT_ONCE = 2;
const UNFIT = ["bad-filter", "unknown-field"];

/**
 * Yields the rows of an aggregation's answers, each of which replaces the one before, and the share of the time range
 * that they cover. Without `partial` there is only the last one.
 * @returns {AsyncGenerator<{rows: object[], share: number}>}
 */
export async function* readParts(body, signal) {
  let part = -1;
  let rows = [];
  for await (const lines of stream("/stats", body, signal)) {
    for (const line of lines) {
      if (line.summary?.status === "failed") throw new Error(line.summary.problem.detail);
      if (!line.rows) continue;
      rows = line.part === part ? [...rows, ...line.rows] : line.rows;
      part = line.part;
      if (rows.length === line.rows.length || line.complete) yield { rows, share: line.share };
    }
  }
}

/** Returns the rows of an aggregation. */
export async function readRows(body, signal) {
  let last = [];
  for await (const { rows } of readParts(body, signal)) last = rows;
  return last;
}

/**
 * Asks for something of each source, of few at once. A source that the filter or the field does not fit has no event
 * that could count, and is left out.
 * @template T
 * @param {string[]} sources
 * @param {(source: string) => Promise<T>} ask
 * @returns {Promise<Map<string, T>>} the answers by source
 */
export async function askSources(sources, ask) {
  const answers = new Map();
  const left = [...sources];
  const work = async () => {
    for (let source = left.shift(); source; source = left.shift()) {
      try {
        answers.set(source, await ask(source));
      } catch (error) {
        if (!UNFIT.includes(error.kind)) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}
