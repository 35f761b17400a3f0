/** How the editor looks: the page's own colours, which reach into its shadow root as custom properties. */

import { EditorView } from "@codemirror/view";

export const theme = EditorView.theme({
  "&": { backgroundColor: "var(--field)", color: "var(--text)", borderRadius: "6px", fontSize: "14px" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5", maxHeight: "8.5em", overflowY: "auto" },
  ".cm-content": { padding: "7px 4px", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 6px" },
  ".cm-placeholder": { color: "var(--muted)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, ::selection": {
    backgroundColor: "var(--selection) !important",
  },
  ".cm-matchingBracket": { backgroundColor: "var(--selection) !important" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--bad)",
    textUnderlineOffset: "3px",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--raised)",
    color: "var(--text)",
    border: "1px solid var(--line)",
    borderRadius: "6px",
    boxShadow: "var(--shadow)",
    overflow: "hidden",
  },
  // Until it has a place the editor keeps it here; unseen, its way from here is no jump of the page.
  ".cm-tooltip[style*='top: -10000px']": { visibility: "hidden" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em", fontSize: "13px" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 10px", display: "flex", gap: "1.5em" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { marginLeft: "auto", fontStyle: "normal", color: "var(--muted)" },
  "li[aria-selected] .cm-completionDetail": { color: "var(--on-accent)" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-diagnostic-error": { borderLeft: "4px solid var(--bad)", padding: "4px 10px", fontFamily: "var(--sans)" },
});
