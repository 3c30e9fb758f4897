// The push ledger as a flow with every leak, and the pushes of a leak.

import { facts, h, refill, say, table } from './page.js';
import { coarse, full, moment, party, providerWeight, reportWeight, shortID, spaced } from './text.js';

/** The audit reads the whole ledger. */
const auditInterval = 30_000;
const pageSize = 50;

/** What the ledger's states mean, where the word does not say it. */
const meanings = {
  intended: 'on disk and queued', sent: 'no answer yet', unknown: 'it may have been accepted: it is never sent again',
  cancelled: 'not needed any more, and never sent', expired: 'it expired before it could be sent',
  not_required: 'the system required no report', filtered: 'the system shows nothing: do not disturb, or a blocked caller',
  report_failed: 'the call could not be shown', acted: 'the device acted after the push without reporting it',
};

/** What `reported_at` is the time of, unless it is a report's. */
const reportTimes = { unreported: 'report given up', acted: 'acted' };

const sum = (counts, names) => names.reduce((total, name) => total + (counts[name] ?? 0), 0);

/** The three invariants of the ledger; a part is `[name, filter key, filter value, weight]`. */
const stages = [
  { name: 'intended', total: ({ intended }) => intended, parts: [
    ['sent', undefined, ['accepted', 'rejected', 'unknown', 'sent'], 'good'], ['queued', 'status', 'intended', ''],
    ['cancelled', 'status', 'cancelled', 'quiet'], ['expired', 'status', 'expired', 'suspect']] },
  { name: 'sent', total: ({ provider }) => sum(provider, ['accepted', 'rejected', 'unknown', 'sent']), parts: [
    ['accepted', 'status', 'accepted', 'good'], ['in flight', 'status', 'sent', ''],
    ['rejected', 'status', 'rejected', 'failure'], ['unknown', 'status', 'unknown', 'suspect']] },
  { name: 'accepted, unknown or in flight', total: ({ provider }) => sum(provider, ['accepted', 'unknown', 'sent']), parts: [
    ['reported', 'report', 'reported', 'good'], ['awaited', 'report', 'awaited', ''],
    ['acted', 'report', 'acted', 'quiet'], ['not required', 'report', 'not_required', 'quiet'],
    ['filtered', 'report', 'filtered', 'quiet'], ['reported late', 'report', 'reported_late', 'suspect'],
    ['report failed', 'report', 'report_failed', 'failure'], ['unreported', 'report', 'unreported', 'failure']] },
];

function partCount(audit, [, key, value]) {
  if (!key) return sum(audit.provider, value);
  return (key === 'status' ? audit.provider : audit.report)[value] ?? 0;
}

export class PushesView {
  #audit;
  #auditAt = 0;
  #query = {};
  #items = [];
  #next;
  #failure = '';

  constructor(app) {
    this.app = app;
    this.flow = h('div', { class: 'flow' }, h('p', { class: 'quiet' }, 'loading…'));
    this.now = h('p', { class: 'summary' });
    this.verdict = h('div', {});
    this.user = h('input', { type: 'search', id: 'push-user', placeholder: 'user', autocomplete: 'off', spellcheck: 'false' });
    this.title = h('h2', { id: 'pushes-title' });
    this.list = h('div', {});
    this.element = h('div', {}, h('h2', {}, 'The push ledger'), this.now, this.flow, this.verdict, this.title,
      h('form', { class: 'tools', onsubmit: (event) => this.#chosen(event) }, h('label', { for: 'push-user' }, 'Pushes to'),
        this.user, h('button', { type: 'submit' }, 'Show'), h('a', { href: '#pushes' }, 'all'), h('a', { href: '#pushes?open=true' }, 'open')),
      this.list);
  }

  #chosen(event) {
    event.preventDefault();
    const { user: _, ...rest } = this.#query;
    location.hash = `pushes?${new URLSearchParams(this.user.value ? { ...rest, user: this.user.value } : rest)}`;
  }

  show(query) {
    this.#query = Object.fromEntries(query);
    this.user.value = this.#query.user ?? '';
    this.joined();
  }

  hide() { this.isShown = false; }

  joined() {
    this.isShown = true;
    this.#readAudit();
    this.#read();
  }

  tick() {
    if (this.isShown && this.app.link.isUp && Date.now() - this.#auditAt > auditInterval) this.#readAudit();
  }

  draw() {
    const { stats } = this.app;
    if (!stats) return;
    const list = (counts) => Object.entries(counts).filter(([, value]) => value > 0)
      .map(([name, value]) => `${spaced(name)} ${value}`).join('  ') || 'none';
    say(this.now, `in memory: ${list(stats.pushes.provider)}; reports: ${list(stats.pushes.report)}`);
  }

  async #readAudit() {
    this.#auditAt = Date.now();
    try {
      this.#audit = await this.app.link.ask('push.audit');
      this.#drawFlow();
    } catch (error) {
      if (error.code !== 'lost') refill(this.flow, h('p', { class: 'failure' }, error.message));
    }
  }

  #drawFlow() {
    const audit = this.#audit;
    refill(this.flow, stages.map((stage) => this.#stage(stage)));
    refill(
      this.verdict, audit.balanced
        ? h('p', { class: 'good' }, 'every push is accounted for')
        : h('ul', { class: 'failure' }, audit.violations.map((text) => h('li', {}, `BROKEN: ${text}`)),
          audit.overdue.map((push) => h('li', {}, 'OVERDUE: ', h('a', { href: `#push/${push.push_id}` },
            `push ${shortID(push.push_id)} to ${party(push.user, push.device_id)}`), ` is still ${push.status}`))),
      h('p', { class: 'quiet' }, `counted ${moment(this.app.now())}`));
  }

  #stage({ name, total, parts }) {
    const [audit, all] = [this.#audit, total(this.#audit)];
    const bar = h('div', { class: 'bar', 'aria-hidden': 'true' });
    bar.style.width = `${audit.intended ? Math.max(all ? 1 : 0, (100 * all) / audit.intended) : 0}%`;
    const chips = parts.map((part) => {
      const [label, key, value, weight] = part;
      const number = partCount(audit, part);
      if (number) {
        const piece = h('span', { class: weight || 'open', title: `${label} ${number}` });
        piece.style.flexGrow = number;
        bar.append(piece);
      }
      const text = [h('b', {}, String(number)), ` ${label}`];
      const look = `chip ${number ? weight : 'none'}`;
      const title = meanings[value];
      if (!key || !number) return h('li', {}, h('span', { class: look, title }, text));
      return h('li', {}, h('a', { class: look, title, href: `#pushes?${key}=${value}`,
        'aria-current': this.#query[key] === value ? 'true' : undefined }, text));
    });
    return h('section', { class: 'stage', 'aria-label': name },
      h('h3', {}, name, ' ', h('b', {}, String(all))), bar, h('ul', { class: 'chips' }, chips));
  }

  async #read(after) {
    const query = this.#query;
    const params = { ...query, limit: pageSize, ...(after && { after }), ...(query.open && { open: true }) };
    const words = [query.status && `${spaced(query.status)} at the provider`, query.report && `report ${spaced(query.report)}`,
      query.open && 'without a final state', query.user && `to ${query.user}`, query.call_id && `of call ${shortID(query.call_id)}`];
    say(this.title, `Pushes${words.some(Boolean) ? `: ${words.filter(Boolean).join(', ')}` : ', newest first'}`);
    if (this.#audit) this.#drawFlow();
    try {
      const { items, next } = await this.app.link.ask('push.list', params);
      if (query !== this.#query) return;
      this.#items = after ? [...this.#items, ...items] : items;
      this.#next = next;
      this.#failure = '';
    } catch (error) {
      if (error.code === 'lost') return;
      this.#failure = error.message;
    }
    this.#drawList();
  }

  #drawList() {
    const columns = [{ title: 'PUSH' }, { title: 'PURPOSE', rank: 3 }, { title: 'KIND', rank: 3 }, { title: 'CALL', rank: 2 },
      { title: 'TO' }, { title: 'PROVIDER' }, { title: 'REPORT' }, { title: 'REASON', rank: 1 },
      { title: 'INTENDED', rank: 3 }, { title: 'AGO', isRight: true, rank: 2 }];
    const rows = this.#items.map((push) => [
      h('a', { href: `#push/${push.push_id}` }, shortID(push.push_id)), push.purpose, kind(push),
      h('a', { href: `#calls/${push.call_id}` }, shortID(push.call_id)), push.user,
      { text: push.status, weight: providerWeight(push.status) },
      { text: push.report ?? '-', weight: reportWeight(push.report) }, push.reason ?? '', moment(push.intended_at.ms),
      coarse(this.app.now() - push.intended_at.ms),
    ]);
    refill(
      this.list, this.#failure ? h('p', { class: 'failure' }, this.#failure) : '',
      rows.length ? table('Pushes', columns, rows) : h('p', { class: 'empty' }, 'no such pushes'),
      this.#next ? h('button', { type: 'button', onclick: () => this.#read(this.#next) }, 'More') : '');
  }
}

const kind = (push) => push.delivery ?? `${push.token.provider}/${push.token.kind}`;

export const tokenText = (token) =>
  `${token.provider}/${token.kind}/${token.environment} ${token.topic} ${token.token}`;

/** One push: its ledger entry. */
export class PushDetail {
  constructor(app, id) {
    Object.assign(this, { app, id, title: `push ${id}` });
    this.element = h('div', {}, h('p', { class: 'quiet' }, 'loading…'));
    this.joined();
  }

  draw() {}

  async joined() {
    try {
      const push = await this.app.link.ask('push.get', { push_id: this.id });
      refill(this.element, facts(this.#facts(push)));
    } catch (error) {
      if (error.code !== 'lost') refill(this.element, h('p', { class: 'failure', role: 'alert' }, error.message));
    }
  }

  #facts(push) {
    const now = this.app.now();
    const time = (name, at) => at && [name, full(at.ms, now)];
    const isAnswered = push.status === 'accepted' || push.status === 'rejected';
    const provider = push.status === 'accepted' && !push.answered_at
      ? 'accepted, as the device proved; the provider did not say so' : push.status;
    return [
      ['purpose', push.purpose], ['kind', kind(push)],
      ['call', h('a', { href: `#calls/${push.call_id}` }, push.call_id)], ['to', push.user],
      ['device', h('a', { href: `#devices/${encodeURIComponent(push.user)}/${push.device_id}` }, push.device_id)],
      ['token', tokenText(push.token)], ['provider', provider, providerWeight(push.status)],
      push.reason && ['reason', push.reason], ['report', push.report ?? '-', reportWeight(push.report)],
      push.report_error && ['report error', push.report_error], time('intended', push.intended_at),
      time('sent', push.sent_at), time(isAnswered ? 'answered' : 'given up', push.answered_at),
      time('report due', push.report_due_at), time(reportTimes[push.report] ?? 'reported', push.reported_at), time('expires', push.expires_at),
    ];
  }
}
