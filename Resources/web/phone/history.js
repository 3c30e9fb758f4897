// Past and missed calls: what the server remembers, and what this page has just seen.

import { $, copy, keyed, make, setText, show } from './dom.js';
import { Ladder, fill, rowsOf } from './ladder.js';
import { length, moment, story, talkTime, targetName } from './words.js';

const PAGE = 30;
/** Ends of an incoming call that the user has not caused. */
const MISSED = new Set(['ring_timeout', 'cancelled', 'busy', 'connection_lost', 'no_devices', 'admin']);
const OUTCOMES = {
  ring_timeout: 'no answer', no_devices: 'could not be reached', unknown_callee: 'nobody of this name',
  hangup: 'no talk', answered_elsewhere: 'answered on another device', declined_elsewhere: 'declined on another device',
  connect_timeout: 'no sound', ice_failed: 'no way for the sound', glare: 'called each other',
};

export class History {
  #calls = new Map();
  #missed = new Map();
  #older;

  constructor(phone) {
    this.phone = phone;
    $('older').addEventListener('click', () => this.load(this.#older));
    $('seen').addEventListener('click', () => this.seen());
  }

  clear() {
    this.#calls.clear();
    this.#missed.clear();
    this.#older = undefined;
  }

  /** A session is open: its missed calls are all that are not cleared. */
  opened({ missed }) {
    this.#missed = new Map((missed ?? []).map((call) => [call.call_id, call]));
    this.load();
  }

  async load(page = {}) {
    try {
      const { calls, next, next_call_id: id } = await this.phone.session.request('call.list', { limit: PAGE, ...page });
      for (const call of calls) if (call.state === 'ended') this.#calls.set(call.call_id, call);
      this.#older = next === undefined ? undefined : { before: next, before_call_id: id };
    } catch { /* The next session loads it again. */ }
    this.render();
  }

  /** A call has ended here. The server's list has it a little later. */
  add(line) {
    if (!line.call) return;
    const { call, ladder } = line;
    this.#calls.set(line.id, {
      call_id: line.id, role: line.role, from: call.from ?? { handle: line.caller }, to: line.to ?? call.to,
      created_at: ladder.start, answered_at: ladder.at('answered'), connected_at: ladder.at('connected'), lost_at: line.lostAt,
      ended_at: ladder.at('ended') ?? Date.now(), reason: call.reason, by: call.by, video: line.isVideo,
    });
    const isMissed = line.role === 'callee' && !ladder.at('answered') && !call.isOwnAct && MISSED.has(call.reason);
    if (isMissed) this.#missed.set(line.id, { call_id: line.id, at: call.endedAt ?? Date.now() });
    this.render();
  }

  async seen() {
    const upTo = Math.max(Date.now(), ...[...this.#missed.values()].map(({ at }) => at));
    try {
      await this.phone.session.request('missed.clear', { up_to: upTo });
      this.#missed.clear();
    } catch (error) {
      this.phone.fail(error);
    }
    this.render();
    $('number').focus();
  }

  get #entries() {
    const entries = [...this.#calls.values()];
    for (const { call_id: id, from, at, reason, video } of this.#missed.values()) {
      if (from && !this.#calls.has(id)) {
        entries.push({ call_id: id, role: 'callee', from, created_at: at, ended_at: at, reason, video });
      }
    }
    return entries.sort((a, b) => b.created_at - a.created_at);
  }

  render() {
    const entries = this.#entries;
    show($('history-empty'), entries.length === 0);
    keyed($('history'), entries.map((call) => ({ key: call.call_id, call })), () => this.#create(), (row, { call }) =>
      this.#update(row, call));
    show($('older'), this.#older !== undefined);
    const count = this.#missed.size;
    show($('missed-count'), count > 0);
    setText($('missed-count'), count === 1 ? '1 missed call' : `${count} missed calls`);
    show($('seen'), count > 0);
    this.phone.missedCount = count;
    const people = new Set(entries.map((call) => this.#field(call)).filter(Boolean));
    $('people').replaceChildren(...[...people].slice(0, 20).map((value) => make('option', { value })));
  }

  #peer(call) { return call.role === 'caller' ? targetName(call.to) : call.from.name ?? call.from.handle; }
  #field(call) { return call.role === 'caller' ? targetName(call.to) : call.from.handle; }

  #outcome(call) {
    const { role, reason, connected_at: connectedAt, lost_at: lostAt, ended_at: endedAt } = call;
    if (connectedAt !== undefined) return length(talkTime({ connectedAt, lostAt, endedAt }));
    if (this.#missed.has(call.call_id)) return 'missed';
    if (role === 'callee' && (reason === 'cancelled' || reason === 'ring_timeout')) return 'missed, seen';
    const by = call.by?.user;
    if (reason === 'answered_elsewhere' && by && by !== this.phone.user) return `${by} answered`;
    return OUTCOMES[reason] ?? reason.replaceAll('_', ' ');
  }

  #create() {
    const row = copy('past-call');
    row.querySelector('details').addEventListener('toggle', () => this.#explain(row));
    row.querySelector('.back').addEventListener('click', () => {
      const { role, to, from } = row.call;
      this.phone.dial(role === 'caller' ? to : from.handle);
    });
    return row;
  }

  #update(row, call) {
    row.call = call;
    const isMissed = this.#missed.has(call.call_id);
    const peer = this.#peer(call);
    row.classList.toggle('missed', isMissed);
    row.querySelector('use').setAttribute('href', `#i-${isMissed ? 'missed' : call.role === 'caller' ? 'out' : 'in'}`);
    setText(row.querySelector('b'), peer);
    row.querySelector('b').title = peer;
    const way = call.role === 'caller' ? 'outgoing' : 'incoming';
    setText(row.querySelector('.outcome'), `${way}${call.video ? ', video' : ''}, ${this.#outcome(call)}`);
    const time = row.querySelector('time');
    setText(time, moment(call.created_at));
    time.dateTime = new Date(call.created_at).toISOString();
    row.querySelector('.back').setAttribute('aria-label', `Call ${peer}`);
    this.#explain(row);
  }

  #explain(row) {
    if (!row.querySelector('details').open) return;
    const { call } = row;
    setText(row.querySelector('.story'), story({
      caller: call.from.handle, callee: call.role === 'caller' ? targetName(call.to) : this.phone.user,
      endedBy: call.by?.user, reason: call.reason, createdAt: call.created_at, answeredAt: call.answered_at,
      connectedAt: call.connected_at, lostAt: call.lost_at, endedAt: call.ended_at, mergedInto: call.merged_into,
    }));
    const seen = new Ladder(this.phone.signIn.user, call.call_id).rows;
    const body = row.querySelector('tbody');
    body.replaceChildren();
    fill(body, seen.length > 0 ? seen : rowsOf(call));
  }
}
