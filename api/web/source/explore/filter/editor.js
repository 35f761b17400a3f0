/** The filter editor: CodeMirror with completion, colours, and the service's own errors in their places. */

import {
  acceptCompletion,
  autocompletion,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { HighlightStyle, StreamLanguage, bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { forceLinting, linter } from "@codemirror/lint";
import { EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder, tooltips } from "@codemirror/view";
import { tags } from "@lezer/highlight";

import { h } from "../../shared/dom.js";
import { completeFilter } from "./completion.js";
import { theme } from "./editor_theme.js";
import { highlighting } from "./language.js";

const CHECK_MILLISECONDS = 250;
const COLOURS = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-keyword)", fontWeight: "600" },
  { tag: tags.operator, color: "var(--code-operator)" },
  { tag: tags.variableName, color: "var(--code-field)" },
  { tag: [tags.string, tags.literal], color: "var(--code-value)" },
  { tag: tags.regexp, color: "var(--code-regex)" },
  { tag: tags.comment, color: "var(--muted)", fontStyle: "italic" },
  { tag: tags.punctuation, color: "var(--muted)" },
]);

/**
 * Returns the editor. It stands in a shadow root, since there CodeMirror makes style sheets that the page's strict
 * content policy permits.
 * @param {{
 *   listFields: () => import("../fields/catalog.js").Field[],
 *   findValues: (field: string, prefix: string) => Promise<{value: any, count?: number}[]>,
 *   check: (filter: string) => Promise<{position: number, reason: string} | null>,
 *   run: () => void,
 * }} options
 */
export function createFilterEditor({ listFields, findValues, check, run }) {
  const element = h("div", { class: "filter-editor", id: "filter" });
  const root = element.attachShadow({ mode: "open", delegatesFocus: true });
  const message = h("p", { class: "filter-error", role: "status", id: "filter-error" });
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({ doc: "", extensions: makeExtensions() }),
  });

  function makeExtensions() {
    return [
      history(),
      closeBrackets(),
      bracketMatching(),
      EditorView.lineWrapping,
      EditorView.domEventHandlers({ beforeinput: replaceSelected }),
      tooltips({ position: "fixed" }),
      placeholder("Filter: status >= 500 and user = root"),
      StreamLanguage.define(highlighting),
      syntaxHighlighting(COLOURS),
      autocompletion({ override: [completeFilter(listFields, findValues)], icons: false }),
      linter(findErrors, { delay: CHECK_MILLISECONDS }),
      EditorView.contentAttributes.of({ "aria-label": "Filter", spellcheck: "false", autocapitalize: "off" }),
      Prec.high(
        keymap.of([
          { key: "Enter", run: runFilter },
          { key: "Tab", run: acceptCompletion },
        ]),
      ),
      keymap.of([
        ...completionKeymap,
        ...closeBracketsKeymap,
        ...historyKeymap,
        { key: "Shift-Enter", run: (editor) => editor.dispatch(editor.state.replaceSelection("\n")) ?? true },
        ...defaultKeymap,
      ]),
      theme,
    ];
  }

  function runFilter(editor) {
    if (acceptCompletion(editor)) return true;
    run();
    return true;
  }

  async function findErrors(editor) {
    const text = editor.state.doc.toString();
    const error = text.trim() ? await check(text) : null;
    if (editor.state.doc.toString() !== text) return [];
    message.textContent = error?.reason ?? "";
    if (!error) return [];
    const from = Math.min(toUnits(text, error.position), text.length);
    // Who is still writing has made no error yet: what is expected is said, and nothing underlined.
    const isUnfinished = editor.hasFocus && from >= text.trimEnd().length;
    message.classList.toggle("hint", isUnfinished);
    if (isUnfinished) return [];
    const to = from + (/^[\w.:/@+%$*?-]+|^./su.exec(text.slice(from))?.[0].length ?? 0);
    // At the end there is nothing to underline but what stands before it.
    return [{ from: from === to ? Math.max(0, from - 1) : from, to, severity: "error", message: error.reason }];
  }

  return {
    element: h("div", { class: "filter-box" }, element, message),
    get: () => view.state.doc.toString(),
    set(text) {
      if (text === view.state.doc.toString()) return;
      view.dispatch({
        changes: { from: 0, to: view.state.doc.length, insert: text },
        selection: { anchor: text.length },
      });
    },
    focus: () => view.focus(),
    /** Checks the text again: the sources have changed. */
    recheck: () => forceLinting(view),
  };
}

/**
 * Puts what is typed in place of what is selected. Left to itself, the browser would keep the colours of the old text
 * by a style attribute, which the content policy forbids.
 */
function replaceSelected(event, view) {
  if (event.inputType !== "insertText" || view.state.selection.main.empty || event.isComposing) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data ?? ""), { userEvent: "input.type" });
  return true;
}

/** Returns the place in UTF-16 units of a place in characters, which the service counts. */
function toUnits(text, characters) {
  return [...text].slice(0, characters).join("").length;
}
