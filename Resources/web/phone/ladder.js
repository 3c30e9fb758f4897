// The ladder of a call: who did what when, by the clock of this browser. It outlives a reload, and goes with the call
// to another tab.

import { make, store, stored } from './dom.js';
import { STEPS, brief, exact } from './words.js';

const PREFIX = 'reveille:phone:call:';
const MOST_ROWS = 200;
const MOST_CALLS = 50;

export class Ladder {
  constructor(user, id) {
    this.name = `${PREFIX}${user}:${id}`;
    const saved = stored('localStorage', this.name);
    this.rows = saved?.rows ?? [];
  }

  /** When the step was taken first. */
  at(step) { return this.rows.find((row) => row.step === step)?.at; }

  /** When the party lost its connection last; of any party if that one is not known. */
  lostAt(who) {
    return this.rows.findLast((row) => row.step === 'connection_lost' && (who === undefined || row.who === who))?.at;
  }

  get start() { return this.rows[0]?.at ?? Date.now(); }

  add(step, who = '', detail = '') {
    if (this.rows.length >= MOST_ROWS) return;
    this.rows.push({ at: Date.now(), step, who, detail });
    this.save();
  }

  /** Adds a step that a call takes once, or once a party. */
  once(step, who = '', detail = '') {
    if (!this.rows.some((row) => row.step === step && (row.who === who || !who))) this.add(step, who, detail);
  }

  /** Whether the party's connection is lost, as far as the ladder knows. */
  isLost(who) {
    const steps = this.rows.filter((row) => row.who === who).map(({ step }) => step);
    return steps.lastIndexOf('connection_lost') > steps.lastIndexOf('came_back');
  }

  presence(who, isLost) {
    if (isLost !== this.isLost(who)) this.add(isLost ? 'connection_lost' : 'came_back', who);
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
  while (body.rows.length > rows.length) body.lastElementChild.remove();
  const start = rows[0]?.at;
  rows.slice(body.rows.length).forEach((row) => {
    const before = rows[body.rows.length - 1];
    const step = before ? row.at - before.at : 0;
    const line = make('tr', { className: `step-${row.step}` },
      make('td', { className: 'number' }, exact(row.at - start)),
      make('td', { className: 'number dim' }, step > 0 ? `+${exact(step)}` : ''),
      make('td', { className: 'who', title: row.who }, brief(row.who, 24)),
      make('td', {}, (STEPS[row.step] ?? row.step) + (row.detail ? ` (${row.detail})` : '')));
    body.append(line);
  });
}
