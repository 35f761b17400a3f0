/** The filter language as the editor sees it: its words, and what may stand at a place. The service has the grammar. */

const WORDS = /^(?:and|or|not)$/i;
const TESTS = /^(?:in|like|startswith|endswith|contains)$/i;
const TOKEN = new RegExp(
  [
    /(?<space>\s+)/,
    /(?<comment>#[^\n]*)/,
    /(?<quoted>"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`[^`\n]*`?)/,
    /(?<operator>!=|<=|>=|=|<|>|~)/,
    /(?<mark>[(),|])/,
    /(?<word>[\w.:/@+%$*?-]+)/,
    /(?<other>.)/,
  ]
    .map((part) => part.source)
    .join("|"),
  "gy",
);

/**
 * @typedef {{kind: string, text: string, from: number, to: number}} Token
 * @param {string} text
 * @returns {Token[]} the tokens of a filter, without spaces and comments
 */
export function readTokens(text) {
  const tokens = [];
  for (const found of text.matchAll(TOKEN)) {
    const [kind] = Object.entries(found.groups).find(([, value]) => value !== undefined);
    if (kind === "space" || kind === "comment") continue;
    const name = kind === "word" && (WORDS.test(found[0]) || TESTS.test(found[0])) ? "keyword" : kind;
    tokens.push({ kind: name, text: found[0], from: found.index, to: found.index + found[0].length });
  }
  return tokens;
}

/**
 * Returns what a person who types at `place` is likely to write next.
 * @param {string} text
 * @param {number} place
 * @returns {{expects: "field"|"operator"|"value"|"join", from: number, typed: string, field: string}}
 */
export function readPlace(text, place) {
  const tokens = readTokens(text.slice(0, place));
  const last = tokens.at(-1);
  const isOpen = last !== undefined && (["word", "keyword", "quoted"].includes(last.kind) || last.text === "!");
  const isTyping = isOpen && last.to === place;
  const before = isTyping ? tokens.slice(0, -1) : tokens;
  const at = { from: isTyping ? last.from : place, typed: isTyping ? last.text : "", field: "" };
  return { ...at, ...readExpectation(before) };
}

/** Walks through the tokens and returns what is expected behind them, and of which field. */
function readExpectation(tokens) {
  let expects = "field";
  let field = "";
  let inList = false;
  for (const token of tokens) {
    const word = token.text.toLowerCase();
    if (["and", "or"].includes(word)) expects = "field";
    else if (word === "not") expects = expects === "operator" ? "test" : "field";
    else if (token.kind === "operator" || TESTS.test(word)) expects = "value";
    else if (word === "(") inList = expects === "value" || inList;
    else if (word === "," && inList) expects = "value";
    else if (word === ")") [expects, inList] = ["join", false];
    else if (expects === "field" && word === "exists") expects = "existing";
    else if (expects === "field") [field, expects] = [token.text.replace(/^[`"']|[`"']$/g, ""), "operator"];
    else expects = "join";
  }
  return { expects: { existing: "field", test: "operator" }[expects] ?? expects, field };
}

/** How the editor colours a piece of a filter. Works on the rest of a line, as CodeMirror's stream parsers do. */
export const highlighting = {
  startState: () => ({ afterOperator: false }),
  token(stream, state) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^#.*/)) return "comment";
    if (state.afterOperator && stream.match(/^\/(?:[^/\\\n]|\\.)*\/?\w*/)) return done(state, "regexp");
    if (stream.match(/^(?:"(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)/)) return done(state, "string");
    if (stream.match(/^`[^`\n]*`?/)) return done(state, "variableName");
    if (stream.match(/^(?:and|or|not|exists)(?![\w.@-])/i)) return done(state, "keyword");
    if (stream.match(/^(?:in|like|startswith|endswith|contains|where)(?![\w.@-])/i)) return start(state, "keyword");
    if (stream.match(/^(?:!=|<=|>=|=|<|>|~)/)) return start(state, "operator");
    if (stream.match(/^[(,]/)) return "punctuation";
    if (stream.match(/^[)|]/)) return done(state, "punctuation");
    if (stream.match(/^[\w.:/@+%$*?-]+/)) {
      const kind = state.afterOperator ? "literal" : "variableName";
      // In a list the words behind a comma are values too.
      if (stream.peek() !== "," && !stream.match(/^\s*,/, false)) state.afterOperator = false;
      return kind;
    }
    stream.next();
    return null;
  },
};

function done(state, kind) {
  state.afterOperator = false;
  return kind;
}

function start(state, kind) {
  state.afterOperator = true;
  return kind;
}
