/** Ingest: the sources with their volume by day for analysts. */

import { get } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { describeError, formatCount } from "../shared/texts.js";
import { formatMicros, toMicros } from "../shared/times.js";
import { EMPTY, toAddress } from "../explore/search.js";
import { preferences } from "../shell/preferences.js";
import { drawSparkline } from "../sightings/sparkline.js";

const DAY = 86400e6;

export function createIngest(who) {
  const content = h("div", {});
  const element = h("main", { class: "ingest" }, h("h1", {}, "Ingest"), content);

  async function readVolumes() {
    const { sources } = await get("/sources");
    const rows = sources.map((source) => {
      const row = { source, element: h("tr", {}) };
      fill(row.element, h("td", {}, h("a", { href: toAddress({ ...EMPTY, sources: [source.name] }) }, source.name)),
        h("td", {}, source.title === source.name ? "" : source.title), h("td", { colspan: "4", class: "hint" }, "…"));
      return row;
    });
    const columns = ["Source", "Title", "Events", "First day", "Last day", "By day"];
    fill(content, h("h2", {}, "Sources"), h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sources" },
      h("table", { class: "plain wide" },
        h("thead", {}, h("tr", {}, columns.map((name) => h("th", { scope: "col", class: name === "Events" ? "number" : null }, name)))),
        h("tbody", {}, rows.map((row) => row.element)))));
    for (const row of rows) await fillRow(row);
  }

  async function fillRow({ source, element: row }) {
    const { zone } = preferences.get();
    const lead = [...row.children].slice(0, 2);
    try {
      const { buckets } = await get("/timeline", { source: source.name, bucket: "day" });
      if (!buckets.length) return fill(row, lead, h("td", { class: "number" }, "0"), h("td", {}, "–"), h("td", {}, "–"), h("td", {}));
      const ends = [toMicros(buckets[0].start), toMicros(buckets.at(-1).start) + DAY];
      const total = buckets.reduce((sum, bucket) => sum + bucket.count, 0);
      fill(row, lead, h("td", { class: "number" }, formatCount(total)),
        ends.map((end, last) => h("td", { class: "mono" }, formatMicros(end - last * DAY, zone).slice(0, 10))),
        h("td", {}, drawSparkline(buckets, ends, `volume of ${source.name} by day`, DAY)));
    } catch (error) {
      fill(row, lead, h("td", { colspan: "4", class: "form-error" }, describeError(error)));
    }
  }

  return {
    element,
    async enter() {
      try {
        if (who.role === "analyst") await readVolumes();
      } catch (error) {
        fill(content, h("p", { class: "form-error", role: "alert" }, describeError(error)));
      }
    },
  };
}
