/** Numbers, durations and values as people read them. */

const WHOLE = new Intl.NumberFormat("en-US");
const SHORT = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });

export const formatCount = (count) => WHOLE.format(count);
export const formatShort = (count) => SHORT.format(count);

/** Returns "1 row", "2 rows". */
export function formatNumber(count, one, many = `${one}s`) {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

export function formatShare(share) {
  const percent = share * 100;
  if (percent > 0 && percent < 0.1) return "< 0.1 %";
  return `${percent >= 10 || percent === 0 ? Math.round(percent) : percent.toFixed(1)} %`;
}

export function formatSeconds(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.max(1, Math.round(seconds * 1000))} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
}

export function formatBytes(bytes) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  const step = bytes > 0 ? Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3)) : 0;
  return `${(bytes / 1000 ** step).toFixed(step ? 1 : 0)} ${units[step]}`;
}

/** Returns a field's value as one line of text: the elements of a list with commas between them. */
export function formatValue(value) {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(formatValue).join(", ");
  if (typeof value === "object") return JSON.stringify(value);
  return String(value).replace(/[\u0000-\u001f\u007f]/g, (c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

/** Returns the text of an error for people. */
export function describeError(error) {
  return error?.message || String(error);
}
