// The view of live calls: search, filter, sort, and the table.

import { CallListing, filters, sorts } from './calls.js';
import { h, say } from './page.js';
import { CallTable } from './table.js';
import { rate } from './text.js';

export class CallsView {
  #frozenAt;
  #summary = h('p', { class: 'summary', id: 'calls-summary' });
  #search;
  #filter;
  #sort;
  #reverse;
  #pause;
  #keys = h('p', { class: 'keys' });

  constructor(app) {
    this.app = app;
    this.listing = new CallListing();
    this.table = new CallTable(app.board, this.listing, {
      open: (call) => { location.hash = `calls/${call.call_id}`; }, sort: (name) => this.#sortBy(name), wake: () => app.wake(),
    });
    const options = (names) => names.map((name) => h('option', { value: name }, name));
    this.#search = h('input', {
      type: 'search', id: 'search', placeholder: 'user, state, reason or id', autocomplete: 'off', spellcheck: 'false',
      oninput: () => { this.listing.search = this.#search.value; app.wake(); },
      onkeydown: (event) => this.#pressedInSearch(event),
    });
    this.#filter = h('select', { id: 'filter', onchange: () => this.#chosen() }, options(filters));
    this.#sort = h('select', { id: 'sort', onchange: () => this.#chosen() }, options(sorts));
    this.#reverse = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.#turn() }, 'Reverse');
    this.#pause = h('button', { type: 'button', 'aria-pressed': 'false', onclick: () => this.#freeze() }, 'Pause');
    this.element = h('div', { class: 'calls-view' },
      h('div', { class: 'tools' },
        h('label', { for: 'search' }, 'Search'), this.#search, h('label', { for: 'filter' }, 'Show'), this.#filter,
        h('label', { for: 'sort' }, 'Sort'), this.#sort, this.#reverse, this.#pause),
      this.#summary, this.table.element,
      this.#keys);
  }

  show() { this.app.wake(); }
  hide() {}

  /** isFree: the focus is nowhere, so that the keys of the table are meant for it. */
  pressed(key, isFree) {
    switch (key) {
      case '/': this.#search.focus(); this.#search.select(); break;
      case 's': this.#sortBy(sorts[(sorts.indexOf(this.listing.sort) + 1) % sorts.length]); break;
      case 'S': this.#turn(); break;
      case 'p': this.#freeze(); break;
      case 'e': this.#end(); break;
      default: return isFree && this.table.pressed(key);
    }
    return true;
  }

  #end() {
    const call = this.table.chosenCall;
    // Why nothing can be ended is told first.
    if (call || this.app.refusal) this.app.actions.end(call);
    else this.app.tell(this.listing.rows.length ? 'select the call first, with ↑ and ↓' : 'there is no call here');
  }

  #pressedInSearch(event) {
    if (event.key === 'Escape') {
      this.#search.value = '';
      this.listing.search = '';
    } else if (event.key !== 'Enter' && event.key !== 'ArrowDown') {
      return;
    }
    event.preventDefault();
    this.table.element.focus();
    this.app.wake();
  }

  #sortBy(name) {
    // The same column again: the other way.
    if (name === this.listing.sort) return void this.#turn();
    this.listing.sort = name;
    this.#sort.value = name;
    this.app.wake();
  }

  #turn() {
    this.listing.isReversed = !this.listing.isReversed;
    this.#reverse.setAttribute('aria-pressed', this.listing.isReversed);
    this.app.wake();
  }

  #freeze() {
    const { board } = this.app;
    this.#frozenAt = this.#frozenAt ? undefined : this.app.now();
    const copy = () => new Map([...board.entries].map(([id, entry]) => [id, { ...entry }]));
    this.table.board = this.#frozenAt
      ? { entries: copy(), revision: `frozen at ${board.revision}`, isComplete: board.isComplete, forgetEnded() {} } : board;
    this.#pause.setAttribute('aria-pressed', this.#frozenAt !== undefined);
    say(this.#pause, this.#frozenAt ? 'Go on' : 'Pause');
    this.app.wake();
  }

  #chosen() {
    this.listing.filter = this.#filter.value;
    this.listing.sort = this.#sort.value;
    this.app.wake();
  }

  /** Shows the calls of a filter: a problem leads to its calls. */
  only(filter) {
    this.#filter.value = filter;
    this.#chosen();
  }

  draw(now, localNow) {
    this.table.draw(this.#frozenAt ?? now, localNow);
    const { board } = this.app;
    say(this.#keys, `↑↓ select, Enter story${this.app.isReader ? '' : ', e end'}, / search, s sort, S reverse, p pause`);
    const speed = board.rate(localNow);
    const { size } = this.table.board.entries;
    const isCut = this.listing.rows.length !== size;
    const parts = [this.#frozenAt && 'paused', board.isComplete ? board.summary : 'loading…', speed !== undefined && `${rate(speed)} new/s`,
      isCut && `${this.listing.rows.length} of ${size} shown`];
    say(this.#summary, parts.filter(Boolean).join('  ·  '));
  }
}
