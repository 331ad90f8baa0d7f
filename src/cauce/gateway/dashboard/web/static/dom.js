// Small helpers to build and update the page. External text only ever becomes text nodes, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An HTML element. Attributes that are functions are listeners ("onclick"), null and false are left out.
 * @param {string} tag as in "div.card"
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElement(name);
  if (classes.length) element.className = classes.join(" ");
  return /** @type {HTMLElement} */ (fill(element, attributes, children));
}

/**
 * An SVG element, like `h`.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const element = document.createElementNS(SVG, name);
  if (classes.length) element.setAttribute("class", classes.join(" "));
  return /** @type {SVGElement} */ (fill(element, attributes, children));
}

/** @param {Element} element @param {Record<string, any>} attributes @param {(Child | Child[])[]} children */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else set(element, name, value);
  }
  element.append(...nodes(children));
  return element;
}

/** @param {(Child | Child[])[]} children */
function nodes(children) {
  return children.flat().filter((each) => each !== null && each !== undefined && each !== false)
    .map((each) => (each instanceof Node ? each : String(each)));
}

/**
 * Sets an attribute, unless it has that value already.
 * @param {Element} element @param {string} name @param {any} value
 */
export function set(element, name, value) {
  const wanted = value === null || value === undefined || value === false ? null : value === true ? "" : String(value);
  if (element.getAttribute(name) === wanted) return;
  if (wanted === null) element.removeAttribute(name);
  else element.setAttribute(name, wanted);
}

/**
 * Sets the text of an element, unless it has that text already.
 * @param {Element} element @param {string | number} text
 */
export function say(element, text) {
  const wanted = String(text);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/** A long name that may wrap after its separators, but not within words. @param {string} name @returns {Child[]} */
export function breakable(name) {
  return name.split(/(?<=[_./-])(?=\w)/).flatMap((piece, index) => (index ? [document.createElement("wbr"), piece] : [piece]));
}

/** A command line that wraps between its words, not after the hyphens of an option. @param {string} text */
export function commandLine(text) {
  return h("code.command", {}, text.split(" ").flatMap((word, index) => [index ? " " : null, h("span", {}, word)]));
}

/** @param {Element} element @param {...(Child | Child[])} children */
export function replace(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * Keeps one child for each item, in the items' order. Children that stay are not touched, so focus and selection
 * stay too.
 * @template T
 * @param {Element} parent
 * @param {T[]} items
 * @param {(item: T) => string} key
 * @param {(item: T) => Element} make
 * @param {(element: Element, item: T) => void} [update]
 */
export function keyed(parent, items, key, make, update) {
  const known = new Map([...parent.children].map((child) => [child.getAttribute("data-key"), child]));
  let before = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let child = known.get(name);
    if (child === undefined) {
      child = make(item);
      child.setAttribute("data-key", name);
    }
    known.delete(name);
    if (update) update(child, item);
    if (child === before) before = before.nextElementSibling;
    else parent.insertBefore(child, before);
  }
  for (const gone of known.values()) gone.remove();
}
