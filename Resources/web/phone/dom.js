// Small helpers for the page's elements.

export const $ = (id) => document.getElementById(id);

/** Changes text only where it differs, so that screen readers repeat nothing. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, isShown) {
  if (element.hidden === isShown) element.hidden = !isShown;
}

export function press(button, isPressed) {
  button.setAttribute('aria-pressed', String(Boolean(isPressed)));
}

/** An element with properties, children and texts. */
export function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** A copy of a template's element. */
export const copy = (id) => $(id).content.firstElementChild.cloneNode(true);

/** Makes the children of a list those of the items. Elements of known keys stay, with their focus. */
export function keyed(list, items, create, update) {
  const known = new Map([...list.children].map((child) => [child.dataset.key, child]));
  items.forEach((item, index) => {
    let child = known.get(item.key);
    known.delete(item.key);
    if (!child) {
      child = create(item);
      child.dataset.key = item.key;
    }
    update(child, item);
    if (list.children[index] !== child) list.insertBefore(child, list.children[index] ?? null);
  });
  for (const child of known.values()) child.remove();
}

/** Whether keys belong to a field that the user types in. */
export const isTyping = () => Boolean(document.activeElement?.matches?.('input, textarea, select'));

/** A version 4 UUID. Pages without a secure context have no `crypto.randomUUID`. */
export function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** A value in the browser's storage, as JSON. A browser that forbids storage remembers nothing. */
export function stored(storage, name) {
  try {
    return JSON.parse(globalThis[storage].getItem(name) ?? 'null') ?? undefined;
  } catch {
    return undefined;
  }
}

export function store(storage, name, value) {
  try {
    if (value === undefined) globalThis[storage].removeItem(name);
    else globalThis[storage].setItem(name, JSON.stringify(value));
  } catch { /* Full, or forbidden. */ }
}
