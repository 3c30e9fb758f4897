// One call with all that has happened to it, as `reveille calls show` tells it, and as a ladder.

import { ladder } from './ladder.js';
import { facts, h, refill, table } from './page.js';
import { sentences } from './sentences.js';
import { stepWeight, stepText } from './steps.js';
import { exact, full, length, moment, party, providerWeight, reasonWeight, reportWeight, target } from './text.js';

/** A call that changes all the time is not asked for more often. */
const interval = 500;

export class Story {
  #detail;
  #failure = '';
  #askedRevision;
  #askedAt = 0;
  #isAsking = false;
  #isStale = true;
  #second;

  constructor(app, id) {
    Object.assign(this, { app, id });
    this.title = `call ${id}`;
    this.end = h('button', { type: 'button', class: 'danger', onclick: () => this.endCall() }, 'End this call…');
    this.body = h('div', { class: 'story' }, h('p', { class: 'quiet' }, 'asking for its story…'));
    this.element = h('div', {}, h('p', { class: 'tools' }, this.end), this.body);
  }

  joined() { this.#isStale = true; }

  get #call() { return this.app.board.entries.get(this.id)?.call ?? this.#detail?.call; }

  /** Says why if it cannot be ended. */
  endCall() { if (this.#call) this.app.actions.end(this.#call); }

  draw(now) {
    this.#ask();
    const isLive = this.#call && this.#call.state !== 'ended';
    this.app.guard(this.end, isLive ? undefined : 'that call is over');
    if (this.#detail && isLive && Math.floor(now / 1000) !== this.#second) {
      this.#second = Math.floor(now / 1000);
      this.body.querySelector('.facts')?.replaceWith(facts(callFacts(this.#detail, now)));
      this.body.querySelector('.sentences')?.replaceWith(told(this.#detail, now, this.app.stats?.problems));
    }
  }

  async #ask() {
    const revision = this.app.board.entries.get(this.id)?.revision;
    const isNew = revision !== undefined && revision !== this.#askedRevision;
    if (!this.app.link.isUp || this.#isAsking || (!this.#isStale && !isNew)) return;
    if (!this.#isStale && Date.now() - this.#askedAt < interval) return void this.app.wakeAfter(interval);
    [this.#isAsking, this.#isStale, this.#askedRevision, this.#askedAt] = [true, false, revision, Date.now()];
    try {
      this.#detail = await this.app.link.ask('call.get', { call_id: this.id });
      this.#failure = '';
    } catch (error) {
      // The last that was known stays to be read.
      if (error.code === 'lost') this.#isStale = true;
      else this.#failure = error.code === 'not_found' ? `no call ${this.id}` : error.message;
    }
    this.#isAsking = false;
    this.#render();
    this.app.wake();
  }

  #render() {
    const failure = this.#failure && h('p', { class: 'failure', role: 'alert' }, this.#failure);
    if (!this.#detail) return void refill(this.body, failure || h('p', { class: 'quiet' }, 'asking for its story…'));
    const detail = this.#detail;
    const now = this.app.now();
    refill(this.body, failure, facts(callFacts(detail, now)), told(detail, now, this.app.stats?.problems), deviceTable(detail), h('h3', {}, 'Ladder'),
      ladder(detail), h('h3', {}, 'Steps'), timeline(detail.timeline));
  }
}

function callFacts({ call }, now) {
  const over = call.ended_at?.ms ?? now;
  const from = party(call.from, call.from_device_id) + (call.from_name ? ` “${call.from_name}”` : '');
  const isRinging = !call.answered_at && !call.ended_at;
  return [
    ['from', from], ['to', target(call.to) + (call.video ? ', with video' : '')],
    call.forwarded_to && ['forwarded to', target(call.forwarded_to)],
    ['began', full(call.created_at.ms, now)],
    call.ended_at
      ? ['ended', `${moment(call.ended_at.ms)}, ${call.reason}${call.ended_by ? ` by ${call.ended_by}` : ''}`,
        reasonWeight(call.reason)]
      : ['state', call.state],
    call.ringing_at && [isRinging ? 'rings' : 'rang', length((call.answered_at?.ms ?? over) - call.ringing_at.ms)],
    call.answered_by && ['answered by', party(call.answered_by, call.answered_by_device_id)],
    call.connected_at && ['talked', length((call.lost_at?.ms ?? over) - call.connected_at.ms)],
    call.merged_into && ['goes on as', call.merged_into],
  ];
}

function told(detail, now, problems) {
  return h('div', { class: 'sentences' }, sentences(detail, now, problems).map((line) => h('p', {}, line)));
}

function deviceTable({ call, legs, pushes }) {
  if (!legs.length) return '';
  const columns = [{ title: 'DEVICE' }, { title: 'STATE' }, { title: 'PUSH' }, { title: 'REPORT' },
    { title: 'RINGS AFTER', isRight: true }, { title: 'REASON' }];
  return table('Devices of the call', columns, legs.map((leg) => {
    const push = pushes.find(({ push_id: id }) => id === leg.push_id);
    const link = push && h('a', { href: `#push/${push.push_id}`, class: providerWeight(push.status) }, push.status);
    return [
      party(leg.user, leg.device_id), leg.answered_at ? 'answered' : leg.state, link ?? '-',
      { text: push?.report ?? '-', weight: reportWeight(push?.report) },
      leg.ringing_at ? length(leg.ringing_at.ms - call.created_at.ms) : '-', leg.reason ?? '',
    ];
  }));
}

function timeline(entries) {
  let previous = 0;
  const columns = [{ title: 'SINCE INVITE', isRight: true }, { title: 'STEP', isRight: true, rank: 1 }, { title: 'WHO' },
    { title: 'WHAT' }];
  const rows = entries.map((entry) => {
    const step = entry.offset_ms - previous;
    previous = entry.offset_ms;
    return [exact(entry.offset_ms), step > 0 ? `+${exact(step)}` : '', entry.user ? party(entry.user, entry.device_id) : '',
      { text: stepText(entry), weight: stepWeight(entry.step) }];
  });
  const element = table('Timeline of the call', columns, rows);
  element.classList.add('timeline');
  [...element.querySelectorAll('tbody tr')].forEach((row, index) => { row.dataset.step = entries[index].step; });
  return element;
}
