/** Saves whole answers as files. One that was cut off or is partial is not saved: each format tells by its end. */

import { download } from "../shared/api.js";
import { describeError, formatBytes } from "../shared/texts.js";
import { notify } from "../shell/notice.js";
import { readStatus } from "./answer_end.js";

const MOST_END = 1 << 22; // bytes, more than any summary has

/**
 * @typedef {{name: string, format: string}} Format
 * @type {Format[]}
 */
export const FORMATS = [
  { name: "JSON lines", format: "ndjson" },
  { name: "CSV", format: "csv" },
  { name: "Arrow", format: "arrow" },
  { name: "Parquet", format: "parquet" },
];

/**
 * Downloads an answer and lets the browser save it.
 * @param {string} path
 * @param {object} body
 * @param {Format} format
 */
export async function saveAnswer(path, body, { format }) {
  notify("downloading …");
  try {
    const blob = await (await download(`${path}?format=${format}`, body)).blob();
    const status = readStatus(format, new Uint8Array(await blob.slice(-MOST_END).arrayBuffer()));
    if (status === null) throw new Error("the answer was cut off; it is not saved");
    if (status !== "complete") throw new Error(`the answer is partial (${status}); it is not saved`);
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
