/** Values of fields for completion and for the list of fields, from the service. */

import { get, stream } from "../../shared/api.js";
import { resolveRange, writeRequest } from "../search.js";
import { writeField } from "./condition.js";

const MOST = 30;
const MOST_TOP = 8;

/**
 * @param {() => import("../search.js").Search} getSearch
 * @param {ReturnType<typeof import("../fields/catalog.js").createCatalog>} catalog
 */
export function createSuggestions(getSearch, catalog) {
  let controller = null;

  return {
    /** Returns the most frequent values of a field that begin with `prefix`; those of an earlier call are given up. */
    async findValues(name, prefix) {
      controller?.abort();
      controller = new AbortController();
      const search = getSearch();
      const field = (await catalog.readFields(search.sources)).find((known) => known.name === name);
      const asked = { source: field?.sources[0], field: name, prefix, limit: MOST, ...resolveRange(search) };
      try {
        return (await get("/values", asked, controller.signal)).values;
      } catch {
        return []; // a completion that fails offers nothing
      }
    },
    /** Returns the most frequent values of a field among the events of the search, and how many events have it. */
    async readTop(field) {
      const search = getSearch();
      const body = { source: field.sources[0], ...writeRequest(search, resolveRange(search)) };
      const name = writeField(field.name);
      const [top, [all]] = await Promise.all([
        readRows({
          ...body,
          stats: `count() by ${name} as value | having exists value | sort -count | limit ${MOST_TOP}`,
        }),
        readRows({ ...body, stats: `count(${name}) as total` }),
      ]);
      return { values: top, total: all?.total ?? 0 };
    },
  };
}

async function readRows(body) {
  const rows = [];
  for await (const lines of stream("/stats", body)) {
    for (const line of lines) {
      if (line.summary?.status === "failed") throw new Error(line.summary.problem.detail);
      if (line.rows) rows.push(...line.rows);
    }
  }
  return rows;
}
