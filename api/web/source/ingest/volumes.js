/** The sources with their volume by day, for analysts. */

import { get } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { describeError, formatCount } from "../shared/texts.js";
import { formatMicros, toMicros } from "../shared/times.js";
import { EMPTY, toAddress } from "../explore/search.js";
import { preferences } from "../shell/preferences.js";
import { drawSparkline } from "../sightings/sparkline.js";
import { makeTable } from "../shell/table.js";

const DAY = 86400e6;
const COLUMNS = ["Source", "Title", "#Events", "First day", "Last day", "By day"];

export function createVolumes() {
  const element = h("section", { "aria-label": "Sources" });

  async function read() {
    const { sources } = await get("/sources");
    const rows = sources.map((source) => {
      const title = source.title === source.name ? "" : source.title;
      const link = h("a", { href: toAddress({ ...EMPTY, sources: [source.name] }) }, source.name);
      return h("tr", {}, h("td", {}, link), h("td", {}, title), h("td", { colspan: "4", class: "hint" }, "…"));
    });
    fill(element, h("h2", {}, "Sources"), makeTable("Sources", COLUMNS, rows));
    for (const [number, source] of sources.entries()) await fillRow(rows[number], source);
  }

  async function fillRow(row, source) {
    const lead = [...row.children].slice(0, 2);
    try {
      const { buckets } = await get("/timeline", { source: source.name, bucket: "day" });
      fill(
        row,
        lead,
        buckets.length ? makeVolume(source, buckets) : h("td", { colspan: "4", class: "hint" }, "no events"),
      );
    } catch (error) {
      fill(row, lead, h("td", { colspan: "4", class: "form-error" }, describeError(error)));
    }
  }

  return { element, read };
}

function makeVolume(source, buckets) {
  const days = [buckets[0], buckets.at(-1)].map((bucket) => toMicros(bucket.start));
  const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
  const label = `volume of ${source.name} by day`;
  return [
    h("td", { class: "number" }, formatCount(total)),
    days.map((day) => h("td", { class: "mono" }, formatMicros(day, preferences.get().zone).slice(0, 10))),
    h("td", {}, drawSparkline(buckets, [days[0], days[1] + DAY], label, DAY)),
  ];
}
