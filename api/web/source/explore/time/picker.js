/** The button that shows the time range, and the box in which another one is chosen. */

import { fill, h } from "../../shared/dom.js";
import { QUICK_RANGES, describeRange, parseTime, toIso } from "../../shared/times.js";
import { openPopover } from "../../shell/popover.js";
import { preferences } from "../../shell/preferences.js";

/**
 * @param {{get: () => {since: string, until: string}, choose: (since: string, until: string) => void}} range
 */
export function createTimePicker({ get, choose }) {
  const button = h("button", { type: "button", class: "picker", "aria-haspopup": "dialog", id: "time", onclick: open });

  function open() {
    const { since, until } = get();
    const inputs = {
      since: makeInput("since", since, "-4h, 2016-03-01, or empty"),
      until: makeInput("until", until, "now, or empty"),
    };
    const error = h("p", { class: "form-error", role: "alert" });

    function submit(event) {
      event.preventDefault();
      const texts = [inputs.since.value.trim(), inputs.until.value.trim()];
      const fault = findFault(...texts);
      error.textContent = fault ?? "";
      if (fault) return;
      close();
      choose(...texts);
    }

    const quick = QUICK_RANGES.map((item) =>
      h(
        "button",
        {
          type: "button",
          "aria-pressed": String(item.since === since && !until),
          onclick: () => {
            close();
            choose(item.since, "");
          },
        },
        item.name,
      ),
    );
    const content = h(
      "div",
      { class: "time-box" },
      h("div", { class: "quick", role: "group", "aria-label": "Quick ranges" }, quick),
      h(
        "form",
        { onsubmit: submit },
        h("label", { for: "since" }, "From"),
        inputs.since,
        h("label", { for: "until" }, "To (not included)"),
        inputs.until,
        h("p", { class: "hint" }, "Times are UTC unless they have a zone. Relative: -15m, -4h, -7d, now."),
        error,
        h("button", { type: "submit", class: "primary" }, "Apply"),
      ),
    );
    const close = openPopover(button, content, { label: "Time range" });
    content.querySelector("button, input").focus();
  }

  function render() {
    const { since, until } = get();
    fill(button, h("span", { class: "label" }, "Time "), describeRange(since, until, preferences.get().zone));
  }

  preferences.subscribe(render);
  return { element: button, render };
}

function makeInput(id, value, hint) {
  return h("input", { id, value, placeholder: hint, autocomplete: "off", spellcheck: "false" });
}

/** Returns what is wrong with a range, or null. */
function findFault(since, until) {
  const now = Date.now() * 1000;
  const [begin, end] = [since, until].map((text) => (text ? parseTime(text, now) : undefined));
  if (begin === null) return `“${since}” is no time`;
  if (end === null) return `“${until}” is no time`;
  if (begin !== undefined && end !== undefined && begin >= end) return "the range ends before it begins";
  return null;
}

/** Returns a range moved or scaled: [since, until) in microseconds. */
export function moveRange([since, until], how) {
  const width = until - since;
  const moves = {
    in: [since + width / 4, until - width / 4],
    out: [since - width / 2, until + width / 2],
    earlier: [since - width / 2, until - width / 2],
    later: [since + width / 2, until + width / 2],
  };
  return moves[how].map((time) => toIso(Math.round(time / 1e3) * 1e3));
}
