// Sessions and devices, read page by page.

import { facts, h, refill, say, table } from './page.js';
import { tokenText } from './pushes.js';
import { coarse, full, moment, shortID } from './text.js';

const pageSize = 100;
/** How often a list is read again while its first page is all that was asked for. */
const interval = 10_000;

/** A list of the admin API with a filter by user. A subclass has `method`, `words`, `columns` and `row(item)`. */
class ListView {
  query = {};
  #items = [];
  #next;
  #isShown = false;
  #hasMore = false;
  #readAt = 0;

  constructor(app, name, extra = []) {
    this.app = app;
    this.name = name;
    this.user = h('input', { type: 'search', id: `${name}-user`, placeholder: 'user', autocomplete: 'off', spellcheck: 'false' });
    this.summary = h('p', { class: 'summary' });
    this.list = h('div', {});
    this.element = h('div', {},
      h('form', { class: 'tools', onsubmit: (event) => this.#chosen(event) },
        h('label', { for: `${name}-user` }, 'User'), this.user, h('button', { type: 'submit' }, 'Show'), extra),
      this.summary, this.list);
  }

  #chosen(event) {
    event.preventDefault();
    const { user: _, ...rest } = this.query;
    location.hash = `${this.name}?${new URLSearchParams(this.user.value ? { ...rest, user: this.user.value } : rest)}`;
  }

  show(query) {
    this.query = Object.fromEntries(query);
    this.user.value = this.query.user ?? '';
    this.#hasMore = false;
    this.#isShown = true;
    this.read();
  }

  hide() { this.#isShown = false; }

  joined() { if (this.#isShown) this.read(); }

  tick() {
    if (this.#isShown && this.app.link.isUp && !this.#hasMore && Date.now() - this.#readAt > interval) this.read();
  }

  draw() {}

  async read(after) {
    const { query } = this;
    this.#readAt = Date.now();
    if (after) this.#hasMore = true;
    try {
      const params = { ...query, limit: pageSize, ...(after && { after }), ...(query.suspended && { suspended: true }) };
      const { items, next } = await this.app.link.ask(this.method, params);
      if (query !== this.query) return;
      this.#items = after ? [...this.#items, ...items] : items;
      this.#next = next;
      this.#draw('');
    } catch (error) {
      if (error.code !== 'lost') this.#draw(error.message);
    }
  }

  #draw(failure) {
    const items = this.#items;
    say(this.summary, this.sentence(items.length, this.#next !== undefined));
    refill(
      this.list, failure ? h('p', { class: 'failure', role: 'alert' }, failure) : '',
      items.length ? table(this.words, this.columns, items.map((item) => this.row(item)))
        : h('p', { class: 'empty' }, `no such ${this.words.toLowerCase()}`),
      this.#next ? h('button', { type: 'button', onclick: () => this.read(this.#next) }, 'More') : '');
  }
}

export class SessionsView extends ListView {
  method = 'session.list';
  words = 'Sessions';
  columns = [{ title: 'USER' }, { title: 'DEVICE' }, { title: 'STATE' }, { title: 'SINCE', isRight: true },
    { title: 'PLATFORM', rank: 2 }, { title: 'APP', rank: 3 }, { title: 'ADDRESS', rank: 2 }, { title: 'OPENED', rank: 3 },
    { title: 'WOKEN FOR', rank: 1 }];

  constructor(app) { super(app, 'sessions'); }

  sentence(number, hasMore) {
    const { stats } = this.app;
    const all = stats && `${stats.sessions.online} online, ${stats.sessions.away} away, ${stats.sessions.connections} sockets, `
      + `${stats.sessions.resumed} resumed`;
    return `${all ?? ''}${hasMore ? `  ·  the first ${number} by user` : ''}`;
  }

  row(session) {
    return [session.user, deviceLink(session.user, session.device_id),
      { text: session.state, weight: session.state === 'away' ? 'suspect' : '' },
      coarse(this.app.now() - session.since.ms), session.platform, session.app ?? '', session.address ?? '',
      moment(session.opened_at.ms),
      session.wake_call_id ? h('a', { href: `#calls/${session.wake_call_id}` }, shortID(session.wake_call_id)) : ''];
  }
}

const deviceLink = (user, device) =>
  h('a', { href: `#devices/${encodeURIComponent(user)}/${device}` }, shortID(device));

export class DevicesView extends ListView {
  method = 'device.list';
  words = 'Devices';
  columns = [{ title: 'USER' }, { title: 'DEVICE' }, { title: 'PLATFORM', rank: 2 }, { title: 'TOKENS', rank: 2 },
    { title: 'HEALTH' }, { title: 'SEEN', rank: 3 }, { title: 'AGO', isRight: true, rank: 1 }, { title: '' }];

  constructor(app) {
    super(app, 'devices', [h('a', { href: '#devices' }, 'all'), h('a', { href: '#devices?suspended=true' }, 'suspended')]);
  }

  sentence(number, hasMore) {
    const words = this.query.suspended
      ? 'Suspended devices get alerts for calls, because they left VoIP pushes unreported.' : '';
    return `${words}${hasMore ? ` The first ${number} by user.` : ''}`;
  }

  row(device) {
    const kinds = device.tokens.map(({ provider, kind }) => `${provider}/${kind}`).join(' ');
    return [device.user, deviceLink(device.user, device.device_id), device.platform, kinds || '-',
      health(device, this.app.now()), moment(device.seen_at.ms), coarse(this.app.now() - device.seen_at.ms),
      device.is_suspended ? resumeButton(this.app, device) : ''];
  }
}

function resumeButton(app, device) {
  const button = h('button', { type: 'button', onclick: () => app.actions.resume(device) }, 'Resume…');
  app.guard(button);
  return button;
}

/** Why a device is suspended, or how many pushes it left unreported. */
export function health(device, now) {
  if (device.is_suspended) {
    const due = device.next_probe_at;
    const probe = due && (due.ms > now ? `, probe in ${coarse(due.ms - now)}` : ', probe with the next call');
    return { text: `suspended${probe ?? ''}`, weight: 'failure' };
  }
  return device.unreported_streak > 0 ? { text: `${device.unreported_streak} unreported`, weight: 'suspect' } : 'good';
}

export class DeviceDetail {
  constructor(app, user, id) {
    Object.assign(this, { app, user, id, title: `device ${id}` });
    this.element = h('div', {}, h('p', { class: 'quiet' }, 'loading…'));
    this.joined();
  }

  draw() {}

  async joined() {
    try {
      const device = await this.app.link.ask('device.get', { user: this.user, device_id: this.id });
      const query = new URLSearchParams({ user: this.user, report: 'unreported' });
      refill(
        this.element, device.is_suspended ? h('p', { class: 'tools' }, resumeButton(this.app, device)) : '', facts(this.#facts(device)),
        device.unreported_streak ? h('p', {}, h('a', { href: `#pushes?${query}` }, `Unreported pushes to ${this.user}`)) : '');
    } catch (error) {
      if (error.code !== 'lost') refill(this.element, h('p', { class: 'failure', role: 'alert' }, error.message));
    }
  }

  #facts(device) {
    const now = this.app.now();
    const due = device.next_probe_at;
    return [
      ['user', device.user], ['platform', device.platform], device.app && ['app', device.app],
      device.name && ['name', device.name], ['seen', full(device.seen_at.ms, now)],
      ['unreported in a row', String(device.unreported_streak)],
      device.suspended_at && ['suspended', full(device.suspended_at.ms, now), 'failure'],
      due && ['next VoIP push', `not before ${full(due.ms, now)}, for a call`],
      ...device.tokens.map((token) => ['token',
        tokenText(token) + (token.registered_at ? `, since ${moment(token.registered_at.ms)}` : '')]),
    ];
  }
}
