// The table of live calls: only the visible rows exist, and the selection stays on its call.

import { trouble } from './calls.js';
import { h, say } from './page.js';
import { clock, cutInMiddle, party, reasonWeight, shortID, target } from './text.js';

const columns = [
  ['state', 'STATE', 'state'], ['age', 'AGE', 'age'], ['from', 'FROM', 'from'], ['to', 'TO', 'to'],
  ['ring', 'RING', 'devices', 'ringing devices / devices'], ['push', 'PUSH', undefined, 'open pushes / pushes'],
  ['reason', 'REASON', 'trouble'], ['call', 'CALL'],
];

/** Rows above and below the visible ones. */
const margin = 4;

export class CallTable {
  /** The id of the selected call. */
  selected;
  /** The id of the call that the person has gone to last. Another one may have taken its row since. */
  #chosen;
  /** The person has gone to the selected call; until then the first row is selected. */
  #isHeld = false;
  #position = 0;
  #isToBeSeen = false;
  #pool = [];
  #rowHeight = 28;
  #height = 400;
  /** The most characters of a name. */
  #nameLength = 100;
  #headKey = '';

  /** actions: `open(call)`, `sort(name)`. */
  constructor(board, listing, actions) {
    Object.assign(this, { board, listing, actions });
    this.head = h('div', { role: 'row', class: 'call-row head', 'aria-rowindex': 1 }, columns.map(([name, title, sort, hint]) => {
      const cell = h('div', { role: 'columnheader', class: name, title: hint });
      if (sort) cell.append(h('button', { type: 'button', tabindex: -1, onclick: () => actions.sort(sort) }, title));
      else cell.append(title);
      return cell;
    }));
    this.filler = h('div', { class: 'filler', role: 'presentation' });
    this.rows = h('div', { class: 'rows', role: 'rowgroup' }, this.filler);
    this.empty = h('p', { class: 'empty' });
    this.element = h('div', {
      class: 'calls-grid', role: 'grid', tabindex: 0, 'aria-label': 'Live calls', 'aria-colcount': columns.length,
      onkeydown: (event) => this.#pressed(event),
    }, h('div', { role: 'rowgroup' }, this.head), this.rows, this.empty);
    this.rows.addEventListener('scroll', () => actions.wake(), { passive: true });
    new ResizeObserver(() => this.#measure()).observe(this.rows);
  }

  #measure() {
    this.#rowHeight = Number.parseFloat(getComputedStyle(this.rows).getPropertyValue('--row')) || 28;
    this.#height = this.rows.clientHeight;
    const name = this.head.children[2];
    const context = document.createElement('canvas').getContext('2d');
    // The shorthand is empty beside font-variant-numeric.
    const { fontSize, fontFamily } = getComputedStyle(this.rows);
    context.font = `${fontSize} ${fontFamily}`;
    this.#nameLength = Math.floor(name.clientWidth / context.measureText('0').width);
    this.actions.wake();
  }

  #pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.element) return;
    if (this.pressed(event.key)) event.preventDefault();
  }

  /** A key while the focus is here, or nowhere. Returns whether it is one of the table's keys. */
  pressed(key) {
    // Beside the story of a call a narrow screen has no table.
    if (this.element.offsetParent === null) return false;
    const page = Math.max(1, Math.floor(this.#height / this.#rowHeight) - 1);
    const moves = {
      ArrowUp: -1, k: -1, ArrowDown: 1, j: 1, PageUp: -page, PageDown: page, ' ': page, Home: -Infinity, g: -Infinity,
      End: Infinity, G: Infinity,
    };
    if (key in moves) {
      this.#move(moves[key]);
    } else if (key === 'Enter') {
      const entry = this.listing.rows[this.#position];
      if (entry) this.open(entry.call);
    } else {
      return false;
    }
    if (document.activeElement !== this.element) this.element.focus();
    return true;
  }

  /** The person has something in mind with the selected call. */
  hold() {
    this.#chosen = this.selected;
    this.#isHeld = this.selected !== undefined;
  }

  open(call) {
    this.selected = call.call_id;
    this.hold();
    this.actions.open(call);
    this.actions.wake();
  }

  /** The selected call, if the person has gone to it; what ends a call asks for no other. */
  get chosenCall() {
    const call = this.listing.rows[this.#position]?.call;
    return call?.call_id === this.#chosen ? call : undefined;
  }

  #move(by) {
    const last = this.listing.rows.length - 1;
    if (last < 0) return;
    this.#position = Math.min(Math.max(0, this.#position + by), last);
    this.selected = this.listing.rows[this.#position].call.call_id;
    this.hold();
    this.#isHeld = by !== -Infinity;
    this.#isToBeSeen = true;
    this.actions.wake();
  }

  /** After a key: the row may have moved since. */
  #reveal() {
    this.#isToBeSeen = false;
    const [top, bottom] = [this.#position * this.#rowHeight, (this.#position + 1) * this.#rowHeight];
    if (top < this.rows.scrollTop) this.rows.scrollTop = top;
    if (bottom > this.rows.scrollTop + this.#height) this.rows.scrollTop = bottom - this.#height;
  }

  /** Finds the selected call again; if it is gone, selects the call in its row. */
  #follow() {
    const { rows } = this.listing;
    if (!this.#isHeld) this.#position = 0;
    else if (rows[this.#position]?.call.call_id !== this.selected) {
      const found = rows.findIndex(({ call }) => call.call_id === this.selected);
      this.#position = found >= 0 ? found : Math.max(0, Math.min(this.#position, rows.length - 1));
    }
    this.selected = rows[this.#position]?.call.call_id;
  }

  /** Once a frame at most. now: of the server's clock. */
  draw(now, localNow) {
    this.board.forgetEnded(localNow);
    const isNew = this.listing.update(this.board, now);
    const { rows } = this.listing;
    // A click selects another row of the same list.
    if (isNew || rows[this.#position]?.call.call_id !== this.selected) this.#follow();
    this.#drawHead();
    this.element.setAttribute('aria-rowcount', rows.length + 1);
    const height = `${rows.length * this.#rowHeight}px`;
    if (this.filler.style.height !== height) this.filler.style.height = height;
    if (this.#isToBeSeen) this.#reveal();
    const words = this.listing.search || this.listing.filter !== 'all' ? 'no call matches' : 'no live calls';
    say(this.empty, rows.length ? '' : this.board.isComplete ? words : 'loading…');
    const first = Math.max(0, Math.floor(this.rows.scrollTop / this.#rowHeight) - margin);
    const shown = Math.min(rows.length - first, Math.ceil(this.#height / this.#rowHeight) + 2 * margin);
    while (this.#pool.length < shown) this.#pool.push(this.#newRow());
    this.#pool.forEach((row, index) => {
      if (index < shown) this.#drawRow(row, rows[first + index], first + index, now);
      else if (!row.element.hidden) row.element.hidden = true;
    });
    const active = this.#pool.find(({ index, element }) => !element.hidden && index === this.#position);
    if (active) this.element.setAttribute('aria-activedescendant', active.element.id);
    else this.element.removeAttribute('aria-activedescendant');
  }

  #drawHead() {
    const key = `${this.listing.sort} ${this.listing.isReversed}`;
    if (this.#headKey === key) return;
    this.#headKey = key;
    columns.forEach(([, , sort], index) => {
      const cell = this.head.children[index];
      if (sort === this.listing.sort) cell.setAttribute('aria-sort', this.listing.direction);
      else cell.removeAttribute('aria-sort');
    });
  }

  #isName(column) { return column === 2 || column === 3; }

  #newRow() {
    const cells = columns.map(([name]) => h('div', { role: 'gridcell', class: name }));
    const element = h('div', { role: 'row', class: 'call-row', id: `call-row-${this.#pool.length}` }, cells);
    const row = { element, cells, texts: [], index: -1, top: -1, look: '' };
    element.addEventListener('click', () => {
      if (row.call) this.open(row.call);
      this.element.focus();
    });
    this.rows.append(element);
    return row;
  }

  #drawRow(row, { call }, index, now) {
    const { element, cells, texts } = row;
    const isOver = call.state === 'ended';
    const wrong = trouble(call, now);
    const counts = call.counts ?? {};
    row.call = call;
    const next = [
      call.state, clock((call.ended_at?.ms ?? now) - call.created_at.ms), call.from, target(call.to),
      isOver ? '' : `${counts.ringing ?? 0}/${counts.devices ?? 0}`,
      counts.pushes ? `${counts.pushes_open}/${counts.pushes}` : '', call.reason ?? wrong?.words ?? '', shortID(call.call_id),
    ];
    for (let column = 0; column < next.length; column += 1) {
      if (texts[column] === next[column] && (row.nameLength === this.#nameLength || !this.#isName(column))) continue;
      texts[column] = next[column];
      cells[column].textContent = this.#isName(column) ? cutInMiddle(next[column], this.#nameLength) : next[column];
    }
    row.nameLength = this.#nameLength;
    const look = `call-row ${call.state} ${wrong ? 'failure' : reasonWeight(call.reason)}`
      + (index === this.#position ? ' selected' : '');
    if (row.look !== look) {
      row.look = look;
      element.className = look;
      element.setAttribute('aria-selected', index === this.#position);
    }
    const top = index * this.#rowHeight;
    if (row.top !== top) {
      row.top = top;
      element.style.transform = `translateY(${top}px)`;
    }
    if (row.index !== index) {
      row.index = index;
      element.setAttribute('aria-rowindex', index + 2);
    }
    if (element.dataset.call !== call.call_id) {
      element.dataset.call = call.call_id;
      element.title = `${party(call.from, call.from_device_id)} to ${target(call.to)}`;
    }
    if (element.hidden) element.hidden = false;
  }
}
