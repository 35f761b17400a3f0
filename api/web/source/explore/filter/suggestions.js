/** Values of fields for completion and for the list of fields, from the service. */

import { get } from "../../shared/api.js";
import { resolveRange, writeRequest } from "../search.js";
import { askSources, readRows } from "../stats/answers.js";
import { mergeValues, readValues } from "../stats/top_values.js";
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
      const { signal } = (controller = new AbortController());
      const search = getSearch();
      const field = (await catalog.readFields(search.sources)).find((known) => known.name === name);
      const asked = { field: name, prefix, limit: MOST, ...resolveRange(search) };
      const ask = async (source) => (await get("/values", { ...asked, source }, signal)).values;
      try {
        return mergeValues((await askSources(field?.sources ?? [], ask)).values(), MOST);
      } catch {
        return []; // a completion that fails offers nothing
      }
    },
    /** Returns the most frequent values of a field among the events of the search, and how many events have it. */
    async readTop(field) {
      const search = getSearch();
      const request = writeRequest(search, resolveRange(search));
      const stats = `count(${writeField(field.name)}) as total`;
      const [values, totals] = await Promise.all([
        readValues(request, field.name, field.sources, MOST_TOP),
        askSources(field.sources, async (source) => (await readRows({ ...request, source, stats }))[0]?.total ?? 0),
      ]);
      const total = [...totals.values()].reduce((sum, one) => sum + one, 0);
      return { values: mergeValues(values.values(), MOST_TOP), total };
    },
  };
}
