// The live calls of a subscription, those that have just ended, and the order of their rows.

import { reasonWeight, target } from './text.js';

const states = ['routing', 'waking', 'ringing', 'answered', 'connected', 'ended'];
/** How long a call that has ended stays to be seen. */
const afterglow = 6000;
/** How many of these. */
const mostEnded = 1000;
/** Over how many seconds the rate of new calls is taken. */
const rateSpan = 10;

/** A live call that stays in a state longer than usual: since when in ms, and the words for it. */
export function trouble(call, now) {
  const [since, longest, words] = call.state === 'waking'
    ? [call.created_at, 8000, 'wakes long']
    : call.state === 'answered' ? [call.answered_at, 5000, 'no media'] : [];
  const time = since ? now - since.ms : -1;
  return time >= longest ? { time, words } : undefined;
}

function searchText(call) {
  const words = [call.from, target(call.to), call.state, call.reason ?? '', call.answered_by ?? '', call.call_id];
  // No word holds a line feed, so that none is found across two.
  return words.join('\n').toLowerCase();
}

/** A change costs time in proportion to its calls. */
export class CallBoard {
  entries = new Map();
  live = new Map();
  revision = 0;
  isComplete = false;
  /** An incomplete picture; the one before is shown until it is complete. */
  #coming;
  #ended = [];
  #arrivals = new Map();
  #knownSince;

  /** A new subscription: its first picture replaces the present one when complete. */
  begin() {
    this.#coming = new Map();
    this.#arrivals.clear();
    this.#knownSince = undefined;
  }

  take({ calls, gone, complete, reset }, now) {
    if (reset) this.begin();
    if (this.#coming) {
      for (const call of calls) {
        if (call.state === 'ended') this.#coming.delete(call.call_id);
        else this.#coming.set(call.call_id, call);
      }
      for (const id of gone) this.#coming.delete(id);
      if (complete) this.#replace(now);
      return;
    }
    for (const call of calls) this.#takeCall(call, now);
    for (const id of gone) if (this.entries.get(id)?.endedAt === undefined) this.#remove(id);
    if (calls.length || gone.length) this.revision += 1;
  }

  forgetEnded(now) {
    let old = 0;
    while (old < this.#ended.length
      && (this.#ended.length - old > mostEnded || now - this.#ended[old].endedAt >= afterglow)) {
      const { call: { call_id: id } } = this.#ended[old];
      if (this.entries.get(id) === this.#ended[old]) this.entries.delete(id);
      old += 1;
    }
    if (!old) return;
    this.#ended.splice(0, old);
    this.revision += 1;
  }

  get liveCount() { return [...this.live.values()].reduce((sum, value) => sum + value, 0); }

  /** `2 live: 1 ringing, 1 connected`. */
  get summary() {
    const parts = states.filter((state) => this.live.get(state)).map((state) => `${this.live.get(state)} ${state}`);
    return `${this.liveCount} live${parts.length ? `: ${parts.join(', ')}` : ''}`;
  }

  /** New calls a second; undefined until there is a time to take it over. */
  rate(now) {
    if (this.#knownSince === undefined || now - this.#knownSince < 1000) return undefined;
    const second = Math.floor(now / 1000);
    let sum = 0;
    for (const [at, number] of this.#arrivals) {
      if (second - at < rateSpan) sum += number;
      else this.#arrivals.delete(at);
    }
    return sum / Math.min(rateSpan, Math.floor((now - this.#knownSince) / 1000));
  }

  #takeCall(call, now) {
    const before = this.entries.get(call.call_id);
    // An ended call has its final state.
    if (before?.endedAt !== undefined) return;
    if (before) this.#count(before.call.state, -1);
    const isLive = call.state !== 'ended';
    if (!before && isLive) {
      const second = Math.floor(now / 1000);
      this.#arrivals.set(second, (this.#arrivals.get(second) ?? 0) + 1);
    }
    const entry = before ?? { created: call.created_at.ms, revision: 0, number: 0, word: '' };
    if (before?.call.state !== call.state) entry.search = undefined;
    entry.call = call;
    entry.revision += 1;
    if (isLive) {
      this.#count(call.state, 1);
    } else {
      entry.endedAt = now;
      this.#ended.push(entry);
    }
    if (!before) this.entries.set(call.call_id, entry);
  }

  #remove(id) {
    const entry = this.entries.get(id);
    if (!entry) return;
    this.entries.delete(id);
    this.#count(entry.call.state, -1);
  }

  #replace(now) {
    const [before, picture] = [this.entries, this.#coming];
    this.#coming = undefined;
    this.entries = new Map();
    this.live.clear();
    for (const [id, call] of picture) {
      this.#count(call.state, 1);
      const revision = (before.get(id)?.revision ?? 0) + 1;
      this.entries.set(id, { call, created: call.created_at.ms, revision, number: 0, word: '' });
    }
    for (const [id, entry] of before) if (entry.endedAt !== undefined && !picture.has(id)) this.entries.set(id, entry);
    this.isComplete = true;
    this.#knownSince = now;
    this.revision += 1;
  }

  #count(state, change) { this.live.set(state, (this.live.get(state) ?? 0) + change); }
}

export const sorts = ['trouble', 'age', 'state', 'from', 'to', 'devices'];
export const filters = ['all', 'trouble', ...states];

/** The rows: which, and in which order. Made anew only when something of it has changed. */
export class CallListing {
  sort = 'trouble';
  isReversed = false;
  /** The text that is searched for. */
  search = '';
  /** One of `filters`. */
  filter = 'all';
  rows = [];
  #basis = '';

  /** Of the column that sorts: ascending with the smallest on top. What is longest in trouble, or has the most devices, is. */
  get direction() {
    const startsWithMost = this.sort === 'trouble' || this.sort === 'devices';
    return startsWithMost === this.isReversed ? 'ascending' : 'descending';
  }

  /** Returns whether the rows are new. */
  update(board, now) {
    const isTimed = this.sort === 'trouble' || this.filter === 'trouble';
    const basis = JSON.stringify(
      [board.revision, this.sort, this.isReversed, this.search, this.filter, isTimed ? Math.floor(now / 1000) : 0]);
    if (basis === this.#basis) return false;
    this.#basis = basis;
    const needle = this.search.toLowerCase();
    // The present order first: sorting rows that are nearly sorted takes little time.
    const kept = new Set();
    const rows = [];
    for (const entry of this.rows) {
      if (board.entries.get(entry.call.call_id) !== entry || !this.#matches(entry, needle, now)) continue;
      kept.add(entry);
      rows.push(entry);
    }
    for (const entry of board.entries.values()) {
      if (!kept.has(entry) && this.#matches(entry, needle, now)) rows.push(entry);
    }
    for (const entry of rows) this.#key(entry, now);
    const sign = this.isReversed ? -1 : 1;
    rows.sort((a, b) => sign * precedence(a, b));
    this.rows = rows;
    return true;
  }

  #matches(entry, needle, now) {
    const { call } = entry;
    if (this.filter === 'trouble') {
      if (!trouble(call, now) && reasonWeight(call.reason) !== 'failure') return false;
    } else if (this.filter !== 'all' && call.state !== this.filter) {
      return false;
    }
    if (!needle) return true;
    entry.search ??= searchText(call);
    return entry.search.includes(needle);
  }

  #key(entry, now) {
    const { call } = entry;
    entry.number = 0;
    entry.word = '';
    switch (this.sort) {
      // Whole seconds: calls of one second stay in their order.
      case 'trouble': entry.number = -Math.floor((trouble(call, now)?.time ?? 0) / 1000); break;
      case 'state': entry.number = states.indexOf(call.state); break;
      case 'from': entry.word = call.from; break;
      case 'to': entry.word = target(call.to); break;
      case 'devices': entry.number = -(call.counts?.devices ?? 0); break;
      default:
    }
  }
}

function precedence(a, b) {
  if (a.number !== b.number) return a.number - b.number;
  if (a.word !== b.word) return a.word < b.word ? -1 : 1;
  if (a.created !== b.created) return b.created - a.created;
  return a.call.call_id < b.call.call_id ? -1 : 1;
}
