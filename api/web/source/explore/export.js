/** Saves whole answers as files. One that was cut off is not saved: each format tells by its end. */

import { download } from "../shared/api.js";
import { describeError, formatBytes } from "../shared/texts.js";
import { notify } from "../shell/notice.js";

const END_OF_ARROW = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/**
 * @typedef {{name: string, format: string, isWhole: (end: Uint8Array) => boolean}} Format
 * @type {Format[]}
 */
export const FORMATS = [
  { name: "JSON lines", format: "ndjson", isWhole: (end) => readLastLine(end).includes('"status":"complete"') },
  { name: "CSV", format: "csv", isWhole: (end) => readLastLine(end).startsWith("# status=complete") },
  {
    name: "Arrow",
    format: "arrow",
    isWhole: (end) => END_OF_ARROW.every((byte, n) => end.at(n - END_OF_ARROW.length) === byte),
  },
  { name: "Parquet", format: "parquet", isWhole: (end) => new TextDecoder().decode(end.slice(-4)) === "PAR1" },
];

/**
 * Downloads an answer and lets the browser save it.
 * @param {string} path
 * @param {object} body
 * @param {Format} format
 */
export async function saveAnswer(path, body, { format, isWhole }) {
  notify("downloading …");
  try {
    const blob = await (await download(`${path}?format=${format}`, body)).blob();
    const end = new Uint8Array(await blob.slice(-65_536).arrayBuffer());
    if (!isWhole(end)) throw new Error("the answer was cut off; it is not saved");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `watchfloor-${new Date().toISOString().slice(0, 19).replace(/:/g, "")}.${format}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    notify(`${formatBytes(blob.size)} saved`);
  } catch (error) {
    notify(describeError(error), "bad");
  }
}

function readLastLine(end) {
  return new TextDecoder().decode(end).trimEnd().split("\n").at(-1);
}
