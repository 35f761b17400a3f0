/** Boxes that open beside what was clicked, and close by Escape or a click elsewhere. */

import { h } from "../shared/dom.js";

const MARGIN = 8;
let opened = null;

/**
 * Opens a box beside an element, or at a place; closes another one that is open. Focus goes back when it closes.
 * @param {Element} anchor
 * @param {HTMLElement} content
 * @param {{label: string, role?: string, onClose?: () => void}} options
 * @returns {() => void} closes the box
 */
export function openPopover(anchor, content, { label, role = "dialog", onClose = () => {} }) {
  opened?.();
  const box = h("div", { class: "popover", role, "aria-label": label, popover: "auto" }, content);
  document.body.append(box);
  const close = () => box.matches(":popover-open") && box.hidePopover();
  box.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    if (opened === close) opened = null;
    const hadFocus = box.contains(document.activeElement) || document.activeElement === document.body;
    box.remove();
    anchor.setAttribute?.("aria-expanded", "false");
    if (hadFocus && anchor.isConnected) anchor.focus?.({ preventScroll: true });
    onClose();
  });
  box.showPopover();
  place(box, anchor.getBoundingClientRect());
  anchor.setAttribute?.("aria-expanded", "true");
  opened = close;
  return close;
}

/** Closes the box that is open, if any. */
export function closePopover() {
  opened?.();
}

/** Puts the box under the anchor, or above it where there is no room, and within the window. */
function place(box, anchor) {
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(anchor.left, window.innerWidth - width - MARGIN);
  const below = anchor.bottom + 4;
  const fits = below + height <= window.innerHeight - MARGIN;
  const top = fits ? below : Math.max(MARGIN, Math.min(anchor.top - height - 4, window.innerHeight - height - MARGIN));
  box.style.left = `${Math.max(MARGIN, left)}px`;
  box.style.top = `${top}px`;
}

/**
 * Opens a menu. The arrow keys, Home and End move in it, and letters find an entry.
 * @param {Element} anchor
 * @param {string} label
 * @param {({text: string, hint?: string, act: () => void, checked?: boolean} | null)[]} entries null is a line between
 */
export function openMenu(anchor, label, entries) {
  const items = entries.map((entry) =>
    entry === null
      ? h("hr", { role: "separator" })
      : h(
          "button",
          {
            type: "button",
            role: entry.checked === undefined ? "menuitem" : "menuitemcheckbox",
            "aria-checked": entry.checked === undefined ? null : String(entry.checked),
            tabindex: "-1",
            onclick: () => {
              close();
              entry.act();
            },
          },
          h("span", {}, entry.text),
          entry.hint && h("kbd", {}, entry.hint),
        ),
  );
  const list = h("div", { class: "menu", onkeydown: moveFocus }, items);
  const close = openPopover(anchor, list, { label, role: "menu" });
  list.querySelector("button")?.focus();
}

function moveFocus(event) {
  const buttons = [...event.currentTarget.querySelectorAll("button")];
  const at = buttons.indexOf(document.activeElement);
  const targets = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: buttons.length - 1 };
  let target = targets[event.key];
  if (target === undefined && event.key.length === 1 && !event.ctrlKey && !event.metaKey) {
    const starts = (button) => button.textContent.toLowerCase().startsWith(event.key.toLowerCase());
    target = [...buttons.keys()].map((step) => (at + 1 + step) % buttons.length).find((n) => starts(buttons[n]));
  }
  if (target === undefined) return;
  event.preventDefault();
  buttons[(target + buttons.length) % buttons.length].focus();
}
