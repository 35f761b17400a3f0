/** Times: the texts that the service takes, microseconds since 1970, and what people read. */

const UNITS = { us: 1, ms: 1e3, s: 1e6, m: 60e6, h: 3600e6, d: 86400e6, w: 7 * 86400e6 };
const PART = /(\d+(?:\.\d+)?)(us|ms|s|m|h|d|w)/g;
const RELATIVE = /^(?:now)?\s*([+-])\s*((?:\d+(?:\.\d+)?(?:us|ms|s|m|h|d|w))+)$/;
const ISO = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,6})\d*)?)?(Z|[+-]\d\d:?\d\d)?$/;

/** Returns the microseconds of a duration such as 1d12h. */
function parseDuration(text) {
  let sum = 0;
  for (const [, number, unit] of text.matchAll(PART)) sum += Number(number) * UNITS[unit];
  return sum;
}

/**
 * Returns the microseconds since 1970 that a text stands for; null if it is none that this page can read.
 * @param {string} text
 * @param {number} now in microseconds
 */
export function parseTime(text, now) {
  const given = text.trim();
  if (given === "now") return now;
  const relative = RELATIVE.exec(given);
  if (relative) return Math.round(now + (relative[1] === "-" ? -1 : 1) * parseDuration(relative[2]));
  if (/^\d{9,}(\.\d+)?$/.test(given)) return Math.round(Number(given) * 1e6);
  const iso = ISO.exec(given);
  if (!iso) return null;
  const millis = Date.parse(`${iso[1]}T${iso[2] ?? "00:00"}${iso[4] ?? "Z"}`);
  return Number.isNaN(millis) ? null : millis * 1000 + Number((iso[3] ?? "").padEnd(6, "0"));
}

/** Returns the microseconds of a time in an answer of the service. */
export function toMicros(iso) {
  return parseTime(iso, 0);
}

/** Returns ISO 8601 in UTC with microseconds, without zeros at the end. */
export function toIso(micros) {
  const whole = Math.floor(micros / 1e6);
  const rest = Math.round(micros - whole * 1e6);
  const seconds = new Date(whole * 1000).toISOString().slice(0, 19);
  return `${seconds}${rest ? `.${String(rest).padStart(6, "0").replace(/0+$/, "")}` : ""}Z`;
}

/**
 * Returns a time as people read it, in UTC or in the browser's zone.
 * @param {string} iso a time of an answer
 * @param {"utc"|"local"} zone
 */
export function formatTime(iso, zone) {
  const micros = iso.slice(20, 26).padEnd(6, "0").replace(/\D/g, "0");
  const shown = zone === "utc" ? iso.slice(0, 19).replace("T", " ") : localParts(new Date(iso.slice(0, 19) + "Z"));
  return `${shown}.${micros.slice(0, 3)}`;
}

/** Returns a time without a fraction, and without its seconds where they are zero. */
export function formatMicros(micros, zone) {
  const date = new Date(Math.floor(micros / 1000));
  const text = zone === "utc" ? date.toISOString().slice(0, 19).replace("T", " ") : localParts(date);
  return text.endsWith(":00") ? text.slice(0, -3) : text;
}

function localParts(date) {
  const two = (number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

const WIDTHS = [1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 43200, 86400, 604800, 2592000];
const MONTH = WIDTHS.at(-1);

/** Returns the width of a bucket in seconds, so that a range has about `wanted` of them, but no more. */
export function chooseBucket(micros, wanted = 90) {
  const least = micros / 1e6 / wanted;
  return WIDTHS.find((width) => width >= least) ?? Math.ceil(least / MONTH) * MONTH;
}

/** Returns seconds as a duration of the service: 300 is 5m. */
export function formatWidth(seconds) {
  for (const [unit, size] of [
    ["d", 86400],
    ["h", 3600],
    ["m", 60],
  ]) {
    if (seconds % size === 0) return `${seconds / size}${unit}`;
  }
  return `${seconds}s`;
}

/** Returns a range for people: the quick range's name, or both ends. */
export function describeRange(since, until, zone) {
  if (!since && !until) return "All time";
  const quick = QUICK_RANGES.find((range) => range.since === since && !until);
  if (quick) return quick.name;
  const end = (text) => {
    if (!text) return null;
    const micros = /^\d{4}-/.test(text) ? parseTime(text, 0) : null;
    return micros === null ? text : formatMicros(micros, zone);
  };
  return `${end(since) ?? "the beginning"} – ${end(until) ?? "now"}`;
}

export const QUICK_RANGES = [
  { name: "Last 15 minutes", since: "-15m" },
  { name: "Last hour", since: "-1h" },
  { name: "Last 4 hours", since: "-4h" },
  { name: "Last 24 hours", since: "-1d" },
  { name: "Last 7 days", since: "-7d" },
  { name: "Last 30 days", since: "-30d" },
  { name: "All time", since: "" },
];
