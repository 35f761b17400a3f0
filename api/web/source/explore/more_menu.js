/** The menu of all else that one does with a search: download it, share it, repeat it elsewhere. */

import { recall } from "../shared/memory.js";
import { formatCount } from "../shared/texts.js";
import { copyText, notify } from "../shell/notice.js";
import { openMenu } from "../shell/popover.js";
import { FORMATS, saveAnswer } from "./export.js";
import { MOST_ROWS } from "./rows/query.js";
import { writeRequest, writeSources } from "./search.js";

/**
 * @param {Element} anchor
 * @param {{get: () => import("./search.js").Search, readAll: () => void}} search
 */
export function openMoreMenu(anchor, search) {
  const isStats = showsStats(search.get());
  openMenu(anchor, "More", [
    ...FORMATS.map((format) => ({
      text: `Download ${isStats ? "these stats" : "all events"} as ${format.name}`,
      act: () => saveAnswer(isStats ? "/stats" : "/query", writeBody(search.get()), format),
    })),
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
  openMenu(
    anchor,
    "Filters that were run before",
    filters.slice(0, 20).map((text) => ({ text, act: () => search.filter(text) })),
  );
}

const showsStats = (search) => search.tab === "stats" && search.stats !== "" && search.sources.length === 1;

/** Returns the body for the stats that a search shows, or else for all of its events: chosen columns, or all fields. */
function writeBody(search) {
  if (showsStats(search)) return { source: search.sources[0], ...writeRequest(search), stats: search.stats };
  const isMany = search.sources.length !== 1;
  const columns = search.columns.length && !isMany ? { columns: search.columns } : {};
  return { source: writeSources(search), ...writeRequest(search), ...(isMany ? { own_columns: true } : columns) };
}

const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Returns a command for the same events. The token is a variable of the shell. */
function writeCurl(search) {
  const headers = `-H "Authorization: Bearer $WATCHFLOOR_TOKEN" -H 'Content-Type: application/json'`;
  const path = showsStats(search) ? "stats" : "query";
  return `curl -sS ${headers} ${location.origin}/api/v1/${path} -d ${quote(JSON.stringify(writeBody(search)))}`;
}

function writeCommand(search) {
  const options = [
    ["--since", search.since],
    ["--until", search.until],
    ["--where", search.where.trim()],
    ["--stats", showsStats(search) ? search.stats : ""],
  ]
    .filter(([, value]) => value)
    .map(([name, value]) => `${name} ${quote(value)}`);
  if (search.columns.length && !showsStats(search)) options.push(`--columns ${quote(search.columns.join(","))}`);
  return ["watchfloor query", quote(writeSources(search)), ...options].join(" ");
}
