// Elements, made from data without markup in strings.

/** An element. A property that begins with `on` is a listener; `class`, `role`, `aria-…` and the like are attributes. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

const namespace = 'http://www.w3.org/2000/svg';

export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(namespace, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export const byID = (id) => document.getElementById(id);

/** Sets text only if it differs: the layout of unchanged text stays valid. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * A table of a few hundred rows.
 * columns: `{ title, isRight, rank }`; a higher rank is left out sooner on a narrow screen.
 * rows: lists of cells: text, `{ text, weight }` or an element.
 */
export function table(caption, columns, rows) {
  const kind = ({ isRight, rank }) => [isRight && 'right', rank && `rank${rank}`].filter(Boolean).join(' ') || undefined;
  return h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
    h('table', {},
      h('caption', { class: 'unseen' }, caption),
      h('thead', {}, h('tr', {}, columns.map((column) => h('th', { scope: 'col', class: kind(column) }, column.title)))),
      h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, index) => {
        const [content, weight] = cell?.text === undefined || cell instanceof Node ? [cell, ''] : [cell.text, cell.weight];
        return h('td', { class: [kind(columns[index]), weight].filter(Boolean).join(' ') || undefined }, content ?? '');
      }))))));
}

/** Replaces what is in an element. The focus and the places of scrolled parts stay. */
export function refill(element, ...children) {
  const controls = () => [...element.querySelectorAll('a[href], button, [tabindex]')];
  const scrolled = () => [...element.querySelectorAll('.scroll, .ladder')];
  const focused = controls().indexOf(document.activeElement);
  const places = scrolled().map(({ scrollLeft }) => scrollLeft);
  element.replaceChildren(...children.flat(Infinity).filter(Boolean));
  if (focused >= 0) controls()[focused]?.focus({ preventScroll: true });
  scrolled().forEach((part, index) => { if (places[index]) part.scrollLeft = places[index]; });
}

/** Names and values. */
export function facts(pairs) {
  return h('dl', { class: 'facts' }, pairs.filter(Boolean).map(([name, value, weight]) => [
    h('dt', {}, name), h('dd', { class: weight || undefined }, value)]));
}
