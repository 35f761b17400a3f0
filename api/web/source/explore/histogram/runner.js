/** Reads the histogram of a search, and moves its time range. */

import { describeError } from "../../shared/texts.js";
import { toIso, toMicros } from "../../shared/times.js";
import { resolveRange } from "../search.js";
import { moveRange } from "../time/picker.js";
import { makeEmpty, readHistogram } from "./counts.js";
import { findCommonExtent } from "./extent.js";
import { createHistogram } from "./panel.js";

/**
 * @param {{
 *   get: () => import("../search.js").Search, listSources: () => Promise<string[]>,
 *   onRange: (since: string, until: string) => void, onStack: (field: string) => void,
 *   onValue: (anchor: Element, field: string, value: any) => void,
 * }} handlers
 */
export function createHistogramRunner({ get, listSources, onRange, onStack, onValue }) {
  let controller = null;
  let extent = null;
  let lastRange = {};
  const earlier = []; // the ranges that were zoomed from
  const panel = createHistogram({
    onZoom: (since, until) => zoomTo(toIso(Math.floor(since / 1e3) * 1e3), toIso(Math.ceil(until / 1e3) * 1e3)),
    onMove: move,
    onStack,
    onSeries: (anchor, value) => onValue(anchor, get().stack, value),
  });
  panel.offerBack(false);

  function zoomTo(since, until) {
    earlier.push([get().since, get().until]);
    panel.offerBack(true);
    onRange(since, until);
  }

  function move(how) {
    if (how === "back") {
      const range = earlier.pop();
      panel.offerBack(earlier.length > 0);
      if (range) onRange(...range);
    } else if (extent) zoomTo(...moveRange(extent, how));
  }

  async function run(range = lastRange) {
    lastRange = range;
    controller?.abort();
    const own = (controller = new AbortController());
    try {
      const sources = await listSources();
      const found = await findRange(sources, range, own.signal);
      if (own.signal.aborted) return;
      if (!found) return panel.fail("no events in this range");
      extent = found;
      for await (const histogram of readHistogram(get(), sources, found, own.signal)) {
        if (!own.signal.aborted) panel.draw(histogram);
      }
    } catch (error) {
      if (error.name === "AbortError") return;
      if (extent)
        panel.draw({
          ...makeEmpty(extent),
          series: [{ name: "events", counts: makeEmpty(extent).starts.map(() => 0), total: 0 }],
          share: 1,
        });
      panel.fail(describeError(error));
    }
  }

  return {
    element: panel.element,
    run,
    move,
    cancel: () => controller?.abort(),
    offerFields: panel.offerFields,
    showStack: panel.showStack,
  };
}

/** Returns the ends of the range in microseconds; of a range that is open, those of the events in it. */
async function findRange(sources, range, signal) {
  const { since, until } = range;
  if (since && until) return [toMicros(since), toMicros(until)];
  const found = await findCommonExtent(sources, range, signal);
  if (!found) return since ? [toMicros(since), toMicros(resolveRange({ until: "now" }).until)] : null;
  return [since ? toMicros(since) : found[0], until ? toMicros(until) : found[1]];
}
