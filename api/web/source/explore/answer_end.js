/** Reads the summary at the end of an answer, in each format: it alone tells a whole answer from a partial one. */

const CSV_END = /^# status=(\w+)/;
const ARROW_MARK = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
const BRACE = "{".charCodeAt(0);
// The key among a Parquet footer's metadata, with the bytes of Thrift's compact protocol around it. No JSON has them.
const PARQUET_KEY = "\x18\x12watchfloor.summary\x18";

const READERS = { ndjson: readNdjson, csv: readCsv, arrow: readArrow, parquet: readParquet };

/**
 * Returns the status of an answer: `complete`, `deadline` and so on; null of one that was cut off.
 * @param {"ndjson"|"csv"|"arrow"|"parquet"} format
 * @param {Uint8Array} end its last bytes, at least as many as its summary has
 */
export function readStatus(format, end) {
  return READERS[format](end)?.status ?? null;
}

function readNdjson(end) {
  return parseJson(readLastLine(end))?.summary;
}

function readCsv(end) {
  return { status: CSV_END.exec(readLastLine(end))?.[1] };
}

/** Looks for the last text with its length before it and a zero behind it, as Arrow's messages have texts. */
function readArrow(end) {
  const stop = end.length - ARROW_MARK.length;
  if (!ARROW_MARK.every((byte, number) => end[stop + number] === byte)) return null;
  const view = new DataView(end.buffer, end.byteOffset, end.length);
  for (let at = end.lastIndexOf(BRACE); at >= 4; at = end.lastIndexOf(BRACE, at - 1)) {
    const length = view.getUint32(at - 4, true);
    const summary = end[at + length] === 0 ? parseJson(decode(end.subarray(at, at + length))) : null;
    if (summary) return summary;
  }
  return null;
}

/** Looks for the key in the footer; the text behind it has its length before it, seven bits a byte. */
function readParquet(end) {
  const text = decode(end, "latin1"); // a character a byte
  if (!text.endsWith("PAR1")) return null;
  const found = text.lastIndexOf(PARQUET_KEY);
  if (found < 0) return null;
  let at = found + PARQUET_KEY.length;
  let length = 0;
  for (let shift = 0; ; shift += 7) {
    const byte = end[at++];
    length += (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return parseJson(decode(end.subarray(at, at + length)));
}

function readLastLine(end) {
  const text = decode(end);
  return text.endsWith("\n") ? text.slice(text.lastIndexOf("\n", text.length - 2) + 1) : "";
}

const decode = (bytes, encoding = "utf-8") => new TextDecoder(encoding).decode(bytes);

function parseJson(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
