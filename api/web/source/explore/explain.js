/** Asks the service how it would run a search, without running it; what is wrong with a filter is said there too. */

import { send } from "../shared/api.js";
import { writeRequest, writeSources } from "./search.js";

const FILTER_FAULTS = ["bad-filter", "unknown-field"];

/** @param {() => import("./search.js").Search} getSearch */
export function createExplainer(getSearch) {
  function explain(changes = {}) {
    const search = { ...getSearch(), ...changes };
    return send("POST", "/explain", { source: writeSources(search), ...writeRequest(search) });
  }

  /** Returns the place and the reason of a filter's fault, or null. The place is in characters. */
  async function check(where) {
    try {
      await explain({ where });
      return null;
    } catch (error) {
      if (!FILTER_FAULTS.includes(error.kind)) return null;
      return { position: error.position ?? 0, reason: error.reason ?? error.message };
    }
  }

  return { explain: () => explain(), check };
}
