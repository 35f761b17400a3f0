/** Lines that became no event, for operators: why, what they say, and another try. */

import { get, send } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { describeError, formatBytes, formatCount, formatNumber } from "../shared/texts.js";
import { notify } from "../shell/notice.js";
import { shorten } from "./progress.js";
import { makeTable } from "../shell/table.js";

const COLUMNS = ["Reason", "File", "#Offset", "Source", "#Lines", "#Bytes", "", ""];
const MOST_LINES = 200;

export function createQuarantine() {
  const file = h("input", {
    id: "quarantine-file",
    class: "mono",
    placeholder: "all files",
    autocomplete: "off",
    onchange: read,
  });
  const retryAll = h("button", { type: "button", onclick: () => retry(choose()) }, "Retry all of these");
  const lines = h("div", {});
  const element = h(
    "section",
    { "aria-label": "Quarantine", class: "quarantine" },
    h("h2", {}, "Quarantine"),
    h(
      "p",
      { class: "hint" },
      "Lines that do not parse, or do not fit their definition. A retry parses them by the present one.",
    ),
    h("p", { class: "buttons" }, h("label", { for: "quarantine-file" }, "File"), file),
    lines,
  );

  /** Returns which lines are meant: those of the file whose path is given, or all. */
  const choose = () => (file.value.trim() ? { file: file.value.trim() } : {});

  async function read() {
    const { lines: found, more } = await get("/quarantine", { ...choose(), limit: MOST_LINES });
    if (!found.length) return fill(lines, h("p", {}, "No such line is in quarantine."));
    fill(
      lines,
      h(
        "p",
        { class: "buttons" },
        retryAll,
        h("span", { class: "hint" }, `${formatNumber(found.length, "line")}${more ? " and more" : ""}`),
      ),
      makeTable("Lines in quarantine", COLUMNS, found.map(makeRow)),
    );
  }

  function makeRow(line) {
    const name = `line at ${line.offset} of ${line.file}`;
    return h(
      "tr",
      {},
      h("td", { class: "reason" }, line.reason),
      h("td", { class: "mono", title: line.file }, shorten(line.file)),
      h("td", { class: "number" }, formatCount(line.offset)),
      h("td", {}, line.feed),
      h("td", { class: "number" }, formatCount(line.lines)),
      h("td", { class: "number" }, formatBytes(line.bytes)),
      h("td", {}, h("button", { type: "button", "aria-label": `Show ${name}`, onclick: () => showLine(line) }, "Show")),
      h(
        "td",
        {},
        h(
          "button",
          { type: "button", "aria-label": `Retry ${name}`, onclick: () => retry({ line: line.line }) },
          "Retry",
        ),
      ),
    );
  }

  async function showLine(line) {
    try {
      openLine(await get(`/quarantine/${encodeURIComponent(line.line)}`), () => retry({ line: line.line }));
    } catch (error) {
      notify(describeError(error), "bad");
    }
  }

  async function retry(which) {
    retryAll.disabled = true;
    try {
      const { lines: tried, events, kept } = await send("POST", "/quarantine/retry", which);
      notify(`${formatNumber(tried, "line")} tried: ${formatNumber(events, "event")} now, ${formatCount(kept)} kept`);
      await read();
    } catch (error) {
      notify(describeError(error), "bad");
    } finally {
      retryAll.disabled = false;
    }
  }

  return { element, read };
}

function openLine(line, retry) {
  const dialog = h(
    "dialog",
    { class: "raw-line", "aria-labelledby": "raw-title", onclose: () => dialog.remove() },
    h("h2", { id: "raw-title" }, "A line in quarantine"),
    h("p", {}, line.reason),
    h("p", { class: "hint mono" }, `${line.file}, byte ${line.offset}, as ${line.feed}`),
    h("pre", { tabindex: "0" }, line.text || "(its bytes are not kept)"),
    line.whole ? null : h("p", { class: "hint" }, "Only the beginning of the line is kept."),
    h(
      "form",
      { method: "dialog", class: "buttons" },
      h("button", { class: "primary", autofocus: true }, "Close"),
      h("button", { onclick: retry }, "Retry"),
    ),
  );
  document.body.append(dialog);
  dialog.showModal();
}
