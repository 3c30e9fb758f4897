// The ladder of a call: who did what when, by the clock of this browser. It outlives a reload, and goes with the call
// to another tab.

import { make, store, stored } from './dom.js';
import { STEPS, brief, exact } from './words.js';

const PREFIX = 'reveille:phone:call:';
const MOST_ROWS = 200;
const MOST_CALLS = 50;
const PRESENCE = new Set(['connection_lost', 'came_back']);

export class Ladder {
  constructor(user, id) {
    this.name = `${PREFIX}${user}:${id}`;
    const saved = stored('localStorage', this.name);
    this.rows = saved?.rows ?? [];
  }

  /** When the step was taken first. */
  at(step) { return this.rows.find((row) => row.step === step)?.at; }

  /** When the party lost the connection that it had not got back by the end; of any party if that one is not known. */
  lostAt(who) {
    const end = this.rows.findIndex(({ step }) => step === 'ended');
    const rows = end < 0 ? this.rows : this.rows.slice(0, end);
    const isBack = (lost, index) => rows.slice(index).some((row) => row.step === 'came_back' && row.who === lost.who);
    return rows.findLast((row, index) => row.step === 'connection_lost' && (who === undefined || row.who === who)
      && !isBack(row, index))?.at;
  }

  get start() { return this.rows[0]?.at ?? Date.now(); }

  /** `told`: when the server says that it was, by its clock. Such a step may be told long after it. */
  add(step, who = '', detail = '', told = undefined) {
    if (this.rows.length >= MOST_ROWS && !this.#makeRoom(step, who)) return;
    const row = { at: Date.now(), step, who, detail, told };
    this.rows.splice(told === undefined ? this.rows.length : this.#place(row), 0, row);
    this.save();
  }

  /** The talk ends with these: a full ladder takes them as well, the last ones of each party. */
  #makeRoom(step, who) {
    if (!PRESENCE.has(step)) return step === 'ended';
    const last = this.rows.findLastIndex((row, index) => index >= MOST_ROWS && row.step === step && row.who === who);
    if (last >= 0) this.rows.splice(last, 1);
    return true;
  }

  /**
   * Sets the time of a step that the server tells of, and returns its place. It is as long after the other such steps as
   * by the server's clock; the two clocks are not compared. The one that was told soonest after it happened counts.
   */
  #place(row) {
    const known = this.rows.filter(({ told }) => told !== undefined);
    row.at = Math.min(row.at, row.told + Math.min(Infinity, ...known.map(({ at, told }) => at - told)));
    const isOfParty = (other) => PRESENCE.has(row.step) && PRESENCE.has(other.step) && other.who === row.who;
    const last = this.rows.findLastIndex(isOfParty);
    row.at = Math.max(row.at, this.rows[last]?.at ?? 0);
    const next = this.rows.findIndex((other, index) => index > Math.max(last, 0) && other.at > row.at);
    return next < 0 ? this.rows.length : next;
  }

  /** Adds a step that a call takes once, or once a party. */
  once(step, who = '', detail = '', told = undefined) {
    if (!this.rows.some((row) => row.step === step && (row.who === who || !who))) this.add(step, who, detail, told);
  }

  /** Whether the party's connection is lost, as far as the ladder knows. */
  isLost(who) {
    const steps = this.rows.filter((row) => row.who === who).map(({ step }) => step);
    return steps.lastIndexOf('connection_lost') > steps.lastIndexOf('came_back');
  }

  presence(who, isLost, told = undefined) {
    if (isLost !== this.isLost(who)) this.add(isLost ? 'connection_lost' : 'came_back', who, '', told);
  }

  /** Keeps nothing from now on: the user signs out. */
  forget() { this.name = undefined; }

  save() {
    if (!this.name) return;
    store('localStorage', this.name, { rows: this.rows });
  }

  /** Forgets the oldest calls of all users; with a user, all calls of that user. */
  static tidy(user = undefined) {
    try {
      const prefix = user === undefined ? PREFIX : `${PREFIX}${user}:`;
      const names = Object.keys(localStorage).filter((name) => name.startsWith(prefix));
      const start = (name) => stored('localStorage', name)?.rows[0]?.at ?? 0;
      const ages = names.map((name) => [start(name), name]).sort(([a], [b]) => b - a);
      for (const [, name] of ages.slice(user === undefined ? MOST_CALLS : 0)) localStorage.removeItem(name);
    } catch { /* A browser that forbids storage. */ }
  }
}

/** Rows from the server's record of a call that this browser has no ladder of. */
export function rowsOf(call) {
  const { created_at: created, answered_at: answered, connected_at: connected, lost_at: lost, ended_at: ended } = call;
  return [
    { at: created, step: 'invited', who: call.from.handle },
    { at: answered, step: 'answered', who: '' },
    { at: connected, step: 'connected', who: '' },
    { at: lost, step: 'connection_lost', who: call.by?.user ?? '' },
    { at: ended, step: 'ended', who: call.by?.user ?? '', detail: call.reason },
  ].filter(({ at }) => at !== undefined);
}

/** The body of a ladder's table. */
export function fill(body, rows) {
  // A step that was told late stands among the others.
  const other = rows.findIndex((row, index) => body.rows[index]?.step !== row);
  const kept = other < 0 ? rows.length : other;
  while (body.rows.length > kept) body.lastElementChild.remove();
  const start = rows[0]?.at;
  rows.slice(kept).forEach((row) => {
    const before = rows[body.rows.length - 1];
    const step = before ? row.at - before.at : 0;
    const line = make('tr', { className: `step-${row.step}`, step: row },
      make('td', { className: 'number' }, exact(row.at - start)),
      make('td', { className: 'number dim' }, step > 0 ? `+${exact(step)}` : ''),
      make('td', { className: 'who', title: row.who }, brief(row.who, 24)),
      make('td', {}, (STEPS[row.step] ?? row.step) + (row.detail ? ` (${row.detail})` : '')));
    body.append(line);
  });
}
