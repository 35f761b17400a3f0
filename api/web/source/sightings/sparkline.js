/** A small picture of counts over time. */

import { toMicros } from "../shared/times.js";

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 220;
const HEIGHT = 24;
const MOST_BARS = 55;
const WIDEST = 16;

/**
 * @param {{start: string, count: number}[]} buckets
 * @param {[number, number]} ends of the time axis, in microseconds
 * @param {string} label for those who do not see it
 * @param {number} width of a bucket in microseconds, if the buckets are few
 */
export function drawSparkline(buckets, [first, end], label, width = 0) {
  const bars = width ? Math.min(MOST_BARS, Math.round((end - first) / width)) : MOST_BARS;
  const sums = new Array(bars).fill(0);
  for (const { start, count } of buckets) {
    const bar = Math.floor((bars * (toMicros(start) - first)) / Math.max(1, end - first));
    sums[Math.max(0, Math.min(bars - 1, bar))] += count;
  }
  const most = Math.max(...sums, 1);
  const picture = make("svg", {
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    width: WIDTH,
    height: HEIGHT,
    class: "sparkline",
    role: "img",
    "aria-label": label,
  });
  sums.forEach((sum, bar) => {
    if (!sum) return;
    const height = Math.max(2, (sum / most) * HEIGHT);
    const step = WIDTH / bars;
    picture.append(make("rect", { x: bar * step, y: HEIGHT - height, width: Math.min(step - 0.8, WIDEST), height }));
  });
  return picture;
}

function make(tag, attributes) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
