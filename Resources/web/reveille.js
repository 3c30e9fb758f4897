// @ts-check
// Connection → Session → Call → Media: see reveille.d.ts.

const PROTOCOL_VERSION = 1;
const SUBPROTOCOL = 'reveille.v1';
const ENDED_LIMIT = 64;
const CANDIDATE_LIMIT = 256;
const STEP_LIMIT = 200;

const TIMES = {
  request: 10_000, connect: 10_000, keep: 60_000, callKeep: 90_000, backoffBase: 500, backoffCeiling: 30_000,
  callCeiling: 2_000, stable: 10_000, ackDelay: 250, close: 2_000, probe: 1_000, ringGrace: 2_000, tabGrace: 3_000,
  tabAsk: 200,
};
const ACK_EVERY = 16;

const FINAL_CODES = new Set([1000, 1002, 1003, 1007]);

const KEPT = new Set(['push.report', 'call.ringing', 'call.answer', 'call.decline', 'call.connected', 'call.hangup',
  'session.state', 'device.update']);
// A reply tells how the call stands.
const DECISIVE = new Set(['call.get', 'call.answer', 'call.decline', 'call.hangup']);

const PASSING_REFUSALS = new Set(['rate_limited', 'overloaded', 'draining', 'internal_error', 'limit_reached', 'conflict']);

const FIELDS = {
  from: 'from', to: 'to', video: 'video', sdp: 'sdp', custom: 'custom', by: 'by', push_id: 'pushId',
  answered_at: 'answeredAt', connected_at: 'connectedAt', ended_at: 'endedAt', merged_into: 'mergedInto',
};
const NAMES = Object.values(FIELDS);
const RANK = { routing: 0, waking: 1, ringing: 2, answered: 3, connected: 4, ended: 5 };
const isBeforeAnswer = (state) => RANK[state] < RANK.answered;

const BUG = 'Report it as a bug of the library.';
const LATER = 'Try again later.';
const UNKNOWN_FATE = 'Ask for the state of the call: the request may have taken effect.';
const START = 'then start the session again.';
const ADVICE = {
  parse_error: BUG,
  invalid_request: BUG,
  method_not_found: 'Give up: the server is older than the page.',
  invalid_params: 'Fix the page: the message names the invalid member.',
  unauthenticated: `Sign in again, ${START}`,
  forbidden: 'Give up: the message has the reason.',
  not_found: 'Give up: the message has the reason.',
  call_ended: 'Close the call on the screen.',
  already_answered: 'Stop ringing: another device has the call.',
  bad_state: 'Show the state of the call.',
  rate_limited: 'Try again after retryAfter.',
  too_large: 'Send less: the limit is in data.limit.',
  conflict: 'Use a new id for the call.',
  limit_reached: 'End a call, or log a device out.',
  overloaded: 'Try again after retryAfter, with the same id.',
  draining: 'Try again in a minute: the server restarts.',
  not_connected: 'Check the network. Nothing was sent.',
  timed_out: UNKNOWN_FATE,
  connection_lost: UNKNOWN_FATE,
  closed: 'Start the session again.',
  gone: `Remove the cause in the message, ${START}`,
  elsewhere: 'Use the other tab, or take the session over.',
  media_denied: 'Allow the microphone or camera.',
  media_missing: 'Plug in a microphone or camera.',
  media_busy: 'Close what uses the microphone or camera.',
  insecure_page: 'Open the page over https, or from localhost.',
  no_offer: 'End the call: it has no media.',
  no_dtmf: 'Do without tones.',
  unsupported: 'Use another browser.',
};

export class ReveilleError extends Error {
  /** @param {string} code @param {string} message @param {any} [data] */
  constructor(code, message, data = {}) {
    super(message);
    this.name = 'ReveilleError';
    this.code = code;
    this.data = data;
    this.retryAfter = data.retry_after_ms >= 0 ? Math.min(data.retry_after_ms, 3e5) : undefined;
    this.whatToDo = ADVICE[code] ?? LATER;
  }
}

const serverError = (error) =>
  new ReveilleError(String(error?.data?.code ?? error?.code), String(error?.message ?? ''), error?.data ?? {});

const elsewhereError = () => new ReveilleError('elsewhere', 'another tab has the session');
const endedError = (reason) => new ReveilleError('call_ended', `the call has ended: ${reason}`, { reason });

/** Without a secure context there is no `randomUUID`; the URL of a blob has a UUID too. */
const uuid = () => crypto.randomUUID?.() ?? URL.createObjectURL(new Blob([])).slice(-36);

function surroundings(given) {
  const all = /** @type {any} */ (globalThis);
  const env = /** @type {any} */ ({
    now: () => all.performance.now(), random: Math.random, page: all.document && all, locks: all.navigator?.locks,
    mediaDevices: all.navigator?.mediaDevices,
  });
  for (const name of ['setTimeout', 'clearTimeout', 'fetch']) env[name] = all[name]?.bind(all);
  for (const name of ['WebSocket', 'RTCPeerConnection', 'MediaStream', 'BroadcastChannel', 'navigator', 'sessionStorage',
    'localStorage']) {
    try {
      env[name] = all[name];
    } catch { /* Storage is forbidden. */ }
  }
  return Object.assign(env, given);
}

class Alarms {
  #due = new Map();
  #timer;

  constructor(env, turns) {
    this.env = env;
    this.turns = turns;
  }

  set(name, after, fire) {
    this.#due.set(name, { at: this.env.now() + Math.max(0, after || 0), fire });
    this.#arm();
  }

  setIfNone(name, after, fire) {
    if (!this.#due.has(name)) this.set(name, after, fire);
  }

  clear(name) {
    if (this.#due.delete(name)) this.#arm();
  }

  clearAll() {
    this.#due.clear();
    this.#arm();
  }

  #arm() {
    this.env.clearTimeout(this.#timer);
    if (this.#due.size === 0) return;
    const wait = Math.min(...[...this.#due.values()].map(({ at }) => at)) - this.env.now();
    // A timer has 31 bits.
    this.#timer = this.env.setTimeout(() => this.#fire(), Math.min(Math.max(0, Math.ceil(wait)), 1e9));
  }

  #fire() {
    const now = this.env.now();
    const due = [...this.#due].filter(([, { at }]) => at <= now).sort(([, a], [, b]) => a.at - b.at);
    for (const [name, alarm] of due) {
      if (this.#due.get(name) !== alarm) continue;
      this.#due.delete(name);
      this.turns.run(alarm.fire);
    }
    this.#arm();
  }
}

/** Runs a step to its end before listeners hear of it: they find a consistent state. */
class Turns {
  #depth = 0;
  #isTelling = false;
  #queue = [];

  constructor(settled) {
    this.settled = settled;
  }

  run(step) {
    this.#depth += 1;
    try {
      return step();
    } finally {
      if (this.#depth === 1) this.settled();
      this.#depth -= 1;
      if (this.#depth === 0) this.#tell();
    }
  }

  later(telling) {
    this.#queue.push(telling);
  }

  #tell() {
    if (this.#isTelling) return;
    this.#isTelling = true;
    try {
      while (this.#queue.length > 0) this.#queue.shift()();
    } finally {
      this.#isTelling = false;
    }
  }
}

class Emitter extends EventTarget {
  _emit(type, detail = {}) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }
}

export class Connection extends Emitter {
  #state = 'idle';
  #attempt = 0;
  #socket;
  #failures = 0;
  #floorUntil = 0;
  #openSince = 0;
  #heard = 0;
  #lastFailure = '';
  #closers = [];
  #waiters = [];
  outbox = [];
  nextId = 1;
  lastAnswered = 0;
  #openId = 0;
  #pingInterval = 0;
  #maxFrame = 65_536;
  #resume;
  #lastSeq = 0;
  #acked = 0;
  #opened;
  #gone;

  constructor(options) {
    super();
    const url = new URL(options.url);
    if (!/^wss?:(?!.*\/v1\/signal)/.test(url.href)) throw new TypeError(`give url as wss://HOST, not ${options.url}`);
    if (typeof options.token !== 'function') throw new TypeError('give token as a function');
    this.url = `${url.origin}${url.pathname.replace(/\/$/, '')}/v1/signal`;
    this.device = options.device;
    this.env = options.env ?? surroundings(options.environment);
    this.times = { ...TIMES, ...options.times };
    this.owner = options.owner;
    this.turns = new Turns(() => this.owner?._settled());
    this.alarms = new Alarms(this.env, this.turns);
    this.provider = options.owner?._token ?? options.token;
    if (options.resume) {
      this.#resume = { session_id: options.resume.session_id, token: options.resume.token };
      this.#lastSeq = options.resume.last_seq;
    }
  }

  get state() { return this.#state; }
  get isOpen() { return this.#state === 'open'; }
  get lastSeq() { return this.#lastSeq; }
  get resume() { return this.#resume && { ...this.#resume, last_seq: this.#lastSeq }; }

  start() {
    this.turns.run(() => {
      if (this.#state === 'closing') this.#finishClosing();
      if (this.#state === 'idle' || this.#state === 'gone') this.#failures = 0;
      if (['idle', 'gone', 'waiting'].includes(this.#state)) this.#begin();
    });
  }

  opened(timeout = 30_000) {
    if (this.isOpen) return Promise.resolve(this.#opened);
    return new Promise((resolve, reject) => {
      const failure = this.#unavailable();
      if (failure) return reject(failure);
      const waiter = { resolve, reject };
      this.#waiters.push(waiter);
      this.alarms.set(waiter, timeout, () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(this.#notConnected());
      });
    });
  }

  #notConnected() {
    const why = this.#lastFailure ? `: ${this.#lastFailure}` : '';
    return new ReveilleError('not_connected', `no session in time${why}`);
  }

  #become(state, timeout, expired) {
    this.#state = state;
    if (timeout === undefined) this.alarms.clear('state');
    else this.alarms.set('state', timeout, expired);
  }

  #begin() {
    const attempt = ++this.#attempt;
    this.#become('authorizing', this.times.connect, () => this.#lose('no token in time'));
    const isCurrent = () => attempt === this.#attempt && this.#state === 'authorizing';
    Promise.resolve().then(() => this.provider()).then((token) => this.turns.run(() => {
      if (!isCurrent()) return;
      if (typeof token === 'string' && token !== '') this.#connect(token);
      else this.#lose('no token');
    }), (error) => this.turns.run(() => {
      if (isCurrent()) this.#lose(`no token: ${error?.message ?? error}`);
    }));
  }

  #connect(token) {
    this.#become('connecting', this.times.connect, () => this.#lose('no connection in time'));
    let socket;
    try {
      socket = new this.env.WebSocket(this.url, SUBPROTOCOL);
    } catch (error) {
      return this.#goAway(String(error));
    }
    this.#socket = socket;
    const on = (handler) => (event) => this.turns.run(() => {
      if (socket === this.#socket) handler(event);
    });
    socket.onopen = on(() => {
      if (this.#state !== 'connecting') return;
      this.#heard = this.env.now();
      this.#become('welcoming', this.times.connect, () => this.#lose('no welcome in time'));
    });
    socket.onmessage = on(({ data }) => this.#receive(data, token));
    socket.onclose = on(({ code, reason }) => this.#disconnected(code, reason));
    socket.onerror = () => {};
  }

  #receive(data, token) {
    this.#heard = this.env.now();
    let message;
    try {
      message = JSON.parse(data);
    } catch { /* Handled below. */ }
    const { id, method, params, result, error } = message ?? {};
    if (typeof method === 'string') {
      if (method === 'welcome') this.#welcomed(Object(params), token);
      else if (Number.isInteger(params?.seq)) this.#event(method, params);
    } else if (error) {
      this.#refused(id ?? undefined, serverError(error));
    } else if (result !== undefined && id !== undefined) {
      this.#replied(id, result);
    } else {
      this.#resume = undefined;
      this.#lose('an unreadable message');
    }
    if (this.isOpen) this.#watchSilence();
  }

  #welcomed(welcome, token) {
    if (this.#state !== 'welcoming') return;
    if (welcome.protocol !== PROTOCOL_VERSION) {
      this.#dropSocket();
      return this.#goAway(`the server speaks protocol version ${welcome.protocol}`);
    }
    this.#maxFrame = welcome.max_frame_bytes ?? this.#maxFrame;
    this.#pingInterval = welcome.ping_interval_ms ?? 0;
    this.#openId = this.#takeId();
    this.#become('opening', this.times.request, () => this.#lose('no session in time'));
    const params = { token, device: this.device, resume: this.resume };
    this.#write({ id: this.#openId, method: 'session.open', params });
  }

  #sessionOpened(result) {
    if (typeof result?.resume?.token !== 'string' || !Array.isArray(result.calls)) {
      return this.#lose('an unreadable session');
    }
    this.#become('open');
    this.#openSince = this.env.now();
    this.#resume = { session_id: result.session_id, token: result.resume.token };
    this.#opened = result;
    if (!result.resumed) this.#lastSeq = 0;
    this.#acked = this.#lastSeq;
    this.alarms.clear('ack');
    this.#change({ state: result.resumed ? 'resumed' : 'up', result });
    this.owner?._opened(result);
    for (const waiter of this.#waiters.splice(0)) {
      this.alarms.clear(waiter);
      waiter.resolve(result);
    }
    this.#flush();
    this.owner?._flushed(result.resumed);
  }

  #openRefused(error) {
    if (PASSING_REFUSALS.has(error.code)) return this.#lose(error.message, undefined, error.retryAfter);
    if (error.code === 'invalid_params' && this.#resume) {
      this.#resume = undefined;
      return this.#lose(error.message);
    }
    this.#dropSocket();
    this.#goAway(`session.open refused (${error.code}): ${error.message}`, undefined, error);
  }

  #dropSocket() {
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #disconnected(code, reason) {
    this.#socket = undefined;
    if (this.#state === 'closing') return this.#finishClosing();
    const text = reason || `closed with ${code}`;
    if (FINAL_CODES.has(code) || code >= 3500) this.#goAway(text, code);
    else this.#lose(text, code);
  }

  #lose(reason, code, wait) {
    const floor = wait ?? 0;
    if (this.#state === 'closing') return this.#finishClosing();
    this.#dropSocket();
    const now = this.env.now();
    if (this.isOpen) {
      if (now - this.#openSince >= this.times.stable) this.#failures = 0;
      this.owner?._offline();
    }
    this.#attempt += 1;
    this.#lastFailure = reason;
    for (const name of ['ack', 'silence']) this.alarms.clear(name);
    const ceiling = this.owner?._isInCall() ? this.times.callCeiling : this.times.backoffCeiling;
    const bound = Math.min(ceiling, this.times.backoffBase * 2 ** Math.min(this.#failures, 20));
    this.#failures += 1;
    this.#floorUntil = now + floor;
    const delay = floor + Math.floor(this.env.random() * (bound + 1));
    this.#become('waiting', delay, () => this.#begin());
    this.#change({ state: 'down', code, reason, retryIn: delay });
    this.#requestsLost();
  }

  stop() {
    return this.turns.run(() => new Promise((resolve) => {
      if (this.#state === 'idle' || this.#state === 'gone') return resolve(undefined);
      this.#closers.push(resolve);
      if (this.#state === 'closing') return;
      if (!this.isOpen) return this.#finishClosing();
      this.#ack();
      this.#openId = this.#takeId();
      this.#become('closing', this.times.close, () => this.#finishClosing());
      this.#write({ id: this.#openId, method: 'session.close', params: {} });
    }));
  }

  #finishClosing() {
    this.#dropSocket();
    this.#becomeIdle(new ReveilleError('closed', 'the session was closed'));
    this.#change({ state: 'offline' });
    for (const closer of this.#closers.splice(0)) closer();
  }

  #goAway(message, code, error) {
    const failure = new ReveilleError('gone', message, { close_code: code, ...error?.data, cause: error?.code });
    if (code === 3500 || error?.code === 'unauthenticated') failure.whatToDo = ADVICE.unauthenticated;
    if (code === 3503) failure.whatToDo = ADVICE.elsewhere;
    this.#becomeIdle(failure);
    this.#state = 'gone';
    this.#gone = failure;
    this.#change({ state: 'gone', code, reason: message, error: failure });
  }

  #becomeIdle(failure) {
    this.#state = 'idle';
    this.#attempt += 1;
    this.#resume = undefined;
    this.lastAnswered = this.#lastSeq = this.#acked = 0;
    for (const name of ['state', 'ack', 'silence']) this.alarms.clear(name);
    for (const waiter of this.#waiters.splice(0)) {
      this.alarms.clear(waiter);
      waiter.reject(failure);
    }
    for (const item of [...this.outbox]) {
      this.#take(item);
      item.reject(failure);
    }
    this.owner?._idle();
  }

  abandon(failure = elsewhereError()) {
    this.turns.run(() => {
      this.#dropSocket();
      for (const closer of this.#closers.splice(0)) closer();
      this.owner?._abandoned();
      this.#becomeIdle(failure);
      this.alarms.clearAll();
    });
  }

  networkChanged(isNewNetwork = true) {
    this.turns.run(() => {
      if (this.#state === 'waiting') {
        if (this.env.now() >= this.#floorUntil) this.#begin();
      } else if (isNewNetwork && ['connecting', 'welcoming', 'opening'].includes(this.#state)) {
        this.#lose('the network has changed');
        this.#begin();
      } else if (this.isOpen && !this.outbox.some(({ isProbe }) => isProbe)) {
        this.#sayState({ isProbe: true, timeout: this.times.probe });
      }
    });
  }

  #change(detail) {
    this.turns.later(() => {
      this._emit('change', detail);
      this.owner?._changed(detail);
    });
  }

  request(method, params = {}) {
    return this.turns.run(() => new Promise((resolve, reject) => {
      const failure = this.#unavailable();
      if (failure) return reject(failure);
      this.enqueue(method, params, { resolve, reject });
    }));
  }

  #unavailable() {
    if (this.#state === 'gone') return this.#gone;
    if (this.#state === 'closing') return new ReveilleError('closed', 'the session closes');
  }

  enqueue(method, params, { resolve = undefined, reject = () => {}, ...rest } = {}) {
    const wait = KEPT.has(method) ? this.times.keep : this.times.request;
    const item = {
      id: this.#takeId(), method, params, isSilent: !resolve, resolve: resolve ?? (() => {}), reject,
      waitsUntil: this.env.now() + wait, timeout: this.times.request,
      sentAt: undefined, wasSent: false, heldUntil: 0, ...rest,
    };
    this.outbox.push(item);
    this.#arm(item);
    this.#sendIfPossible(item);
  }

  notify(method, params) {
    return this.isOpen && this.#write({ method, params });
  }

  settle(item, { result = undefined, error = undefined }) {
    this.#take(item);
    if (error) item.reject(error);
    else item.resolve(result);
  }

  #takeId() {
    return this.nextId++;
  }

  #write(message) {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    if (text.length * 3 > this.#maxFrame && new TextEncoder().encode(text).length > this.#maxFrame) return false;
    this.#socket.send(text);
    return true;
  }

  #sendIfPossible(item) {
    const now = this.env.now();
    if (!this.isOpen || item.sentAt !== undefined || now < item.heldUntil) return;
    const call = item.params.call_id;
    for (const earlier of this.outbox) {
      if (earlier === item) break;
      if (call && earlier.params.call_id === call && now < earlier.heldUntil) return;
    }
    item.heldUntil = 0;
    item.sentAt = now;
    this.#arm(item);
    if (this.#write({ id: item.id, method: item.method, params: item.params })) return;
    const limit = this.#maxFrame;
    this.#refused(item.id, new ReveilleError('too_large', `the server takes up to ${limit} bytes`, { limit }));
  }

  #flush() {
    for (const item of [...this.outbox]) if (this.outbox.includes(item)) this.#sendIfPossible(item);
  }

  #arm(item) {
    const at = item.sentAt === undefined ? item.waitsUntil : item.sentAt + item.timeout;
    this.alarms.set(item, at - this.env.now(), () => this.#expire(item));
  }

  #take(item) {
    this.outbox = this.outbox.filter((other) => other !== item);
    this.alarms.clear(item);
    this.alarms.clear(item.id);
  }

  #sent(id) {
    const item = this.outbox.find((other) => other.id === id && other.sentAt !== undefined);
    if (item) this.lastAnswered = Math.max(this.lastAnswered, item.id);
    return item;
  }

  #replied(id, result) {
    if (id === this.#openId && this.#state === 'opening') return this.#sessionOpened(result);
    if (id === this.#openId && this.#state === 'closing') return this.#finishClosing();
    const item = this.#sent(id);
    if (!item) return;
    this.#take(item);
    this.owner?._replied(item, Object(result));
    item.resolve(result);
  }

  #refused(id, error) {
    if (id === undefined) return this.owner?._candidatesRefused(error);
    if (id === this.#openId && this.#state === 'opening') return this.#openRefused(error);
    if (id === this.#openId && this.#state === 'closing') return this.#finishClosing();
    const item = this.#sent(id);
    if (!item) return;
    const isRepeated = KEPT.has(item.method) || (item.isSilent && item.method === 'call.get');
    const isPassing = error.code === 'overloaded' || error.code === 'rate_limited';
    if (isRepeated && isPassing) return this.#hold(item, error.retryAfter ?? 0);
    this.#take(item);
    const outcome = this.owner?._refused(item, error) ?? { error };
    if (outcome.error) item.reject(outcome.error);
    else item.resolve(outcome.result);
  }

  #hold(item, wait) {
    const delay = wait + 1 + Math.floor(this.env.random() * this.times.backoffBase);
    item.sentAt = undefined;
    item.heldUntil = this.env.now() + delay;
    this.#arm(item);
    this.alarms.set(item.id, delay, () => this.#flush());
  }

  #requestsLost() {
    this.owner?._connectionLost();
    this.lastAnswered = 0;
    const now = this.env.now();
    for (const item of [...this.outbox]) {
      if (item.sentAt === undefined) continue;
      item.sentAt = undefined;
      item.wasSent = true;
      if (item.method === 'call.update' || item.isProbe || item.waitsUntil <= now) this.#expire(item);
      else this.#arm(item);
    }
  }

  #expire(item) {
    // Nothing was heard since: the connection is dead.
    if (item.sentAt !== undefined && this.#heard <= item.sentAt && this.isOpen) {
      this.#lose('no answer in time');
      if (item.isProbe) this.#begin();
      return;
    }
    const error = item.sentAt !== undefined
      ? new ReveilleError('timed_out', `no answer to ${item.method} in time`)
      : item.wasSent
        ? new ReveilleError('connection_lost', 'the connection broke before the answer') : this.#notConnected();
    this.#take(item);
    this.#fail(item, error);
  }

  #fail(item, error) {
    item.reject(error);
    this.owner?._failed(item, error);
  }

  #event(method, params) {
    const { seq } = params;
    if (!this.isOpen || seq <= this.#lastSeq) return;
    if (seq !== this.#lastSeq + 1) {
      this.#resume = undefined;
      return this.#lose('a gap in the events');
    }
    this.#lastSeq = seq;
    this.owner?._event(method, params);
    this.turns.later(() => this._emit('event', { method, params }));
    if (this.#lastSeq - this.#acked >= ACK_EVERY) this.#ack();
    else this.alarms.setIfNone('ack', this.times.ackDelay, () => this.#ack());
  }

  #ack() {
    this.alarms.clear('ack');
    if (!this.isOpen || this.#lastSeq <= this.#acked) return;
    this.#acked = this.#lastSeq;
    this.#write({ method: 'session.ack', params: { seq: this.#lastSeq } });
  }

  #sayState(rest = {}) {
    this.enqueue('session.state', { app: 'foreground' }, rest);
  }

  /** A browser shows no pings to a page, so a silent server is asked. */
  #watchSilence() {
    if (this.#pingInterval <= 0) return;
    this.alarms.set('silence', this.#pingInterval * 2.5, () => {
      if (this.isOpen && !this.outbox.some(({ sentAt }) => sentAt !== undefined)) this.#sayState();
    });
  }
}

export class Call extends Emitter {
  from; to; sdp; custom; pushId; expiresAt; answeredAt; connectedAt; endedAt; peerAwaySince; peerExpiresAt; reason; by;
  mergedInto;

  constructor(session, id, role, state) {
    super();
    this.session = session;
    this.id = id;
    this.role = role;
    this.state = state;
    this.video = this.isOwnAct = this.isRestored = false;
    this.legs = { waking: 0, ringing: 0 };
    this.steps = [];
    this._ = { isTold: true, isUnlisted: false, askedAbout: undefined, own: [], candidates: [], known: new Set() };
  }

  get remaining() { return this.#left(this._deadline); }
  get peerRemaining() { return this.#left(this._peerDeadline); }
  #left(deadline) { return deadline && Math.max(0, deadline - this.session.env.now()); }

  get isLive() { return this.state !== 'ended'; }
  get isPolite() { return this.role === 'callee'; }

  get peer() {
    if (this.role === 'callee') return this.from?.name ?? this.from?.handle ?? '';
    return Array.isArray(this.to) ? this.to.join(', ') : this.to?.group ?? this.to ?? '';
  }

  answer(content) { return this.#act('call.answer', content); }
  ringing() { return this.#act('call.ringing'); }
  decline(reason) { return this.#act('call.decline', { reason }); }
  hangup(reason) { return this.#act('call.hangup', { reason }); }
  connected() { return this.#act('call.connected'); }
  update(kind, content) { return this.#act('call.update', { kind, ...content }); }
  get() { return this.#act('call.get'); }

  #act(method, params) {
    const sent = this.session._act(this, method, { call_id: this.id, ...params });
    sent.catch(() => {});
    return sent;
  }

  sendCandidates(candidates, isFinal = false) { this.session._gathered(this, candidates, isFinal); }

  note(name, from, by) {
    if (this.steps.length >= STEP_LIMIT) return;
    const step = { at: Date.now(), name, from, by };
    this.steps.push(step);
    this.session.turns.later(() => this._emit('step', step));
  }

  _advance(state) {
    if (!(RANK[state] > RANK[this.state])) return;
    if (isBeforeAnswer(this.state) !== isBeforeAnswer(state) || state === 'connected') this._setDeadline();
    this.state = state;
  }

  _setDeadline(expiresAt, remaining = 0) {
    this.expiresAt = expiresAt;
    this._deadline = expiresAt && this.session.env.now() + remaining;
  }

  _setPeer(awaySince, expiresAt, remaining = 0) {
    this.peerAwaySince = awaySince;
    this.peerExpiresAt = expiresAt;
    this._peerDeadline = expiresAt && this.session.env.now() + remaining;
  }

  _merge(wire) {
    for (const name of Object.keys(FIELDS)) if (wire[name] !== undefined) this[FIELDS[name]] = wire[name];
  }

  _content() {
    const { state, legs, expiresAt, peerAwaySince } = this;
    return JSON.stringify([state, legs, expiresAt, peerAwaySince, NAMES.map((name) => this[name])]);
  }

  _take({ state, at, legs, by, sdp, expires_at: expiresAt, remaining_ms: remaining }) {
    this._advance(state);
    if (legs) this.legs = legs;
    if (this.state === state && expiresAt !== undefined) this._setDeadline(expiresAt, remaining);
    this._merge({ by, sdp });
    if (state === 'answered') this.answeredAt ??= at;
    if (state === 'connected') this.connectedAt ??= at;
  }

  _news(candidates) {
    return candidates.filter((candidate) => {
      const key = JSON.stringify(candidate);
      if (this._.known.has(key)) return false;
      if (this._.known.size < CANDIDATE_LIMIT) {
        this._.known.add(key);
        this._.candidates.push(candidate);
      }
      return true;
    });
  }

  _saved() {
    const { expiresAt, remaining, peerAwaySince, peerExpiresAt, peerRemaining } = this;
    const { id, role, state, steps, _: { isTold, candidates, media } } = this;
    return {
      ...Object.fromEntries(NAMES.map((name) => [name, this[name]])), id, role, state, steps, isTold, media,
      expiresAt, remaining, peerAwaySince, peerExpiresAt, peerRemaining, savedAt: Date.now(),
      candidates: state === 'connected' ? [] : candidates,
    };
  }

  _restore({
    expiresAt, remaining, peerAwaySince, peerExpiresAt, peerRemaining, savedAt, isTold, candidates, media, ...rest
  }) {
    const age = Date.now() - savedAt;
    Object.assign(this, rest);
    this.isRestored = true;
    Object.assign(this._, { isTold, media });
    this._news(candidates);
    this._setDeadline(expiresAt, remaining - age);
    this._setPeer(peerAwaySince, peerExpiresAt, peerRemaining - age);
  }
}

export class Session extends Emitter {
  #calls = [];
  #ended = [];
  #offlineSince;
  #tokenCall;
  #isRestored = false;
  #isSaving = false;
  #key;
  #tabs;
  #wanted;
  #iceServers = [];
  #iceExpiry = Infinity;
  #iceCall;

  constructor(options) {
    super();
    this.env = surroundings(options.environment);
    this.options = { automaticRinging: true, tabs: true, ...options };
    const id = options.deviceId ?? this.#deviceId();
    const device = { id, platform: 'web', app: options.app, name: options.deviceName };
    this.#key = `reveille:${options.url}:${id}`;
    const saved = this.#load();
    this.connection = new Connection({
      url: options.url, device, env: this.env, times: options.times, owner: this, resume: saved?.resume, token: options.token,
    });
    this.turns = this.connection.turns;
    this.times = this.connection.times;
    this.user = saved?.user;
    this.missed = [];
    for (const call of saved?.calls ?? []) {
      const restored = new Call(this, call.id, call.role, call.state);
      restored._restore(call);
      this.#calls.push(restored);
    }
    this.#isRestored = Boolean(saved);
    const canElect = this.options.tabs && this.env.locks && this.env.BroadcastChannel;
    if (canElect) this.#tabs = new Tabs(this.#key, this.env, this.times, this);
  }

  get calls() { return this.#calls.filter(({ _: { isTold } }) => isTold); }
  call(id) { return this.calls.find((call) => call.id === id); }
  get deviceId() { return this.connection.device.id; }

  get state() {
    if (this.#wanted && this.#tabs?.isElsewhere) return 'elsewhere';
    const { state } = this.connection;
    if (state === 'open' || state === 'gone') return state;
    return state === 'closing' || (state === 'idle' && !this.#wanted) ? 'offline' : 'connecting';
  }

  get callsElsewhere() { return this.#tabs?.callsElsewhere ?? []; }

  start() {
    this.#want();
    if (this.#isRestored) {
      for (const call of this.calls) this.turns.later(() => this.#dispatch('restored', call));
    }
    this.turns.run(() => {
      if (this.#tabs && !this.#tabs.isLeader) this.#tabs.join(this.#isRestored);
      else this.connection.start();
    });
  }

  opened(timeout = 30_000) {
    return this.#elsewhere() ?? this.connection.opened(timeout);
  }

  takeOver() {
    this.#want();
    if (this.#tabs && !this.#tabs.isLeader) this.#tabs.steal();
    else this.start();
  }

  async close() {
    this.#wanted?.abort();
    this.#wanted = undefined;
    await this.connection.stop();
    this.#tabs?.leave();
  }

  request(method, params = {}) {
    return this.#elsewhere() ?? this.connection.request(method, params);
  }

  #elsewhere() {
    return this.state === 'elsewhere' ? Promise.reject(elsewhereError()) : undefined;
  }

  #deviceId() {
    const name = 'reveille:device';
    let id;
    try {
      id = this.env.localStorage.getItem(name) ?? uuid();
      this.env.localStorage.setItem(name, id);
    } catch { /* Forbidden, or not there: then each page is a device. */ }
    return id ?? uuid();
  }

  _token = () => {
    this.#tokenCall ??= new Promise((resolve, reject) => {
      const abort = new AbortController();
      this.connection.alarms.set('token', this.times.connect, () => {
        reject(new Error('no answer from the token provider'));
        abort.abort();
      });
      Promise.resolve().then(() => this.options.token({ signal: abort.signal })).then(resolve, reject);
    }).finally(() => {
      this.connection.alarms.clear('token');
      this.#tokenCall = undefined;
    });
    return this.#tokenCall;
  };

  #want() {
    if (this.#wanted) return;
    this.#wanted = new AbortController();
    const { page, navigator } = this.env;
    const on = (target, type, isNewNetwork) => target?.addEventListener?.(type, () => {
      if (this.state === 'elsewhere' || (!isNewNetwork && target.visibilityState !== 'visible')) return;
      this.connection.networkChanged(isNewNetwork);
      if (isNewNetwork) this._emit('network');
    }, { signal: this.#wanted.signal });
    on(page, 'online', true);
    on(page?.document, 'visibilitychange', false);
    on(page && navigator?.connection, 'change', true);
  }

  _changed(detail) {
    this._emit('connection', detail);
    if (detail.state === 'gone' || detail.state === 'offline') this.#tabs?.announce('[]');
  }

  #load() {
    try {
      return JSON.parse(this.env.sessionStorage?.getItem(this.#key) ?? 'null') ?? undefined;
    } catch {
      return;
    }
  }

  #save() {
    if (this.#isSaving) return;
    this.#isSaving = true;
    queueMicrotask(() => {
      this.#isSaving = false;
      const { resume } = this.connection;
      const calls = this.#calls.map((call) => call._saved());
      try {
        if (resume) this.env.sessionStorage?.setItem(this.#key, JSON.stringify({ resume, user: this.user, calls }));
        else this.env.sessionStorage?.removeItem(this.#key);
      } catch { /* Full, or forbidden: then a reload begins a new session. */ }
      const told = this.calls.map(({ id, state, role, peer, _: { media } }) => ({ id, state, role, peer, media }));
      this.#tabs?.announce(JSON.stringify(told));
    });
  }

  _gained() {
    if (this.#wanted) this.connection.start();
    this._emit('tabs');
  }

  _lost() {
    this.connection.abandon();
    this.#tabs.join(false);
    this._emit('tabs');
  }

  _heard() {
    this.connection.abandon();
    this._emit('tabs');
  }

  async iceServers() {
    if (this.#iceExpiry - this.env.now() < 60_000) await this.#refreshICE();
    return this.#iceServers;
  }

  #takeICE(servers) {
    this.#iceServers = servers.map(({ urls, username, credential }) => ({ urls, username, credential }));
    const shortest = Math.min(Infinity, ...servers.map(({ remaining_ms }) => remaining_ms));
    this.#iceExpiry = this.env.now() + shortest;
    if (!(shortest < Infinity)) return;
    this.#awaitICE(shortest * 0.8);
    this.turns.later(() => this._emit('iceservers'));
  }

  #refreshICE() {
    this.#iceCall ??= this.#fetchICE().catch(() => this.#awaitICE(0)).finally(() => { this.#iceCall = undefined; });
    return this.#iceCall;
  }

  #awaitICE(time) {
    this.connection.alarms.set('ice', Math.max(30_000, time), () => this.#refreshICE());
  }

  async #fetchICE() {
    const url = this.connection.url.replace(/^ws/, 'http').replace(/signal$/, 'turn');
    const headers = { authorization: `Bearer ${await this._token()}` };
    const signal = /** @type {any} */ (AbortSignal).timeout(this.times.request);
    const answer = await this.env.fetch(url, { headers, signal });
    if (!answer.ok) throw new Error(`GET /v1/turn: ${answer.status}`);
    const { ice_servers: servers } = await answer.json();
    this.turns.run(() => this.#takeICE(servers ?? []));
  }

  async invite(to, /** @type {any} */ options = {}) {
    return this._invite(to, options).invited;
  }

  _invite(to, { id = uuid(), sdp, custom, video = false, ringMs, maxDurationMs }) {
    return this.turns.run(() => {
      const params = {
        call_id: id, to, ring_ms: ringMs, max_duration_ms: maxDurationMs, video: Boolean(video), sdp, custom,
      };
      for (const item of [...this.connection.outbox]) {
        const isObsolete = item.method === 'call.hangup' && item.params.call_id === id && item.isSilent;
        if (isObsolete && item.sentAt === undefined) this.connection.settle(item, { result: {} });
      }
      let call = this._find(id);
      const isNew = !call;
      if (!call) {
        this.#ended = this.#ended.filter((past) => past.id !== id);
        call = this.#add(new Call(this, id, 'caller', 'routing'));
        Object.assign(call, { to, custom, video });
      }
      call.note('invite', 'page');
      const made = call;
      const invited = this.request('call.invite', params).then(() => made, (error) => {
        if (error.code === 'elsewhere' || error.code === 'closed') {
          this.turns.run(() => this.#end(id, 'forbidden', { isTold: false }));
        }
        throw error;
      });
      if (isNew) this.#tell('outgoing', call);
      return { call, invited };
    });
  }

  _act(call, method, params) {
    return this.turns.run(() => {
      call.note(method.slice(5), 'page');
      const past = this._past(call.id);
      if (past && method !== 'call.get') {
        const { result, error } = settlement(method, past.reason);
        return error ? Promise.reject(error) : Promise.resolve(result);
      }
      if (method === 'call.answer') call._.isTold = true;
      if (method === 'call.hangup') {
        const withdrawn = this.#withdrawInvite(call.id);
        if (withdrawn) return Promise.resolve(withdrawn);
      }
      return this.request(method, params);
    });
  }

  #withdrawInvite(id) {
    const invite = this.connection.outbox
      .find(({ method, params, sentAt }) => method === 'call.invite' && params.call_id === id && sentAt === undefined);
    if (!invite) return;
    this.connection.settle(invite, { error: endedError('cancelled') });
    // The server may have the invite; repeated, it would make a phone ring.
    if (invite.wasSent) return;
    this.#end(id, 'cancelled', { isOwnAct: true });
    return { state: 'ended', reason: 'cancelled' };
  }

  _find(id) { return this.#calls.find((call) => call.id === id); }
  _past(id) { return this.#ended.filter((past) => past.id === id).at(-1); }

  #add(call) {
    this.#calls.push(call);
    return call;
  }

  #tell(type, call, detail = {}) {
    this.turns.later(() => this.#dispatch(type, call, detail));
  }

  #dispatch(type, call, detail = {}) {
    for (const target of [call, this]) target?._emit(type, { call, ...detail });
  }

  _settled() {
    for (const call of this.#calls) this.#armCall(call);
    this.#save();
  }

  _offline() { this.#offlineSince = this.env.now(); }
  _isInCall() { return this.#calls.length > 0; }

  _abandoned() {
    for (const call of this.#calls.splice(0)) this.#tell('moved', call);
  }

  _idle() {
    this.#offlineSince = undefined;
    this.#isRestored = false;
    this.connection.alarms.clear('ice');
    while (this.#calls.length > 0) this.#end(this.#calls.at(-1).id, 'connection_lost', { certainty: 'guessed' });
  }

  _opened(result) {
    this.#offlineSince = undefined;
    this.user = result.user;
    this.missed = result.missed ?? [];
    this.#takeICE(result.ice_servers ?? []);
    // The server's list sets right what a page remembers.
    const isKnown = result.resumed && !this.#isRestored;
    this.#isRestored = false;
    if (isKnown) {
      for (const snapshot of result.calls) this.#hangUpIfGivenUp(snapshot.call_id, snapshot.state, snapshot.by);
      return;
    }
    this.#reconcile(result.calls);
  }

  _event(method, params) {
    const call = this._find(params.call_id);
    const what = params.state ?? params.kind ?? params.presence ?? params.reason;
    call?.note(method.slice(5) + (what ? `:${what}` : ''), 'server', params.by);
    switch (method) {
      case 'call.incoming': return this.#incoming(params);
      case 'call.state':
        this.#hangUpIfGivenUp(params.call_id, params.state, params.by);
        return this.#changeCall(params.call_id, (known) => known._take(params));
      case 'call.ended': return this.#endedEvent(params);
      case 'call.candidates':
        if (!call?._.isTold) return;
        // Also repeated ones: an ICE restart may mean them again.
        call._news(params.candidates);
        return this.#tell('candidates', call, { candidates: params.candidates, isFinal: params.final === true });
      case 'call.update':
        if (!call?._.isTold) return;
        return this.#tell('update', call, { kind: params.kind, sdp: params.sdp, custom: params.custom });
      case 'call.peer':
        if (!call) return;
        call._setPeer(params.presence === 'away' ? params.at : undefined, params.expires_at, params.remaining_ms);
        if (call._.isTold) this.#tell('peer', call, { presence: params.presence, at: params.at });
        return;
      case 'server.draining':
        return this.#tell('draining', undefined, { deadline: params.deadline_ms });
    }
  }

  #incoming(params) {
    const id = params.call_id;
    if (this.#hangUpIfRefused(id)) return;
    this.#forgetGuess(id);
    if (this._past(id)) return;
    const known = this._find(id);
    if (known?.role === 'caller') return;
    const call = known ?? this.#add(new Call(this, id, 'callee', 'ringing'));
    const isTold = known?._.isTold ?? false;
    const before = call._content();
    call._merge(params);
    if (isBeforeAnswer(call.state)) call._setDeadline(params.expires_at, params.remaining_ms);
    call._.isTold = true;
    call._.isUnlisted = false;
    const candidates = call._news(params.candidates ?? []);
    if (isTold) {
      if (call._content() !== before) this.#tell('offer', call);
      if (candidates.length > 0) this.#tell('candidates', call, { candidates, isFinal: false });
      return;
    }
    if (call.steps.length === 0) call.note('incoming', 'server');
    this.#tell('incoming', call, { candidates });
    if (this.options.automaticRinging) this.#say('call.ringing', { call_id: id });
  }

  #say(method, params) {
    this.connection.enqueue(method, params);
  }

  _replied({ method, params }, result) {
    const id = params.call_id;
    switch (method) {
      case 'call.invite':
        if (result.state === 'ended') return this.#end(id, result.reason);
        return this.#changeCall(id, (call) => {
          call._advance(result.state);
          if (isBeforeAnswer(call.state)) call._setDeadline(result.expires_at, result.remaining_ms);
        });
      case 'call.answer':
        return this.#won(id);
      case 'call.get': {
        const call = this._find(result.call_id);
        if (!call || call.role !== result.role) return;
        call._.isUnlisted = false;
        return this.#snapshot(result);
      }
      default: {
        if (!result.state || method === 'push.report') return;
        const call = this._find(id);
        if (call) call._.isUnlisted = false;
        if (result.state !== 'ended') return this.#changeCall(id, (known) => known._advance(result.state));
        const isOwnAct = method === 'call.hangup' || method === 'call.decline';
        return this.#end(id, result.reason ?? 'hangup', { isOwnAct });
      }
    }
  }

  #changeCall(id, change) {
    const call = this._find(id);
    if (!call) return;
    const before = call._content();
    change(call);
    if (call._content() !== before && call._.isTold) this.#tell('state', call);
  }

  #won(id) {
    const call = this._find(id);
    if (call) call._.isUnlisted = false;
    this.#changeCall(id, (known) => known._advance('answered'));
  }

  _refused(item, error) {
    const { method, params } = item;
    const id = params.call_id;
    const call = this._find(id);
    const isUnknown = error.code === 'forbidden' || error.code === 'not_found';
    if (method === 'call.answer' && error.code === 'already_answered') {
      if (error.data.by?.device_id === this.deviceId) {
        this.#won(id);
        return { result: { won: true } };
      }
      this.#end(id, 'answered_elsewhere', { by: error.data.by });
    } else if (isUnknown && (method === 'call.answer' || method === 'call.ringing')) {
      if (call?.role === 'callee') this.#end(id, 'connection_lost');
    } else if (isUnknown && (method === 'call.connected' || method === 'call.get')) {
      this.#end(id, 'connection_lost');
    } else if (isUnknown && (method === 'call.hangup' || (method === 'call.decline' && call?.role === 'callee'))) {
      const reason = method === 'call.decline' ? declineReason(params) : call ? endReason(item, call) : 'cancelled';
      this.#end(id, reason, { isOwnAct: true });
      return { result: { state: 'ended', reason } };
    } else if (method === 'call.invite') {
      if (this.#isUnconfirmed(call)) this.#end(id, 'forbidden', { isTold: false });
    } else if (error.code === 'call_ended') {
      if (id) this.#end(id, error.data.reason);
    } else if (DECISIVE.has(method)) this.#settleUnlisted(id);
    return { error };
  }

  #isUnconfirmed(call) {
    return call?.role === 'caller' && call.state === 'routing' && call.expiresAt === undefined;
  }

  _failed(item, error) {
    const id = item.params.call_id;
    const call = this._find(id);
    switch (item.method) {
      case 'call.answer':
      case 'call.get': return this.#settleUnlisted(id);
      case 'call.hangup': case 'call.decline':
        if (call) this.#end(id, endReason(item, call), { isOwnAct: true, certainty: 'refused' });
        return;
      case 'call.invite':
        if (!this.#isUnconfirmed(call)) return;
        this.#end(id, 'connection_lost', { isTold: false, certainty: 'guessed' });
        // The server may have the call, and let it ring without a caller.
        if (error.code !== 'not_connected') this.#say('call.hangup', { call_id: id });
    }
  }

  #endedEvent(params) {
    const id = params.call_id;
    const call = this._find(id);
    const past = this._past(id);
    if (call) {
      call.endedAt = params.at;
      call.mergedInto = params.merged_into;
      this.#end(id, params.reason, { by: params.by, isOwnAct: params.callkit_reason === null });
    } else if (past) {
      if (params.merged_into) this.#merge(past, params.merged_into);
      if (past.certainty !== 'told') Object.assign(past, { reason: params.reason, certainty: 'told' });
    } else {
      this.#remember({ id, role: 'callee', reason: params.reason, isTold: false });
    }
  }

  #end(id, reason, { by = undefined, isOwnAct = false, isTold = true, certainty = 'told' } = {}) {
    const call = this._find(id);
    if (!call) return;
    this.#calls = this.#calls.filter((other) => other !== call);
    this.connection.alarms.clear(call);
    const past = this.#remember({ id, role: call.role, reason, certainty, isTold: call._.isTold && isTold });
    for (const item of [...this.connection.outbox]) this.#settleIfOver(item, id, reason);
    Object.assign(call, { state: 'ended', reason, by, isOwnAct });
    if (call._.isTold && isTold) this.#tell('ended', call);
    else this.turns.later(() => call._emit('ended', { call }));
    if (call.mergedInto) this.#merge(past, call.mergedInto);
  }

  #settleIfOver(item, id, reason) {
    if (item.params.call_id !== id || item.sentAt !== undefined || item.method === 'push.report') return;
    if (item.method === 'call.get' && !item.isSilent) return;
    this.connection.settle(item, settlement(item.method, reason));
  }

  #remember(past) {
    if (this.#ended.length >= ENDED_LIMIT) this.#ended.shift();
    const entry = { certainty: 'told', mergedInto: undefined, ...past };
    this.#ended.push(entry);
    return entry;
  }

  #merge(past, winner) {
    if (past.mergedInto) return;
    past.mergedInto = winner;
    if (!past.isTold) return;
    this.#tell('merged', this._find(winner), { loser: past.id, winner });
  }

  #forgetGuess(id) {
    this.#ended = this.#ended.filter((past) => past.id !== id || past.certainty !== 'guessed');
  }

  #reconcile(snapshots) {
    for (const snapshot of snapshots) {
      const { call_id: id, role, state, by } = snapshot;
      if (role === 'callee' && isBeforeAnswer(state)) this.#forgetGuess(id);
      this.#hangUpIfGivenUp(id, state, by);
      this.#snapshot(snapshot);
    }
    for (const call of [...this.#calls]) {
      if (!snapshots.some(({ call_id: id }) => id === call.id)) this.#unlisted(call);
    }
  }

  #unlisted(call) {
    const pending = this.#pending(call.id);
    if (pending.includes('call.invite') && this.#isUnconfirmed(call)) return;
    call._.isUnlisted = true;
    if (!pending.some((method) => DECISIVE.has(method))) this.#say('call.get', { call_id: call.id });
  }

  #pending(id) {
    return this.connection.outbox.filter(({ params }) => params.call_id === id).map(({ method }) => method);
  }

  #settleUnlisted(id) {
    if (this._find(id)?._.isUnlisted) this.#end(id, 'connection_lost');
  }

  #hangUpIfGivenUp(id, state, by) {
    const past = this._past(id);
    if (state === 'ended' || !past || past.certainty === 'told') return;
    const isOurs = past.role === 'caller' || (!isBeforeAnswer(state) && by?.device_id === this.deviceId);
    if (isOurs || past.certainty === 'refused') this.#giveUp(id);
  }

  #hangUpIfRefused(id) {
    if (!this.#ended.some((past) => past.id === id && past.certainty === 'refused')) return false;
    this.#giveUp(id);
    return true;
  }

  #giveUp(id) {
    if (!this.#pending(id).includes('call.hangup')) this.#say('call.hangup', { call_id: id });
  }

  #snapshot(snapshot) {
    const { call_id: id, role, state, by } = snapshot;
    const known = this._find(id);
    const isRinging = role === 'callee' && isBeforeAnswer(state);
    const device = by?.device_id;
    const isElsewhere = role === 'callee' && !isRinging && device !== undefined && device !== this.deviceId;
    const isOver = state === 'ended' || isElsewhere;
    const past = this._past(id);
    if (!known && isOver && !past) {
      this.#remember({ id, role, reason: state === 'ended' ? snapshot.reason : 'answered_elsewhere', isTold: false });
    }
    if (!known && (isOver || past)) return;
    const call = known ?? this.#add(new Call(this, id, role, state));
    // One that rings is told by its call.incoming.
    if (!known) {
      call._.isTold = !isRinging;
      call._.media = this.#tabs?.known.find((other) => other.id === id)?.media;
    }
    const before = call._content();
    if (state !== 'ended') call._advance(state);
    call._merge(snapshot);
    if (call.peerAwaySince !== snapshot.peer_away_since) {
      call._setPeer(snapshot.peer_away_since);
      call.note(call.peerAwaySince ? 'peer:away' : 'peer:back', 'server');
    }
    if (call.state === state) call._setDeadline(snapshot.expires_at, snapshot.remaining_ms);
    if (known && !isRinging && !isOver) call._.isTold = true;
    if (state === 'ended') {
      return this.#end(id, snapshot.reason ?? 'connection_lost', { by, isOwnAct: snapshot.callkit_reason === null });
    }
    if (isElsewhere) return this.#end(id, 'answered_elsewhere', { by });
    if (!known && !isRinging) this.#tell('restored', call);
    if (known ? call._content() !== before : !isRinging) this.#tell('state', call);
  }

  #armCall(call) {
    const { alarms } = this.connection;
    alarms.clear(call);
    const isRinging = isBeforeAnswer(call.state);
    const deadline = call._peerDeadline ?? (call.state === 'connected' ? undefined : call._deadline);
    const overdue = deadline && deadline + this.times.ringGrace - this.env.now();
    if (this.connection.isOpen) {
      if (overdue === undefined || deadline === call._.askedAbout) return;
      return alarms.set(call, overdue, () => {
        call._.askedAbout = deadline;
        this.#say('call.get', { call_id: call.id });
      });
    }
    const give = (after, reason) => alarms.set(call, after, () => this.#end(call.id, reason, { certainty: 'guessed' }));
    if (!isRinging) {
      if (this.#offlineSince === undefined) return;
      return give(this.#offlineSince + this.times.callKeep - this.env.now(), 'connection_lost');
    }
    // The answer may have won: then the reply to the repeated answer decides.
    const mayBeAnswered = this.connection.outbox
      .some(({ method, params, wasSent }) => method === 'call.answer' && params.call_id === call.id && wasSent);
    if (!mayBeAnswered && overdue !== undefined) give(overdue, 'ring_timeout');
  }

  // Candidates have no answer: that to a later request proves that they arrived.

  _gathered(call, candidates, isFinal) {
    this.turns.run(() => {
      if (!this.#calls.includes(call)) return;
      const batch = { call_id: call.id, candidates, ...(isFinal && { final: true }) };
      const sentBefore = this.connection.notify('call.candidates', batch) ? this.connection.nextId : undefined;
      if (call._.own.length < CANDIDATE_LIMIT) call._.own.push({ batch, sentBefore, hasArrived: false });
    });
  }

  _candidatesRefused(error) {
    const call = this._find(error.data.call_id);
    if (!call || error.retryAfter === undefined) return;
    this.connection.alarms.set(`candidates ${call.id}`, error.retryAfter, () => {
      for (const own of call._.own) this.connection.notify('call.candidates', own.batch);
    });
  }

  _connectionLost() {
    for (const call of this.#calls) {
      for (const own of call._.own) {
        if (own.sentBefore === undefined) continue;
        if (own.sentBefore <= this.connection.lastAnswered) own.hasArrived = true;
        own.sentBefore = undefined;
      }
    }
  }

  _flushed(isResumed) {
    for (const call of this.#calls) {
      const isNeeded = !isResumed && call.state !== 'connected';
      for (const own of call._.own) {
        // What the server has lost may be lost on its way again.
        if (isNeeded) own.hasArrived = false;
        if (own.sentBefore !== undefined || own.hasArrived) continue;
        if (this.connection.notify('call.candidates', own.batch)) own.sentBefore = this.connection.nextId;
      }
    }
  }
}

/** A request about a call that has ended: one that meant to end it has succeeded. */
function settlement(method, reason) {
  const isLate = ['call.hangup', 'call.decline', 'call.ringing', 'call.connected'].includes(method);
  return isLate ? { result: { state: 'ended', reason } } : { error: endedError(reason) };
}

const declineReason = ({ reason }) => (reason === 'busy' ? 'busy' : 'declined');

function endReason({ method, params }, call) {
  if (method === 'call.decline') return declineReason(params);
  if (!isBeforeAnswer(call.state)) return params.reason ?? 'hangup';
  return call.role === 'caller' ? 'cancelled' : 'declined';
}

class Tabs {
  isLeader = false;
  isElsewhere = false;
  callsElsewhere = [];
  known = [];
  #release;
  #abort;
  #channel;
  #hasJoined = false;
  #last;

  constructor(name, env, times, owner) {
    this.name = name;
    this.env = env;
    this.times = times;
    this.owner = owner;
  }

  /** The calls of the tab with the session, as JSON; the question of another tab has none. */
  #receive({ calls }) {
    if (this.isLeader) return calls || this.#channel.postMessage({ calls: this.#last });
    if (!calls) return;
    this.callsElsewhere = this.known = JSON.parse(calls);
    return this.#isHeard();
  }

  #isHeard() {
    this.isElsewhere = true;
    this.owner._heard();
  }

  join(isReload) {
    if (this.#hasJoined) return;
    this.#open();
    this.#channel.postMessage({});
    if (!isReload) this.#request({});
    this.env.setTimeout(() => {
      // A tab that waits may have got the lock during the reload. It keeps the session.
      if (isReload) this.#request(this.isElsewhere ? {} : { steal: true });
      else if (!this.isLeader && !this.isElsewhere && this.#hasJoined) this.#isHeard();
    }, this.times.tabAsk);
  }

  #open() {
    this.#hasJoined = true;
    if (this.#channel) return;
    this.#channel = new this.env.BroadcastChannel(this.name);
    this.#channel.onmessage = ({ data }) => this.#receive(data);
    this.#channel.unref?.();
  }

  steal() {
    this.leave();
    this.#open();
    this.isElsewhere = false;
    this.callsElsewhere = [];
    this.#request({ steal: true });
  }

  #request({ steal = false }) {
    if (!this.#hasJoined) return;
    const abort = new AbortController();
    this.#abort = abort;
    const options = steal ? { steal } : { signal: abort.signal };
    this.env.locks.request(this.name, options, () => this.#granted(abort)).catch(() => {
      if (this.#abort !== abort) return;
      const wasLeader = this.isLeader;
      this.isLeader = this.#hasJoined = false;
      if (wasLeader) this.owner._lost();
    });
  }

  async #granted(abort) {
    if (abort.signal.aborted) return;
    const held = new Promise((resolve) => { this.#release = resolve; });
    // The tab with the call may be loading again.
    if (this.callsElsewhere.length > 0) {
      await new Promise((resolve) => { this.env.setTimeout(resolve, this.times.tabGrace); });
    }
    if (abort.signal.aborted || this.#abort !== abort || !this.#hasJoined) return;
    this.isLeader = true;
    this.isElsewhere = false;
    this.callsElsewhere = [];
    this.#last = undefined;
    this.announce('[]');
    this.owner._gained();
    return held;
  }

  announce(calls) {
    if (!this.isLeader || calls === this.#last) return;
    this.#last = calls;
    this.#channel.postMessage({ calls });
  }

  leave() {
    this.isLeader = this.isElsewhere = this.#hasJoined = false;
    this.#abort?.abort();
    this.#channel?.close();
    this.#abort = this.#channel = undefined;
    this.#release?.();
  }
}

const REPEATED = new Set(['overloaded', 'rate_limited', 'connection_lost', 'timed_out', 'not_connected',
  'internal_error']);
const NOTHING = { received: 0, lost: 0, heard: 0 };
const CAPTURE_ERRORS = {
  NotAllowedError: 'media_denied', NotFoundError: 'media_missing', NotReadableError: 'media_busy',
};

export class Media extends Emitter {
  #pc;
  #alarms;
  #off = new AbortController();
  #ready;
  #problem = (error) => this._emit('problem', { error });
  #steps = Promise.resolve();
  #tones = Promise.resolve();
  #cutTones;
  #batch = [];
  #waiting = [];
  #offer = '';
  #last;
  #isRestarting = false;
  #isOffered = false;
  #isSilent = false;
  #isConnectedSaid = false;
  #answering;
  #elements = new Set();
  #sample = NOTHING;

  constructor(call, options = {}) {
    super();
    this.options = /** @type {any} */ ({ audio: true, video: false, ...options });
    this.session = call?.session ?? options.session;
    this.env = this.session.env;
    if (!this.env.RTCPeerConnection) throw new ReveilleError('unsupported', 'this browser has no WebRTC');
    this.#alarms = new Alarms(this.env, this.session.turns);
    this.localStream = new this.env.MediaStream();
    this.remoteStream = new this.env.MediaStream();
    this.isMuted = this.isOnHold = this.isClosed = false;
    this.isCameraOn = Boolean(this.options.video) && (!call || isBeforeAnswer(call.state));
    this.quality = undefined;
    Object.assign(this, call?._.media);
    if (call) this.#attach(call);
  }

  static async dial(session, to, options = {}) {
    const media = new Media(undefined, { ...options, session });
    const { signal } = options;
    const cancel = () => (media.call ? media.call.hangup() : media.close());
    signal?.addEventListener('abort', cancel);
    try {
      if (signal?.aborted) throw endedError('cancelled');
      await media.#capture(media.#wanted);
      const pc = await media.#connect();
      media.#addTracks(pc);
      await pc.setLocalDescription();
      const { call, invited } = session._invite(to, { ...options, sdp: pc.localDescription.sdp });
      media.#attach(call);
      await invited;
      if (signal?.aborted) throw endedError('cancelled');
      return media;
    } catch (error) {
      const isCancelled = media.isClosed && !media.call;
      media.close();
      throw isCancelled ? endedError('cancelled') : error;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  answer() {
    return this.#answering ??= this.#answer().finally(() => { this.#answering = undefined; });
  }

  async #answer() {
    if (!this.#ready) throw new ReveilleError('bad_state', 'no incoming call');
    await this.#race(this.#ready);
    if (!this.#pc.localDescription) {
      await this.#capture(this.#wanted);
      await this.#race(this.#step(async () => {
        this.#addTracks(this.#pc);
        await this.#pc.setLocalDescription();
      }));
    }
    return this.call.answer({ sdp: this.#pc.localDescription.sdp });
  }

  async resume() {
    if (this.#ready) return this.#race(this.#ready);
    await this.#capture(this.#wanted);
    this.#isRestarting = true;
    return this.#offerAnew();
  }

  get #wanted() {
    const { audio, video } = this.options;
    return { audio, video: this.isCameraOn && (video || true) };
  }

  #mark(changes) {
    const { call, isMuted, isOnHold, isCameraOn } = Object.assign(this, changes);
    if (call) this.session.turns.run(() => { call._.media = { isMuted, isOnHold, isCameraOn }; });
  }

  #attach(call) {
    this.call = call;
    this.#mark({});
    const { signal } = this.#off;
    const on = (target, type, handler) => target?.addEventListener(type, handler, { signal });
    on(call, 'state', () => this.#stateChanged());
    for (const type of ['ended', 'moved']) on(call, type, () => this.close());
    on(call, 'candidates', ({ detail }) => this.#step(() => this.#theirs(detail.candidates)));
    on(call, 'update', ({ detail }) => this.#updated(detail));
    on(this.session, 'network', () => this.#restartIfSilent());
    on(this.session, 'connection', ({ detail }) => this.#sessionBack(detail));
    on(this.session, 'iceservers', async () => {
      this.#pc?.setConfiguration({ ...this.#pc.getConfiguration(), iceServers: await this.session.iceServers() });
    });
    on(this.env.mediaDevices, 'devicechange', () => this._emit('devices'));
    if (!call.isLive) return this.close();
    if (call.role === 'callee' && isBeforeAnswer(call.state)) {
      this.#ready = this.#prepare();
      this.#ready.catch(() => {});
    }
    this.#stateChanged();
    this.#repeatMeasure();
  }

  async #prepare() {
    const { sdp } = this.call;
    if (!sdp) throw new ReveilleError('no_offer', 'the caller offers no media');
    await this.#connect(1);
    await this.#step(() => this.#setRemote('offer', sdp));
    await this.#step(() => this.#theirs(this.call._.candidates));
  }

  async #connect(poolSize = 0) {
    const iceServers = this.options.iceServers ?? await this.session.iceServers();
    if (this.isClosed) throw endedError(this.call?.reason);
    this.#pc?.close();
    this.#cutTones?.();
    const pc = new this.env.RTCPeerConnection({
      iceServers, bundlePolicy: 'max-bundle', iceCandidatePoolSize: poolSize, ...this.options.configuration,
    });
    this.#pc = pc;
    this.#sample = NOTHING;
    for (const track of this.remoteStream.getTracks()) this.remoteStream.removeTrack(track);
    const on = (handler) => (event) => { if (this.#pc === pc) handler(event); };
    pc.ontrack = on(({ track }) => {
      this.remoteStream.addTrack(track);
      this._emit('track', { track });
    });
    pc.onicecandidate = on(({ candidate }) => this.#gathered(candidate));
    pc.onconnectionstatechange = on(() => this.#connectionChanged());
    pc.onnegotiationneeded = on(() => this.#negotiate());
    return pc;
  }

  get peerConnection() { return this.#pc; }

  #step(step) {
    const done = this.#steps.then(() => (this.isClosed ? undefined : step()));
    this.#steps = done.catch(this.#problem);
    return done;
  }

  #race(promise) {
    return new Promise((resolve, reject) => {
      const failed = () => reject(endedError(this.call?.reason ?? 'closed'));
      if (this.isClosed) return failed();
      this.#off.signal.addEventListener('abort', failed);
      this.#alarms.set(promise, 60_000, () => reject(new ReveilleError('timed_out', 'no answer within a minute')));
      promise.then(resolve, reject).finally(() => this.#alarms.clear(promise));
    });
  }

  #canUpdate() {
    return this.call?.state === 'answered' || this.call?.state === 'connected';
  }

  async #setRemote(type, sdp) {
    await this.#pc.setRemoteDescription({ type, sdp });
    if (type === 'answer' && this.#pc.connectionState !== 'connected') {
      this.#alarms.setIfNone('disconnected', 4_000, () => this.#restartICE());
    }
    const waiting = this.#waiting.splice(0);
    await this.#theirs(waiting);
  }

  async #theirs(candidates) {
    for (const candidate of candidates) {
      const description = this.#pc?.remoteDescription?.sdp;
      const generation = candidate.usernameFragment;
      if (!description || (generation && !description.includes(`ice-ufrag:${generation}`))) {
        if (this.#waiting.length < CANDIDATE_LIMIT) this.#waiting.push(candidate);
      } else {
        await this.#pc.addIceCandidate(candidate).catch(() => {});
      }
    }
  }

  #gathered(candidate) {
    if (candidate?.candidate) this.#batch.push(candidate.toJSON());
    this.#alarms.setIfNone('batch', 50, () => this.#sendBatch(!candidate));
    if (!candidate) this.#sendBatch(true);
  }

  #sendBatch(isFinal) {
    this.#alarms.clear('batch');
    this.call?.sendCandidates(this.#batch.splice(0), isFinal);
  }

  #stateChanged() {
    if (!this.#canUpdate()) return;
    if (this.#isRestarting && !this.#isOffered) return void this.#offerAnew().catch(() => {});
    if (!this.#pc) return;
    const isFirst = this.call.role === 'caller' && !this.#isRestarting && !this.#pc.remoteDescription;
    if (isFirst && this.call.sdp) {
      this.#step(async () => {
        if (this.#pc.signalingState === 'have-local-offer') await this.#setRemote('answer', this.call.sdp);
      }).catch(() => this.call.hangup('media_failed'));
    }
    this.#sayConnected();
  }

  #sayConnected() {
    if (this.#pc?.connectionState !== 'connected' || !this.#canUpdate() || this.#isConnectedSaid) return;
    this.#isConnectedSaid = true;
    if (this.call.state !== 'connected') this.call.connected();
  }

  #negotiate() {
    this.#step(async () => {
      const pc = this.#pc;
      if (!this.#canUpdate() || pc.signalingState !== 'stable' || !pc.remoteDescription) return;
      await pc.setLocalDescription();
      this.#deliver('offer', {});
    });
  }

  async #offerAnew() {
    if (!this.#canUpdate()) return;
    this.#isOffered = true;
    await this.#step(async () => {
      const pc = await this.#connect();
      this.#addTracks(pc, this.call.video);
      await pc.setLocalDescription();
      this.#deliver('offer', { media: 'restart' });
    });
  }

  #deliver(kind, extra) {
    if (kind === 'offer') this.#offer = uuid();
    const custom = { offer: this.#offer, ...extra };
    this.#last = { kind, sdp: this.#pc.localDescription.sdp, custom, isTaken: false };
    this.#send(this.#last);
  }

  async #send(message) {
    const { kind, sdp, custom } = message;
    message.isTaken = false;
    await this.#repeat(() => this.#last === message, kind, { sdp, custom })
      .catch(this.#problem);
    message.isTaken = true;
  }

  async #repeat(isCurrent, kind, content) {
    for (;;) {
      try {
        return await this.call.update(kind, content);
      } catch (error) {
        if (!REPEATED.has(error.code)) throw error;
        if (error.retryAfter === undefined) await this.session.opened().catch(() => {});
        await new Promise((resolve) => { this.env.setTimeout(resolve, error.retryAfter ?? 50); });
        if (this.isClosed) throw endedError(this.call.reason);
        if (!isCurrent()) return;
      }
    }
  }

  #updated({ kind, sdp, custom }) {
    if (kind === 'answer') return this.#step(() => this.#takeAnswer(sdp, custom));
    if (kind === 'offer') return this.#step(() => this.#takeOffer(sdp, custom));
    return this._emit('peer', { kind, custom });
  }

  async #takeAnswer(sdp, custom) {
    // An answer to an offer of the page before a reload fits no offer of this one.
    if (custom?.offer !== undefined && custom.offer !== this.#offer) return;
    if (this.#pc?.signalingState !== 'have-local-offer') return;
    await this.#setRemote('answer', sdp);
    if (this.#pc.connectionState !== 'connected') this.#alarms.setIfNone('failed', 10_000, () => this.#failed());
  }

  async #takeOffer(sdp, custom) {
    if (!this.#pc) return;
    if (this.#last?.kind === 'answer' && custom?.offer && custom.offer === this.#offer) return this.#send(this.#last);
    const isRestart = custom?.media === 'restart';
    if (this.#pc.signalingState !== 'stable') {
      const ownRestart = this.#last?.custom.media === 'restart';
      // An offer for the peer connection of before a reload comes too late.
      if (ownRestart && !isRestart) return;
      if (!this.call.isPolite && (ownRestart || !isRestart)) return;
    }
    if (isRestart) await this.#connect();
    await this.#setRemote('offer', sdp);
    if (isRestart) this.#addTracks(this.#pc);
    if (this.isOnHold) this.#setDirections();
    await this.#pc.setLocalDescription();
    this.#offer = custom?.offer ?? '';
    return this.#deliver('answer', {});
  }

  #connectionChanged() {
    const { connectionState } = this.#pc;
    this.call?.note(`media:${connectionState}`, 'media');
    this._emit('connection', { state: connectionState });
    if (connectionState === 'connected') {
      for (const name of ['disconnected', 'failed']) this.#alarms.clear(name);
      this.#sayConnected();
    } else if (connectionState === 'disconnected') {
      this.#alarms.setIfNone('disconnected', 1_500, () => this.#restartICE());
    } else if (connectionState === 'failed') {
      this.#restartICE();
    }
  }

  #restartICE() {
    this.#alarms.clear('disconnected');
    this.#step(async () => {
      const pc = this.#pc;
      if (!this.#canUpdate() || !pc?.remoteDescription) return;
      // An offer that nobody has answered has candidates of the network before.
      if (pc.signalingState === 'have-local-offer') await pc.setLocalDescription({ type: 'rollback' });
      pc.restartIce();
    });
  }

  #failed() {
    if (this.#pc?.connectionState === 'connected' || !this.session.connection.isOpen) return;
    this.call.hangup('ice_failed');
  }

  #silence() {
    const isExpected = this.#pc?.getTransceivers().some(({ currentDirection }) => /recv/.test(currentDirection));
    return isExpected && this.#sample.heard ? this.env.now() - this.#sample.heard : 0;
  }

  #restartIfSilent() {
    if (this.#silence() > 1_000) this.#restartICE();
  }

  #sessionBack({ state }) {
    if (state !== 'up' && state !== 'resumed') return;
    const { signalingState, connectionState } = this.#pc ?? {};
    const isPending = this.#last?.kind === 'offer'
      ? signalingState === 'have-local-offer' : connectionState !== 'connected';
    if (state === 'up' && isPending && this.#last?.isTaken && this.#canUpdate()) this.#send(this.#last);
    this.#restartIfSilent();
  }

  async #capture({ audio = false, video = false }) {
    if (!audio && !video) return;
    if (!this.env.mediaDevices) throw new ReveilleError('insecure_page', 'the page may not use the microphone');
    const captured = this.env.mediaDevices.getUserMedia({ audio, video });
    captured.then((stream) => this.isClosed && stream.getTracks().forEach(stop), () => {});
    let stream;
    try {
      stream = await this.#race(captured);
    } catch (error) {
      if (error instanceof ReveilleError) throw error;
      throw new ReveilleError(CAPTURE_ERRORS[error.name] ?? 'media_failed', error.message);
    }
    for (const track of stream.getTracks()) this.#take(track);
  }

  #take(track) {
    this.#drop(track.kind);
    this.localStream.addTrack(track);
    this.#enableAudio();
    track.onended = () => this.#use(track.kind, true).catch(this.#problem);
  }

  #drop(kind) {
    for (const track of this.localStream.getTracks()) {
      if (track.kind !== kind) continue;
      this.localStream.removeTrack(track);
      stop(track);
    }
  }

  #addTracks(pc, hasVideo) {
    for (const track of this.localStream.getTracks()) pc.addTrack(track, this.localStream);
    if (!this.localStream.getAudioTracks().length) this.#transceiver(pc, 'audio');
    if (hasVideo) this.#transceiver(pc, 'video');
    // After a restart the other page may know nothing of it.
    Promise.all([this.isMuted && this.mute(), this.isOnHold && this.hold()]).catch(this.#problem);
  }

  #transceiver(pc, kind) {
    return pc.getTransceivers().find(({ receiver }) => receiver.track.kind === kind) ?? pc.addTransceiver(kind);
  }

  async #use(kind, constraints) {
    await this.#capture({ [kind]: constraints });
    const track = this.localStream.getTracks().find((other) => other.kind === kind);
    if (!this.#pc || !track) return;
    const transceiver = this.#transceiver(this.#pc, kind);
    transceiver.sender.setStreams?.(this.localStream);
    await transceiver.sender.replaceTrack(track);
    if (!this.isOnHold) transceiver.direction = 'sendrecv';
    if (kind === 'video') this.#mark({ isCameraOn: true });
  }

  devices() { return this.env.mediaDevices.enumerateDevices(); }
  setMicrophone(id) { return this.#use('audio', { deviceId: { exact: id } }); }
  setCamera(id) { return this.#use('video', { deviceId: { exact: id } }); }

  async setSpeaker(id) {
    this.options.speaker = id;
    await Promise.all([...this.#elements].map((element) => element.setSinkId?.(id)));
  }

  async attach(element) {
    this.#elements.add(element);
    element.srcObject = this.remoteStream;
    if (this.options.speaker) await element.setSinkId?.(this.options.speaker);
    // Not awaited: it begins with the first sound.
    element.play().catch(({ name }) => name === 'NotAllowedError' && this._emit('blocked', { element }));
  }

  async setVideo(isOn) {
    if (isOn) return this.#use('video', this.options.video || true);
    this.#mark({ isCameraOn: false });
    this.#drop('video');
    if (!this.#pc) return;
    const transceiver = this.#transceiver(this.#pc, 'video');
    transceiver.direction = 'recvonly';
    return transceiver.sender.replaceTrack(null);
  }

  mute(isMuted = true) {
    this.#mark({ isMuted });
    this.#enableAudio();
    return this.#tellPeer('mute', { muted: isMuted });
  }

  hold(isOnHold = true) {
    this.#mark({ isOnHold });
    this.#enableAudio();
    this.#setDirections();
    return this.#tellPeer(isOnHold ? 'hold' : 'resume');
  }

  #setDirections() {
    for (const transceiver of this.#pc?.getTransceivers() ?? []) {
      transceiver.direction = this.isOnHold ? 'inactive' : transceiver.sender.track ? 'sendrecv' : 'recvonly';
    }
  }

  #enableAudio() {
    for (const track of this.localStream.getAudioTracks()) track.enabled = !this.isMuted && !this.isOnHold;
  }

  async #tellPeer(kind, custom) {
    const wanted = [this.isMuted, this.isOnHold].join();
    if (this.#canUpdate()) await this.#repeat(() => wanted === [this.isMuted, this.isOnHold].join(), kind, { custom });
  }

  dtmf(tones, duration = 100, gap = 70) {
    const sent = this.#tones.then(() => this.#play(tones, duration, gap));
    this.#tones = sent.catch(() => {});
    return sent;
  }

  async #play(tones, duration, gap) {
    const dtmf = this.#pc?.getSenders().find(({ track }) => track?.kind === 'audio')?.dtmf;
    if (!dtmf?.canInsertDTMF) throw new ReveilleError('no_dtmf', 'the other side takes no tones');
    dtmf.insertDTMF(tones, duration, gap);
    await this.#race(new Promise((resolve, reject) => {
      dtmf.ontonechange = ({ tone }) => { if (tone === '') resolve(undefined); };
      this.#cutTones = () => reject(new ReveilleError('media_failed', 'a restart of the media cut the tones'));
    }));
  }

  #repeatMeasure() {
    this.#alarms.set('stats', 500, () => {
      this.#measure().catch(() => {}).finally(() => !this.isClosed && this.#repeatMeasure());
    });
  }

  async #measure() {
    if (!this.#pc) return;
    const reports = await this.#pc.getStats();
    const last = this.#sample;
    const now = this.env.now();
    const sum = { ...NOTHING, heard: now };
    let [jitter, rtt] = [0, 0];
    let isRelayed = false;
    for (const report of reports.values()) {
      if (report.type === 'inbound-rtp' && report.kind === 'audio') {
        sum.received += report.packetsReceived;
        sum.lost += report.packetsLost;
        jitter = report.jitter;
      } else if (report.type === 'candidate-pair' && report.nominated) {
        rtt = report.currentRoundTripTime;
        isRelayed = reports.get(report.localCandidateId)?.candidateType === 'relay';
      }
    }
    const fresh = sum.received - last.received;
    const gone = Math.max(0, sum.lost - last.lost);
    if (fresh === 0) sum.heard = last.heard;
    this.#sample = sum;
    if (!sum.heard) return;
    const silence = this.#silence();
    if (silence > 1_000 && !this.#isSilent) {
      this.session.connection.networkChanged(false);
      this.#restartICE();
    }
    this.#isSilent = silence > 1_000;
    this.quality = describe({
      rtt: Math.round(rtt * 1000) || 0, jitter: Math.round(jitter * 1000) || 0, loss: gone / (fresh + gone) || 0,
      silence, isRelayed,
    });
    this._emit('quality', this.quality);
  }

  close() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#off.abort();
    this.#alarms.clearAll();
    this.#pc?.close();
    this.localStream.getTracks().forEach(stop);
    // Chromium keeps an element with a stream alive.
    for (const element of this.#elements) if (element.srcObject === this.remoteStream) element.srcObject = null;
    this._emit('closed');
  }
}

function stop(track) {
  track.onended = null;
  track.stop();
}

function describe(sample) {
  const { rtt, jitter, loss, silence, isRelayed } = sample;
  if (silence >= 3_000) {
    return { ...sample, level: 'none', text: `nothing arrives for ${Math.round(silence / 1000)} s` };
  }
  const level = loss > 0.1 || rtt > 600 ? 'poor' : loss > 0.05 || rtt > 300 || jitter > 50 ? 'fair' : 'good';
  const lost = loss < 0.005 ? 'no loss' : `${Math.round(loss * 100)} % lost`;
  return { ...sample, level, text: `${level}: ${rtt} ms, ${lost}, ${isRelayed ? 'over a relay' : 'direct'}` };
}
