/** A small picture of counts over time. */

const NAMESPACE = "http://www.w3.org/2000/svg";
const WIDTH = 220;
const HEIGHT = 24;
const BARS = 55;

import { toMicros } from "../shared/times.js";

/**
 * @param {{start: string, count: number}[]} buckets
 * @param {[number, number]} ends of the time axis, in microseconds
 * @param {string} label for those who do not see it
 */
export function drawSparkline(buckets, [first, end], label = "when") {
  const sums = new Array(BARS).fill(0);
  for (const { start, count } of buckets) {
    const bar = Math.floor((BARS * (toMicros(start) - first)) / Math.max(1, end - first));
    sums[Math.max(0, Math.min(BARS - 1, bar))] += count;
  }
  const most = Math.max(...sums, 1);
  const picture = make("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, class: "sparkline", role: "img", "aria-label": label });
  sums.forEach((sum, bar) => {
    if (!sum) return;
    const height = Math.max(2, (sum / most) * HEIGHT);
    const width = WIDTH / BARS;
    picture.append(make("rect", { x: bar * width, y: HEIGHT - height, width: width - 0.8, height }));
  });
  return picture;
}

function make(tag, attributes) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
