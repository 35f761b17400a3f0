/** The menu of all else that one does with a search: download it, share it, repeat it elsewhere. */

import { download } from "../shared/api.js";
import { recall } from "../shared/memory.js";
import { describeError, formatBytes, formatCount } from "../shared/texts.js";
import { copyText, notify } from "../shell/notice.js";
import { openMenu } from "../shell/popover.js";
import { MOST_ROWS } from "./rows/query.js";
import { resolveRange, writeRequest, writeSources } from "./search.js";

const FORMATS = [{ name: "JSON lines", type: "application/x-ndjson", ending: "ndjson" }];

/**
 * @param {Element} anchor
 * @param {{get: () => import("./search.js").Search, readAll: () => void}} search
 */
export function openMoreMenu(anchor, search) {
  openMenu(anchor, "More", [
    ...FORMATS.map((format) => ({ text: `Download all events as ${format.name}`, act: () => save(search.get(), format) })),
    { text: `Read up to ${formatCount(MOST_ROWS)} rows into the table`, act: search.readAll },
    null,
    { text: "Copy a link to this search", act: () => copyText(location.href, "Link") },
    { text: "Copy as a curl command", act: () => copyText(writeCurl(search.get()), "Command") },
    { text: "Copy as a watchfloor command", act: () => copyText(writeCommand(search.get()), "Command") },
  ]);
}

/** Offers the filters that were run before. */
export function openHistory(anchor, search) {
  const filters = recall("filters", []);
  if (!filters.length) return notify("no filter was run here yet");
  openMenu(anchor, "Filters that were run before", filters.slice(0, 20).map((text) => ({ text, act: () => search.filter(text) })));
}

const writeBody = (search) => ({
  source: writeSources(search),
  ...writeRequest(search, resolveRange(search)),
  ...(search.columns.length && search.sources.length === 1 ? { columns: search.columns } : { own_columns: true }),
});

/** Downloads all events of a search. An answer that was cut off is not saved. */
async function save(search, format) {
  notify("downloading …");
  try {
    const response = await download("/query", writeBody(search), format.type);
    const blob = await response.blob();
    if (!(await isWhole(blob))) throw new Error("the answer was cut off; it is not saved");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `watchfloor-${new Date().toISOString().slice(0, 19).replace(/:/g, "")}.${format.ending}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    notify(`${formatBytes(blob.size)} saved`);
  } catch (error) {
    notify(describeError(error), "bad");
  }
}

/** Returns whether JSON lines end with the summary of a complete answer. */
async function isWhole(blob) {
  const end = await blob.slice(-65_536).text();
  const last = end.trimEnd().split("\n").at(-1);
  try {
    return JSON.parse(last).summary.status === "complete";
  } catch {
    return last.includes('"status":"complete"');
  }
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns a command for the same events. The token is a variable of the shell. */
function writeCurl(search) {
  const headers = `-H "Authorization: Bearer $WATCHFLOOR_TOKEN" -H 'Content-Type: application/json'`;
  return `curl -sS ${headers} ${location.origin}/api/v1/query -d ${quote(JSON.stringify(writeBody(search)))}`;
}

function writeCommand(search) {
  const options = [["--since", search.since], ["--until", search.until], ["--where", search.where.trim()]]
    .filter(([, value]) => value)
    .map(([name, value]) => `${name} ${quote(value)}`);
  if (search.columns.length) options.push(`--columns ${quote(search.columns.join(","))}`);
  return ["watchfloor query", quote(writeSources(search)), ...options].join(" ");
}
