// A session on virtual time, with a WebSocket, storage and a token provider that a test drives.

import { Session } from './library.mjs';

export const DEVICE = '00000000-0000-4000-8000-000000000001';
export const SIBLING = '00000000-0000-4000-8000-000000000007';
export const callID = (number) => `00000000-0000-4000-9000-${String(number).padStart(12, '0')}`;
export const CALL = callID(5);
const START = 1_000_000;

/** Lets promises run. */
export const settle = () => new Promise((resolve) => { setImmediate(resolve); });

export class Clock {
  time = 0;
  #timers = new Map();
  #next = 1;

  now = () => this.time;
  setTimeout = (fire, after) => {
    this.#timers.set(this.#next, { at: this.time + Math.max(0, after), fire });
    return this.#next++;
  };
  clearTimeout = (id) => this.#timers.delete(id);
  get pending() { return this.#timers.size; }

  async advance(duration) {
    const end = this.time + duration;
    await settle();
    for (;;) {
      const due = [...this.#timers].filter(([, { at }]) => at <= end).sort(([a, x], [b, y]) => x.at - y.at || a - b)[0];
      if (!due) break;
      this.#timers.delete(due[0]);
      this.time = Math.max(this.time, due[1].at);
      due[1].fire();
      await settle();
    }
    this.time = end;
  }
}

/** A generator with a seed (mulberry32). */
export function seeded(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export class Storage {
  #items = new Map();
  getItem(key) { return this.#items.get(key) ?? null; }
  setItem(key, value) { this.#items.set(key, String(value)); }
  removeItem(key) { this.#items.delete(key); }
  get size() { return this.#items.size; }
}

/** A WebSocket of which the test is the other end. */
export class FakeSocket {
  sent = [];
  isClosed = false;

  constructor(harness, url, protocol) {
    Object.assign(this, { harness, url, protocol });
  }

  send(text) {
    if (this.isClosed) throw new Error('sent on a closed socket');
    const message = JSON.parse(text);
    this.sent.push(message);
    this.onsent?.(message);
  }

  close() { this.isClosed = true; }

  opens() { this.onopen?.({}); }
  says(message) {
    const data = typeof message === 'string' ? message : JSON.stringify({ jsonrpc: '2.0', ...message });
    this.onmessage?.({ data });
  }
  breaks(code = 1006, reason = '') {
    this.isClosed = true;
    this.onclose?.({ code, reason });
  }
}

export class Harness {
  clock = new Clock();
  sockets = [];
  tokens = [];
  /** `manual`, `auto` or `fail`. */
  tokenMode = 'manual';
  told = [];
  changes = [];
  storage = new Storage();

  constructor(options = {}, { seed = 7, storage = undefined, clock = undefined } = {}) {
    if (storage) this.storage = storage;
    if (clock) this.clock = clock;
    const harness = this;
    this.environment = {
      WebSocket: class extends FakeSocket {
        constructor(url, protocol) {
          super(harness, url, protocol);
          harness.sockets.push(this);
          harness.onsocket?.(this);
        }
      },
      now: this.clock.now, setTimeout: this.clock.setTimeout, clearTimeout: this.clock.clearTimeout,
      random: seeded(seed), sessionStorage: this.storage, localStorage: new Storage(), locks: undefined,
      ...options.environment,
    };
    this.session = new Session({
      url: 'ws://server.test', deviceId: DEVICE, automaticRinging: false, token: (given) => this.#token(given), ...options,
      environment: this.environment,
    });
    this.#listen();
  }

  #token(given) {
    if (this.tokenMode === 'auto') return 't';
    if (this.tokenMode === 'fail') throw new Error('no network');
    return new Promise((resolve, reject) => this.tokens.push({ resolve, reject, ...given }));
  }

  #listen() {
    const on = (type, name) => this.session.addEventListener(type, ({ detail }) => this.told.push(name(detail)));
    on('incoming', () => 'incoming');
    on('offer', () => 'offer');
    on('state', ({ call }) => call.state);
    on('ended', ({ call }) => `ended ${call.reason}${call.isOwnAct ? ' here' : ''}`);
    on('merged', () => 'merged');
    on('candidates', () => 'candidates');
    on('update', () => 'update');
    on('peer', ({ presence }) => `peer ${presence}`);
    this.session.addEventListener('connection', ({ detail }) => this.changes.push(detail));
  }

  get socket() { return this.sockets.at(-1); }
  get state() { return this.session.connection.state; }
  get serverNow() { return START + this.clock.time; }

  welcome() {
    return {
      method: 'welcome',
      params: {
        protocol: 1, server: 'reveille', version: '1', node: 'n', time: this.serverNow, ping_interval_ms: 0,
        max_frame_bytes: 65_536, features: [],
      },
    };
  }

  opened(rest = {}) {
    return {
      session_id: 's1', user: 'alice', resume: { token: 'r1', window_ms: 30_000 }, resumed: false, calls: [], missed: [],
      ...rest,
    };
  }

  async giveToken(token = 't') {
    await settle();
    this.tokens.pop()?.resolve(token);
    await settle();
  }

  /** From wherever an attempt begins to the point where session.open is sent. */
  async reachOpening() {
    if (this.tokenMode !== 'manual') await settle();
    else await this.giveToken();
    this.socket.opens();
    this.socket.says(this.welcome());
  }

  async reopen(rest = {}) {
    this.tokenMode = 'manual';
    this.session.start();
    await this.reachOpening();
    this.answer('session.open', { result: this.opened(rest) });
    await settle();
  }

  async loseAndReopen(rest = {}) {
    this.socket.breaks();
    await this.reopen(rest);
  }

  /** Answers the last request of the method. */
  answer(method, outcome) {
    const request = this.socket.sent.findLast((message) => message.method === method);
    if (!request) throw new Error(`no ${method} was sent`);
    this.socket.says({ id: request.id, ...outcome });
  }

  event(method, params) {
    this.socket.says({ method, params: { seq: this.session.connection.lastSeq + 1, ...params } });
  }

  requests() { return this.sockets.flatMap(({ sent }) => sent).filter(({ id }) => id !== undefined); }
  methods() { return this.requests().map(({ method }) => method); }
}

export const refusal = (code, data = {}) => ({ error: { code: -1, message: code, data: { code, ...data } } });

export const incoming = (harness, rest = {}) => ({
  call_id: CALL, from: { handle: 'bob', handle_type: 'generic' }, to: 'alice', video: false, candidates: [],
  expires_at: harness.serverNow + 45_000, remaining_ms: 45_000, ...rest,
});

export const snapshot = (role, state, rest = {}) => ({
  call_id: CALL, role, state, from: { handle: 'bob', handle_type: 'generic' }, to: 'alice', video: false, created_at: 1,
  ...rest,
});

export const changed = (state, rest = {}) => ({ call_id: CALL, state, at: 5, legs: { waking: 0, ringing: 1 }, ...rest });
export const ended = (reason = 'hangup', rest = {}) => ({
  call_id: CALL, reason, at: 2, callkit_reason: 'remoteEnded', sip_status: 200, q850: 16, ...rest,
});
