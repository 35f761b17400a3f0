/** Asks the REST service. The browser adds the session's cookie by itself. */

const PREFIX = "/api/v1";
const LONG_NUMBER = /\d{16}/;

/** An error answer: the problem details of RFC 9457. */
export class Problem extends Error {
  /** @param {{type?: string, status?: number, detail?: string, position?: number, reason?: string}} details */
  constructor(details) {
    super(details.detail ?? "the service gave no reason");
    this.kind = (details.type ?? "").split(":").pop();
    this.status = details.status ?? 0;
    this.position = details.position;
    this.reason = details.reason;
  }
}

/** Is called when the service says that nobody is signed in (any more). */
let onSignedOut = () => {};

export function whenSignedOut(action) {
  onSignedOut = action;
}

/** Returns the JSON answer to a GET. Parameters that are null, undefined or empty are left out. */
export async function get(path, parameters = {}, signal = undefined) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const query = given.length ? `?${new URLSearchParams(given)}` : "";
  return parse(await (await ask("GET", path + query, undefined, signal)).text());
}

/** Returns the JSON answer to a request with a body. */
export async function send(method, path, body, signal = undefined) {
  return parse(await (await ask(method, path, body, signal)).text());
}

/**
 * Posts a body and yields the lines of the answer in arrays, as they arrive.
 * @returns {AsyncGenerator<object[]>}
 */
export async function* stream(path, body, signal) {
  const response = await ask("POST", path, body, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      if (lines.length) yield lines.map(parse);
    }
  } finally {
    // A consumer that stops early leaves: the service ends its query then.
    reader.cancel().catch(() => {});
  }
  if (rest.trim()) yield [parse(rest)];
}

/** Posts a body and returns the raw answer, for downloads. */
export function download(path, body) {
  return ask("POST", path, body);
}

async function ask(method, path, body, signal) {
  const options = { method, signal, credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.headers = { "Content-Type": "application/json" };
    options.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(PREFIX + path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ detail: "the service does not answer", type: ":unreachable" });
  }
  if (response.ok) return response;
  const problem = new Problem(await response.json().catch(() => ({ status: response.status })));
  if (problem.status === 401 && path !== "/session") onSignedOut();
  throw problem;
}

/** Parses JSON. Whole numbers that JavaScript cannot hold exactly become texts of their digits. */
export function parse(text) {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  return JSON.parse(text, (name, value, context) => {
    const isLost = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isLost && context?.source ? context.source : value;
  });
}
