/** Ingest: the volume of sources for analysts; the progress of work items and the quarantine for operators. */

import { fill, h } from "../shared/dom.js";
import { describeError } from "../shared/texts.js";
import { createProgress } from "./progress.js";
import { createQuarantine } from "./quarantine.js";
import { createVolumes } from "./volumes.js";

const REFRESH_SECONDS = 5;

/** @param {{role: string}} who */
export function createIngest(who) {
  const isOperator = who.role !== "analyst";
  const progress = createProgress();
  const parts = [
    ...(isOperator ? [createQuarantine(), progress] : []),
    ...(who.role === "operator" ? [] : [createVolumes()]),
  ];
  const error = h("p", { class: "form-error", role: "alert" });
  const element = h(
    "main",
    { class: "ingest" },
    h("h1", {}, "Ingest"),
    error,
    isOperator && progress.tiles,
    parts.map((part) => part.element),
  );
  let timer = 0;

  async function read(which) {
    try {
      for (const part of which) await part.read();
      fill(error);
    } catch (problem) {
      fill(error, describeError(problem));
    }
  }

  return {
    element,
    async enter() {
      await read(parts);
      clearInterval(timer);
      if (isOperator) timer = setInterval(() => document.hidden || read([progress]), REFRESH_SECONDS * 1000);
    },
    leave: () => clearInterval(timer),
  };
}
