/** The sign-in form: it sends the token once, and the browser keeps the cookie of a session. */

import { send } from "../shared/api.js";
import { fill, h } from "../shared/dom.js";
import { describeError } from "../shared/texts.js";

/**
 * Shows the form in `place` until somebody has signed in.
 * @param {HTMLElement} place
 * @param {(who: {name: string, role: string}) => void} onSignedIn
 */
export function showSignIn(place, onSignedIn) {
  const token = h("input", {
    id: "token",
    type: "password",
    required: true,
    autocomplete: "current-password",
    spellcheck: "false",
    "aria-describedby": "sign-in-error",
  });
  const error = h("p", { class: "form-error", id: "sign-in-error", role: "alert" });
  const button = h("button", { class: "primary", type: "submit" }, "Sign in");

  async function submit(event) {
    event.preventDefault();
    button.disabled = true;
    error.textContent = "";
    try {
      onSignedIn(await send("POST", "/session", { token: token.value.trim() }));
    } catch (problem) {
      error.textContent = problem.status === 401 ? "This token is not known, or has expired." : describeError(problem);
      token.select();
    } finally {
      button.disabled = false;
    }
  }

  fill(
    place,
    h(
      "main",
      { class: "sign-in" },
      h("h1", {}, h("span", { class: "brand-mark", "aria-hidden": "true" }), "Watchfloor"),
      h("form", { onsubmit: submit }, h("label", { for: "token" }, "Token"), token, error, button),
      h(
        "p",
        { class: "hint" },
        "The operator of this service makes tokens: ",
        h("code", {}, "watchfloor token create NAME"),
      ),
    ),
  );
  token.focus();
}
