/** Makes elements of the page. Styles are set through the object model alone: the content policy forbids the rest. */

/**
 * Returns an element. Properties that begin with `on` are listeners; `class`, `data-…`, `aria-…` and the like are
 * attributes; `null` and `false` leave one out.
 * @param {string} tag
 * @param {Object<string, any>} [properties]
 * @param {...(Node|string|number|null|undefined|Array)} children
 * @returns {HTMLElement}
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/** Appends nodes and texts to an element; null and undefined are left out. */
export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
}

/** Replaces all that an element holds. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** Shows or hides an element. */
export function show(element, visible) {
  element.hidden = !visible;
}

/** Returns a function that runs `action` at most once a frame. */
export function everyFrame(action) {
  let waits = false;
  return () => {
    if (waits) return;
    waits = true;
    requestAnimationFrame(() => {
      waits = false;
      action();
    });
  };
}
