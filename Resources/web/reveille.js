// @ts-check
/**
 * The browser library of Reveille: calls over one WebSocket, without dependencies and without a build step.
 *
 *     import { Media, Session } from './reveille.js';
 *
 *     const session = new Session({ url: 'wss://calls.example.com', token: () => fetch('/call-token').then((r) => r.text()) });
 *     session.addEventListener('incoming', ({ detail: { call } }) => show(call, new Media(call)));
 *     session.start();
 *     const media = await Media.dial(session, 'bob');
 *
 * Connection → Session → Call → Media. The last is optional: the others run without WebRTC, also in Node.js with an
 * injected WebSocket. Each promise settles: with a result, a ReveilleError or a time-out.
 */

/** @typedef {import('./reveille.js').Environment} Environment */

const PROTOCOL_VERSION = 1;
const SUBPROTOCOL = 'reveille.v1';
const OUTBOX_LIMIT = 256;
const ENDED_LIMIT = 64;
const CANDIDATE_LIMIT = 256;
const STEP_LIMIT = 200;

/** All durations in milliseconds. `options.times` replaces single values. */
const TIMES = {
  /** How long a request may wait for a connection, and then for its answer. */
  request: 10_000,
  /** How long the token, and the socket up to its welcome, may each take. */
  connect: 10_000,
  /** How long repeatable requests, such as an answer, wait for a new connection. */
  keep: 60_000,
  /** How long an answered call outlives its connection here. */
  callKeep: 90_000,
  /** The bounds of the first and of any delay before the next attempt. */
  backoffBase: 500,
  backoffCeiling: 30_000,
  /** The ceiling while a call lives: the server keeps a lost session for 30 s. */
  callCeiling: 2_000,
  /** A session that was open for this long starts the backoff anew. */
  stable: 10_000,
  ackDelay: 250,
  /** The time-out of `session.close`, and of sending unsent requests before it. */
  close: 2_000,
  /** The time-out of the probe after a change of the network. */
  probe: 3_000,
  /** How long past its deadline a call continues if the server has not ended it. */
  ringGrace: 2_000,
  /** How long a tab waits for the tab with the call to reload, before it takes the session over. */
  tabGrace: 3_000,
  /** How long a reloaded tab waits for a tab that has the session meanwhile. */
  tabAsk: 200,
};
const ACK_EVERY = 16;

/** Below 3500 the close codes after which a client does not reconnect. */
const FINAL_CODES = new Set([1000, 1002, 1003, 1007]);

/** Requests that may be repeated and have an effect even when late: they wait for a new connection. */
const KEPT = new Set(['push.report', 'call.ringing', 'call.answer', 'call.decline', 'call.connected', 'call.hangup',
  'session.state', 'device.update']);

/** Refusals of `session.open` that pass. `conflict`: another live session of the device, perhaps on a dead socket. */
const PASSING = new Set(['rate_limited', 'overloaded', 'draining', 'internal_error', 'limit_reached', 'conflict']);

const RANK = { routing: 0, waking: 1, ringing: 2, answered: 3, connected: 4, ended: 5 };
/** @param {string} state */
const isBeforeAnswer = (state) => RANK[state] < RANK.answered;

/** What to do about each error code: the server's codes, then the library's own. */
const ADVICE = {
  parse_error: 'Report it as a bug of the library.',
  invalid_request: 'Report it as a bug of the library.',
  method_not_found: 'Do not use this feature: the server is older than the page.',
  invalid_params: 'Fix the page: the message names the invalid member.',
  internal_error: 'Try again later.',
  unauthenticated: 'Sign in again, then start the session again.',
  forbidden: 'Do not try again: the message has the reason.',
  not_found: 'Do not try again: the server has no such thing.',
  call_ended: 'Close the call on the screen.',
  already_answered: 'Stop ringing: another device has the call.',
  bad_state: 'Show the state of the call: the action is not valid in it.',
  rate_limited: 'Try again after retryAfter.',
  too_large: 'Send less: the limit is in data.limit.',
  conflict: 'Use a new id for the call.',
  limit_reached: 'End another call, or log another device out.',
  overloaded: 'Try again after retryAfter, with the same id.',
  draining: 'Try again in a minute: the server restarts.',
  not_connected: 'Check the network. Nothing was sent, so try again when the session is open.',
  timed_out: 'Ask for the state of the call: the request may have taken effect.',
  connection_lost: 'Ask for the state of the call: the request may have taken effect.',
  closed: 'Start the session again.',
  gone: 'Remove the cause in the message, then start the session again.',
  elsewhere: 'Use the tab that has the session, or take it over.',
  queue_full: 'Wait until the session is open: too many requests wait.',
  unexpected_reply: 'Check that the server and the page fit together.',
  media_denied: 'Allow the microphone or camera for this page, then try again.',
  media_missing: 'Plug in a microphone or camera, then try again.',
  media_busy: 'Close the program that uses the microphone or camera, then try again.',
  media_failed: 'Try again, or use another browser.',
  insecure_page: 'Open the page over https, or from localhost: browsers give others no microphone.',
  no_offer: 'End the call: the other side offered no media.',
  no_dtmf: 'The other side takes no tones.',
};

/** Why a promise was rejected. `code` is for programs, `message` for people, `whatToDo` for both. */
export class ReveilleError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {Record<string, any>} [data]
   */
  constructor(code, message, data = {}) {
    super(message);
    this.name = 'ReveilleError';
    this.code = code;
    this.data = data;
    /** In milliseconds. */
    this.retryAfter = typeof data.retry_after_ms === 'number' ? data.retry_after_ms : undefined;
    this.whatToDo = ADVICE[code] ?? 'Try again later.';
  }
}

/** @param {any} error The error of a JSON-RPC answer. */
const serverError = (error) =>
  new ReveilleError(String(error?.data?.code ?? error?.code), String(error?.message ?? ''), error?.data ?? {});

const endedError = (reason) => new ReveilleError('call_ended', `the call has ended: ${reason}`, { reason });

/** Works in pages without a secure context too, where `crypto.randomUUID` is missing. */
function uuid(env) {
  const bytes = env.crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const text = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join('-');
}

/** What the library uses of its surroundings; `given` replaces single parts. */
function surroundings(given) {
  const all = /** @type {any} */ (globalThis);
  const pick = (name) => given?.[name] ?? all[name];
  const bound = (name) => given?.[name] ?? all[name]?.bind(all);
  return {
    WebSocket: pick('WebSocket'), fetch: bound('fetch'), crypto: pick('crypto'),
    setTimeout: bound('setTimeout'), clearTimeout: bound('clearTimeout'),
    /** Monotonic. */
    now: given?.now ?? (() => all.performance.now()),
    random: given?.random ?? Math.random,
    page: given?.page ?? (all.document ? all : undefined),
    sessionStorage: given?.sessionStorage ?? storageOf('sessionStorage'),
    localStorage: given?.localStorage ?? storageOf('localStorage'),
    locks: given && 'locks' in given ? given.locks : all.navigator?.locks,
    BroadcastChannel: pick('BroadcastChannel'), navigator: pick('navigator'),
    RTCPeerConnection: pick('RTCPeerConnection'), MediaStream: pick('MediaStream'),
    mediaDevices: given?.mediaDevices ?? all.navigator?.mediaDevices,
  };
}

/** A browser that forbids storage throws on the mere access. */
function storageOf(name) {
  try {
    return globalThis[name];
  } catch {
    return undefined;
  }
}

/** Named deadlines over one timer. A deadline that is due is removed before it fires. */
class Alarms {
  #due = new Map();
  #timer;
  #timerAt = Infinity;

  constructor(env) {
    this.env = env;
  }

  set(name, after, fire) {
    this.#due.set(name, { at: this.env.now() + Math.max(0, after), fire });
    this.#arm();
  }

  /** Keeps an earlier deadline of the name. */
  setIfNone(name, after, fire) {
    if (!this.#due.has(name)) this.set(name, after, fire);
  }

  has(name) {
    return this.#due.has(name);
  }

  clear(name) {
    this.#due.delete(name);
  }

  clearAll() {
    this.#due.clear();
    this.#arm();
  }

  #arm() {
    let earliest = Infinity;
    for (const { at } of this.#due.values()) earliest = Math.min(earliest, at);
    // A timer that fires too early finds nothing due and arms itself again.
    if (earliest >= this.#timerAt && earliest !== Infinity) return;
    if (this.#timer !== undefined) this.env.clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#timerAt = earliest;
    if (earliest === Infinity) return;
    // A timer of a browser holds 31 bits.
    const wait = Math.min(Math.ceil(earliest - this.env.now()), 2 ** 31 - 1);
    this.#timer = this.env.setTimeout(() => this.#fire(), Math.max(0, wait));
  }

  #fire() {
    this.#timer = undefined;
    this.#timerAt = Infinity;
    const now = this.env.now();
    const due = [...this.#due].filter(([, { at }]) => at <= now).sort(([, a], [, b]) => a.at - b.at);
    for (const [name, alarm] of due) {
      if (this.#due.get(name) !== alarm) continue;
      this.#due.delete(name);
      alarm.fire();
    }
    this.#arm();
  }
}

/** Runs steps to their end before listeners hear of them, so that a listener always finds a consistent state. */
class Turns {
  #depth = 0;
  #isTelling = false;
  #queue = [];

  /** @template T @param {() => T} step @returns {T} */
  run(step) {
    this.#depth += 1;
    try {
      return step();
    } finally {
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

/**
 * A WebSocket that opens a session, resumes it over new connections, acknowledges events, and settles every request.
 *
 *     idle → authorizing → connecting → welcoming → opening → open → closing → idle
 *               ↑  any of these, lost → waiting ┘               └ refused or closed for good → gone
 */
export class Connection extends EventTarget {
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
  #outbox = [];
  #nextId = 1;
  #lastAnswered = 0;
  #openId = 0;
  #token = '';
  #pingInterval = 0;
  #maxFrame = 65_536;
  #resume;
  #lastSeq = 0;
  #acked = 0;
  #opened;
  #appState = 'foreground';

  /** @param {any} options */
  constructor(options) {
    super();
    const url = new URL(options.url);
    if (!/^wss?:$/.test(url.protocol)) throw new TypeError(`not a ws:// or wss:// URL: ${options.url}`);
    this.url = `${url.origin}${url.pathname.replace(/\/$/, '')}/v1/signal`;
    this.device = options.device;
    this.env = options.env ?? surroundings(options.environment);
    this.times = { ...TIMES, ...options.times };
    this.turns = new Turns();
    this.alarms = new Alarms(this.env);
    this.provider = options.token;
    this.owner = options.owner;
    if (options.resume) {
      this.#resume = { session_id: options.resume.session_id, token: options.resume.token };
      this.#lastSeq = options.resume.last_seq;
    }
  }

  get state() { return this.#state; }
  get isOpen() { return this.#state === 'open'; }
  get lastSeq() { return this.#lastSeq; }
  get outbox() { return this.#outbox; }
  get nextId() { return this.#nextId; }
  get lastAnswered() { return this.#lastAnswered; }
  get maxFrameBytes() { return this.#maxFrame; }
  /** For the next `session.open`; undefined without a session to resume. */
  get resume() { return this.#resume && { ...this.#resume, last_seq: this.#lastSeq }; }

  // Going online

  /** Goes online, and stays there until `stop`. Skips the delay before the next attempt. */
  start() {
    this.turns.run(() => {
      if (this.#state === 'closing') this.#finishClosing();
      if (this.#state === 'idle' || this.#state === 'gone') this.#failures = 0;
      if (['idle', 'gone', 'waiting'].includes(this.#state)) this.#begin();
    });
  }

  /** The result of `session.open` of the present session, or of the next one within `timeout`. */
  opened(timeout = 30_000) {
    if (this.isOpen) return Promise.resolve(this.#opened);
    return new Promise((resolve, reject) => {
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
    else this.alarms.set('state', timeout, () => this.turns.run(expired));
  }

  #begin() {
    const attempt = ++this.#attempt;
    this.#become('authorizing', this.times.connect, () => this.#lose('no token in time'));
    const isCurrent = () => attempt === this.#attempt && this.#state === 'authorizing';
    Promise.resolve().then(() => this.provider()).then((token) => this.turns.run(() => {
      if (!isCurrent()) return;
      if (typeof token === 'string' && token !== '') this.#connect(token);
      else this.#lose('the token provider returned no token');
    }), (error) => this.turns.run(() => {
      if (isCurrent()) this.#lose(`no token: ${error?.message ?? error}`);
    }));
  }

  #connect(token) {
    this.#token = token;
    this.#become('connecting', this.times.connect, () => this.#lose('no connection in time'));
    let socket;
    try {
      socket = new this.env.WebSocket(this.url, SUBPROTOCOL);
    } catch (error) {
      // For example ws:// from a page that came over https.
      return this.#goAway({ code: undefined, message: String(error?.message ?? error) });
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
    socket.onmessage = on(({ data }) => this.#receive(data));
    socket.onclose = on(({ code, reason }) => this.#disconnected(code, reason));
    socket.onerror = () => {};
  }

  #receive(data) {
    this.#heard = this.env.now();
    let message;
    try {
      message = JSON.parse(data);
    } catch { /* Handled below. */ }
    const { id, method, params, result, error } = message ?? {};
    if (typeof method === 'string') {
      if (method === 'welcome') this.#welcomed(params ?? {});
      else if (Number.isInteger(params?.seq)) this.#event(method, params);
    } else if (error) {
      this.#refused(id ?? undefined, serverError(error));
    } else if (result !== undefined && id !== undefined) {
      this.#replied(id, result);
    } else {
      // Its content is lost: only a new session has consistent state.
      this.#resume = undefined;
      this.#lose('an unreadable message');
    }
    if (this.isOpen) this.#watchSilence();
  }

  #welcomed(welcome) {
    if (this.#state !== 'welcoming') return;
    if (welcome.protocol !== PROTOCOL_VERSION) {
      this.#dropSocket();
      return this.#goAway({ message: `the server speaks protocol version ${welcome.protocol}` });
    }
    this.#maxFrame = welcome.max_frame_bytes ?? this.#maxFrame;
    this.#pingInterval = welcome.ping_interval_ms ?? 0;
    this.#openId = this.#takeId();
    this.#become('opening', this.times.request, () => this.#lose('no answer to session.open in time'));
    const params = { token: this.#token, device: this.device };
    if (this.resume) params.resume = this.resume;
    this.#write({ id: this.#openId, method: 'session.open', params });
  }

  #sessionOpened(result) {
    if (typeof result?.resume?.token !== 'string' || !Array.isArray(result.calls)) {
      return this.#lose('an answer that does not fit session.open');
    }
    this.#become('open');
    this.#openSince = this.env.now();
    this.#resume = { session_id: result.session_id, token: result.resume.token };
    this.#opened = result;
    if (!result.resumed) this.#lastSeq = 0;
    this.#acked = this.#lastSeq;
    this.alarms.clear('ack');
    this.#change({ state: result.resumed ? 'resumed' : 'up', result });
    this.owner?.opened(result);
    for (const waiter of this.#waiters.splice(0)) {
      this.alarms.clear(waiter);
      waiter.resolve(result);
    }
    const saysState = this.#outbox.some(({ method }) => method === 'session.state');
    if (!result.resumed && this.#appState === 'background' && !saysState) this.#sayState();
    this.#flush();
    this.owner?.flushed(result.resumed);
  }

  #openRefused(error) {
    if (PASSING.has(error.code)) return this.#lose(error.message, undefined, error.retryAfter);
    if (error.code === 'invalid_params' && this.#resume) {
      // The resume data is invalid; without it the server has nothing left to refuse.
      this.#resume = undefined;
      return this.#lose(error.message);
    }
    this.#dropSocket();
    this.#goAway({ message: `session.open refused (${error.code}): ${error.message}`, error });
  }

  // Going offline

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
    if (code === 3506) {
      const logout = this.#outbox.find(({ method, sentAt }) => method === 'session.logout' && sentAt !== undefined);
      if (logout) return this.#loggedOut(logout);
    }
    const text = reason || `closed with ${code}`;
    if (FINAL_CODES.has(code) || code >= 3500) this.#goAway({ code, message: text });
    else this.#lose(text, code);
  }

  /** A connection is lost or failed: retries after a delay with full jitter. */
  #lose(reason, code = undefined, floor = 0) {
    if (this.#state === 'closing') return this.#finishClosing();
    this.#dropSocket();
    const now = this.env.now();
    if (this.isOpen) {
      if (now - this.#openSince >= this.times.stable) this.#failures = 0;
      this.owner?.offline();
    }
    this.#attempt += 1;
    this.#lastFailure = reason;
    for (const name of ['ack', 'silence']) this.alarms.clear(name);
    const ceiling = this.owner?.isInCall() ? this.times.callCeiling : this.times.backoffCeiling;
    const bound = Math.min(ceiling, this.times.backoffBase * 2 ** Math.min(this.#failures, 20));
    this.#failures += 1;
    this.#floorUntil = now + (floor ?? 0);
    const delay = (floor ?? 0) + Math.floor(this.env.random() * (bound + 1));
    this.#become('waiting', delay, () => this.#begin());
    this.#change({ state: 'down', code, reason, retryIn: delay });
    this.#requestsLost();
  }

  /** Goes offline. */
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

  #loggedOut(logout) {
    this.#take(logout);
    logout.resolve({});
    this.#finishClosing();
  }

  #goAway({ code = undefined, message, error = undefined }) {
    const failure = new ReveilleError('gone', message, { close_code: code, ...error?.data, cause: error?.code });
    if (code === 3500 || error?.code === 'unauthenticated') failure.whatToDo = ADVICE.unauthenticated;
    if (code === 3503) failure.whatToDo = ADVICE.elsewhere;
    this.#becomeIdle(failure);
    this.#state = 'gone';
    this.#change({ state: 'gone', code, reason: message, error: failure });
  }

  /** Waiters and requests fail with `failure`, and calls are over here. */
  #becomeIdle(failure) {
    this.#state = 'idle';
    this.#attempt += 1;
    this.#resume = undefined;
    this.#lastAnswered = this.#lastSeq = this.#acked = 0;
    for (const name of ['state', 'ack', 'silence']) this.alarms.clear(name);
    for (const waiter of this.#waiters.splice(0)) {
      this.alarms.clear(waiter);
      waiter.reject(failure);
    }
    for (const item of [...this.#outbox]) {
      this.#take(item);
      item.reject(failure);
    }
    this.owner?.idle();
  }

  /** Gives the connection up without a word to the server, as another tab has the session. */
  abandon(failure = new ReveilleError('elsewhere', 'another tab has the session')) {
    this.turns.run(() => {
      this.#dropSocket();
      for (const closer of this.#closers.splice(0)) closer();
      this.owner?.abandoned();
      this.#becomeIdle(failure);
      this.alarms.clearAll();
    });
  }

  /** The network has changed or come back, or the page is visible again: finds out at once if the connection lives. */
  networkChanged(isNewNetwork = true) {
    this.turns.run(() => {
      if (this.#state === 'waiting') {
        const floor = this.#floorUntil - this.env.now();
        if (floor > 0) return;
        return this.#begin();
      }
      const isOpening = ['connecting', 'welcoming', 'opening'].includes(this.#state);
      if (isOpening && isNewNetwork) {
        this.#lose('the network has changed');
        return this.#begin();
      }
      if (this.isOpen && !this.#outbox.some(({ isProbe, sentAt }) => isProbe && sentAt !== undefined)) {
        this.#sayState({ isProbe: true, timeout: this.times.probe });
      }
    });
  }

  #change(detail) {
    this.turns.later(() => this.dispatchEvent(new CustomEvent('change', { detail })));
  }

  // Requests

  /**
   * Sends a request now or once a session is open. The promise settles with the result, a ReveilleError or a time-out.
   * @param {string} method
   * @param {Record<string, any>} [params]
   */
  request(method, params = {}) {
    return this.turns.run(() => new Promise((resolve, reject) => {
      const failure = this.#unavailable();
      if (failure) return reject(failure);
      this.enqueue(method, params, { resolve, reject });
    }));
  }

  #unavailable() {
    if (this.#state === 'gone') return new ReveilleError('gone', `the session is over: ${this.#lastFailure}`);
    if (this.#state === 'closing') return new ReveilleError('closed', 'the session closes');
    if (this.#outbox.length < OUTBOX_LIMIT) return undefined;
    return new ReveilleError('queue_full', `${OUTBOX_LIMIT} requests wait already`);
  }

  /** Like `request`, without a promise and without a bound: for the library's own requests. */
  enqueue(method, params, { resolve = undefined, reject = () => {}, ...rest } = {}) {
    const wait = KEPT.has(method) ? this.times.keep : this.times.request;
    const item = {
      id: this.#takeId(), method, params, isSilent: !resolve, resolve: resolve ?? (() => {}), reject,
      waitsUntil: this.env.now() + wait, timeout: this.times.request,
      sentAt: undefined, wasSent: false, heldUntil: 0, ...rest,
    };
    this.#outbox.push(item);
    this.#arm(item);
    this.#sendIfPossible(item);
  }

  /** Whether the present connection has taken it. Candidates need no answer. */
  notify(method, params) {
    return this.isOpen && this.#write({ method, params });
  }

  /** Removes a request that is not to be sent, and settles it. */
  settle(item, { result = undefined, error = undefined }) {
    this.#take(item);
    if (error) item.reject(error);
    else item.resolve(result);
  }

  #takeId() {
    return this.#nextId++;
  }

  /** @returns {boolean} False if the message is larger than the server takes. */
  #write(message) {
    const text = JSON.stringify({ jsonrpc: '2.0', ...message });
    // A UTF-16 unit has at most three bytes of UTF-8.
    if (text.length * 3 > this.#maxFrame && new TextEncoder().encode(text).length > this.#maxFrame) return false;
    this.#socket.send(text);
    return true;
  }

  #sendIfPossible(item) {
    const now = this.env.now();
    if (!this.isOpen || item.sentAt !== undefined || now < item.heldUntil) return;
    const call = item.params.call_id;
    for (const earlier of this.#outbox) {
      if (earlier === item) break;
      // Requests about one call keep their order.
      if (call && earlier.params.call_id === call && now < earlier.heldUntil) return;
    }
    item.heldUntil = 0;
    item.sentAt = now;
    this.#arm(item);
    if (this.#write({ id: item.id, method: item.method, params: item.params })) return;
    const limit = this.#maxFrame;
    this.#refused(item.id, new ReveilleError('too_large', `the server takes messages of up to ${limit} bytes`, { limit }));
  }

  #flush() {
    for (const item of [...this.#outbox]) if (this.#outbox.includes(item)) this.#sendIfPossible(item);
  }

  #arm(item) {
    const at = item.sentAt === undefined ? item.waitsUntil : item.sentAt + item.timeout;
    this.alarms.set(item, at - this.env.now(), () => this.turns.run(() => this.#expire(item)));
  }

  #take(item) {
    this.#outbox = this.#outbox.filter((other) => other !== item);
    this.alarms.clear(item);
    this.alarms.clear(item.id);
  }

  #sent(id) {
    const item = this.#outbox.find((other) => other.id === id && other.sentAt !== undefined);
    if (item) this.#lastAnswered = Math.max(this.#lastAnswered, item.id);
    return item;
  }

  #replied(id, result) {
    if (id === this.#openId && this.#state === 'opening') return this.#sessionOpened(result);
    if (id === this.#openId && this.#state === 'closing') return this.#finishClosing();
    const item = this.#sent(id);
    if (!item) return;
    if (item.method === 'session.logout') return this.#loggedOut(item);
    this.#take(item);
    if (result === null || typeof result !== 'object') {
      return this.#fail(item, new ReveilleError('unexpected_reply', `the answer to ${item.method} is no object`));
    }
    this.owner?.replied(item, result);
    item.resolve(result);
  }

  #refused(id, error) {
    if (id === undefined) return this.owner?.candidatesRefused(error);
    if (id === this.#openId && this.#state === 'opening') return this.#openRefused(error);
    if (id === this.#openId && this.#state === 'closing') return this.#finishClosing();
    const item = this.#sent(id);
    if (!item) return;
    const isRepeated = KEPT.has(item.method) || (item.isSilent && item.method === 'call.get');
    const isPassing = error.code === 'overloaded' || error.code === 'rate_limited';
    if (isRepeated && isPassing) return this.#hold(item, error.retryAfter ?? 0);
    this.#take(item);
    const outcome = this.owner?.refused(item, error) ?? { error };
    if (outcome.error) item.reject(outcome.error);
    else item.resolve(outcome.result);
  }

  /** Dropped, it would leave a phone ringing or a push unreported. */
  #hold(item, wait) {
    const delay = wait + 1 + Math.floor(this.env.random() * this.times.backoffBase);
    item.sentAt = undefined;
    item.heldUntil = this.env.now() + delay;
    this.#arm(item);
    this.alarms.set(item.id, delay, () => this.turns.run(() => this.#flush()));
  }

  #requestsLost() {
    this.owner?.connectionLost();
    this.#lastAnswered = 0;
    const now = this.env.now();
    for (const item of [...this.#outbox]) {
      if (item.sentAt === undefined) continue;
      item.sentAt = undefined;
      item.wasSent = true;
      // A repeated update or a late probe would do harm or nothing.
      if (item.method === 'call.update' || item.isProbe || item.waitsUntil <= now) this.#expire(item);
      else this.#arm(item);
    }
  }

  #expire(item) {
    // Nothing was heard since it was sent: the connection is dead, and what may be repeated is.
    if (item.sentAt !== undefined && this.#heard < item.sentAt && this.isOpen) return this.#lose('no answer in time');
    const error = item.sentAt !== undefined
      ? new ReveilleError('timed_out', `the server did not answer ${item.method} in time`)
      : item.wasSent
        ? new ReveilleError('connection_lost', 'the connection broke before the answer came') : this.#notConnected();
    this.#take(item);
    this.#fail(item, error);
  }

  #fail(item, error) {
    item.reject(error);
    this.owner?.failed(item, error);
  }

  // Events and acknowledgements

  #event(method, params) {
    const { seq } = params;
    if (!this.isOpen || seq <= this.#lastSeq) return;
    if (seq !== this.#lastSeq + 1) {
      // An event was lost on a reliable connection: only a new session has consistent state.
      this.#resume = undefined;
      return this.#lose('a gap in the events');
    }
    this.#lastSeq = seq;
    this.owner?.event(method, params);
    this.turns.later(() => this.dispatchEvent(new CustomEvent('event', { detail: { method, params } })));
    if (this.#lastSeq - this.#acked >= ACK_EVERY) this.#ack();
    else this.alarms.setIfNone('ack', this.times.ackDelay, () => this.#ack());
  }

  #ack() {
    this.alarms.clear('ack');
    if (!this.isOpen || this.#lastSeq <= this.#acked) return;
    this.#acked = this.#lastSeq;
    this.#write({ method: 'session.ack', params: { seq: this.#lastSeq } });
  }

  /** @param {boolean} isBackground */
  setBackground(isBackground) {
    this.turns.run(() => {
      this.#appState = isBackground ? 'background' : 'foreground';
      this.#sayState();
    });
  }

  #sayState(rest = {}) {
    this.enqueue('session.state', { app: this.#appState }, rest);
  }

  /** A browser shows no pings to a page, so a silent server is asked. */
  #watchSilence() {
    if (this.#pingInterval <= 0) return;
    this.alarms.set('silence', this.#pingInterval * 2.5, () => this.turns.run(() => {
      if (this.isOpen && !this.#outbox.some(({ sentAt }) => sentAt !== undefined)) this.#sayState();
    }));
  }
}

/** One call. Its `state` is one of `CallSemantics`: routing, waking, ringing, answered, connected, ended. */
export class Call extends EventTarget {
  #deadline;

  constructor(session, id, role, state) {
    super();
    this.session = session;
    this.id = id;
    this.role = role;
    this.state = state;
    this.video = false;
    this.legs = { waking: 0, ringing: 0 };
    this.isOwnAct = false;
    this.isRestored = false;
    /** What has happened, for a ladder: `{ at, name, from }`. */
    this.steps = [];
    this.from = this.to = this.sdp = this.custom = this.pushId = this.expiresAt = undefined;
    this.answeredAt = this.connectedAt = this.endedAt = this.peerAwaySince = undefined;
    this.reason = this.by = this.mergedInto = this.mergedFrom = undefined;
    /** What only the session needs. `own`: own candidates, while they may have to be sent again. */
    this._ = { isTold: true, isUnlisted: false, askedAbout: undefined, own: [], candidates: [], known: new Set() };
  }

  /** Until the ring deadline, after the answer until the connect deadline, in milliseconds. */
  get remaining() {
    return this.#deadline === undefined ? undefined : Math.max(0, this.#deadline - this.session.env.now());
  }

  get isLive() { return this.state !== 'ended'; }
  /** Whether this side gives way when both offer at once. The callee does. */
  get isPolite() { return this.role === 'callee'; }

  /** The other side, for display. */
  get peer() {
    if (this.role === 'callee') return this.from?.name ?? this.from?.handle ?? '';
    return Array.isArray(this.to) ? this.to.join(', ') : this.to?.group ?? this.to ?? '';
  }

  /** `invite` is an incoming call, or a call that this page places. The names of the protocol follow. */
  answer({ sdp = undefined } = {}) { return this.#act('call.answer', { sdp }); }
  ringing() { return this.#act('call.ringing'); }
  /** @param {string} [reason] */
  decline(reason) { return this.#act('call.decline', { reason }); }
  /** @param {string} [reason] */
  hangup(reason) { return this.#act('call.hangup', { reason }); }
  connected() { return this.#act('call.connected'); }
  /** @param {string} kind */
  update(kind, { sdp = undefined, custom = undefined } = {}) { return this.#act('call.update', { kind, sdp, custom }); }
  /** The call as the server has it. */
  get() { return this.#act('call.get'); }

  #act(method, params = {}) {
    const sent = this.session._act(this, method, { call_id: this.id, ...params });
    // A page that does not wait for the outcome hears of the end as an event.
    sent.catch(() => {});
    return sent;
  }

  /** @param {any[]} candidates @param {boolean} [isFinal] */
  sendCandidates(candidates, isFinal = false) { this.session._gathered(this, candidates, isFinal); }

  note(name, from) {
    if (this.steps.length >= STEP_LIMIT) return;
    const step = { at: Date.now(), name, from };
    this.steps.push(step);
    this.session.turns.later(() => this.dispatchEvent(new CustomEvent('step', { detail: step })));
  }

  // For the session

  /** States only move forward. */
  _advance(state) {
    if (!(RANK[state] > RANK[this.state])) return false;
    // The ring deadline does not apply to an answered call, the connect deadline not to a connected one.
    if (isBeforeAnswer(this.state) !== isBeforeAnswer(state) || state === 'connected') this._setDeadline();
    this.state = state;
    return true;
  }

  _setDeadline(expiresAt = undefined, remaining = undefined) {
    const isNews = this.expiresAt !== expiresAt;
    this.expiresAt = expiresAt;
    this.#deadline = expiresAt === undefined ? undefined : this.session.env.now() + (remaining ?? 0);
    return isNews;
  }

  /** @returns {boolean} Whether anything has changed. */
  _take(change) {
    let isNews = this._advance(change.state);
    const set = (name, value) => {
      if (value === undefined || JSON.stringify(this[name]) === JSON.stringify(value)) return;
      this[name] = value;
      isNews = true;
    };
    set('legs', change.legs && { waking: change.legs.waking, ringing: change.legs.ringing });
    if (this.state === change.state && change.expires_at !== undefined) {
      isNews = this._setDeadline(change.expires_at, change.remaining_ms) || isNews;
    }
    set('by', change.by);
    set('sdp', change.sdp);
    if (change.state === 'answered') set('answeredAt', this.answeredAt ?? change.at);
    if (change.state === 'connected') set('connectedAt', this.connectedAt ?? change.at);
    return isNews;
  }

  /** The candidates that are new here; they count as known from now on. */
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
    const { id, role, state, from, to, video, sdp, custom, pushId, expiresAt, answeredAt, connectedAt, steps } = this;
    return {
      id, role, state, from, to, video, sdp, custom, pushId, expiresAt, answeredAt, connectedAt, steps,
      remaining: this.remaining, isTold: this._.isTold, candidates: state === 'connected' ? [] : this._.candidates,
    };
  }

  _restore({ remaining, isTold, candidates, expiresAt, ...rest }) {
    Object.assign(this, rest);
    this.isRestored = true;
    this._.isTold = isTold;
    this._news(candidates);
    this._setDeadline(expiresAt, remaining);
  }
}

/**
 * One session of a group of tabs: the calls of a device, kept over lost connections, restarts of the server and reloads
 * of the page.
 */
export class Session extends EventTarget {
  #calls = [];
  /** Ended calls, newest last: `{ id, role, reason, certainty, isTold, mergedInto }`. */
  #ended = [];
  #offlineSince;
  #tokenCall;
  #isRestored = false;
  #isSaving = false;
  #key;
  #tabs;
  #isWanted = false;
  #iceServers = [];
  #iceExpiry = Infinity;
  #iceCall;

  /** @param {any} options */
  constructor(options) {
    super();
    this.env = surroundings(options.environment);
    this.options = { automaticRinging: true, tabs: true, ...options };
    const id = options.deviceId ?? this.#deviceId();
    const device = { id, platform: options.platform ?? 'web', app: options.app, name: options.deviceName };
    this.#key = `reveille:${options.url}:${id}`;
    const saved = this.#load();
    this.connection = new Connection({
      url: options.url, device, env: this.env, times: options.times, owner: this.#owner(), resume: saved?.resume,
      token: () => this.#fetchToken(),
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
    this.connection.addEventListener('change', (event) => this.#connectionChanged(event));
    this.#listenToPage();
    const canElect = this.options.tabs && this.env.locks && this.env.BroadcastChannel;
    if (canElect) this.#tabs = new Tabs(this.#key, this.env, this.times, this.#tabOwner());
  }

  /** The live calls that the page knows of, oldest first. */
  get calls() { return this.#calls.filter(({ _: { isTold } }) => isTold); }
  call(id) { return this.calls.find((call) => call.id === id); }
  get deviceId() { return this.connection.device.id; }

  /** `offline`, `connecting`, `open`, `elsewhere` (another tab has the session) or `gone`. */
  get state() {
    if (this.#isWanted && this.#tabs?.isElsewhere) return 'elsewhere';
    const { state } = this.connection;
    if (state === 'open' || state === 'gone') return state;
    return state === 'closing' || (state === 'idle' && !this.#isWanted) ? 'offline' : 'connecting';
  }

  /** While `state` is `elsewhere`: the live calls of the tab with the session, `{ id, state, role, peer }`. */
  get callsElsewhere() { return this.#tabs?.callsElsewhere ?? []; }

  // Going online and offline

  /** Goes online, and stays there. Never fails: see `opened` and the event `connection`. */
  start() {
    this.#isWanted = true;
    if (this.#isRestored) {
      for (const call of this.calls) this.turns.later(() => this.#dispatch('call', call));
    }
    this.turns.run(() => {
      if (this.#tabs && !this.#tabs.isLeader) this.#tabs.join(this.#isRestored);
      else this.connection.start();
    });
  }

  /** The result of `session.open`, as soon as there is a session; rejects after `timeout`. */
  opened(timeout = 30_000) {
    if (this.state === 'elsewhere') return Promise.reject(new ReveilleError('elsewhere', 'another tab has the session'));
    return this.connection.opened(timeout);
  }

  /** Moves the session, and its calls, from another tab to this one. */
  takeOver() {
    this.#isWanted = true;
    if (this.#tabs && !this.#tabs.isLeader) this.#tabs.steal();
    else this.start();
  }

  /** Goes offline. The server rings the user's other devices. */
  async close() {
    this.#isWanted = false;
    await this.connection.stop();
    this.#tabs?.leave();
  }

  /** Goes offline and removes the device's push tokens. */
  async logout() {
    await this.request('session.logout');
    await this.close();
  }

  /** For methods without one of their own here, such as `call.list` and `missed.clear`. */
  request(method, params = {}) {
    if (this.state === 'elsewhere') return Promise.reject(new ReveilleError('elsewhere', 'another tab has the session'));
    return this.connection.request(method, params);
  }

  /** @param {boolean} isBackground */
  setBackground(isBackground) { this.connection.setBackground(isBackground); }

  #deviceId() {
    const store = this.env.localStorage;
    try {
      let id = store?.getItem('reveille:device');
      if (!id) {
        id = uuid(this.env);
        store?.setItem('reveille:device', id);
      }
      return id;
    } catch {
      return uuid(this.env);
    }
  }

  /** One call of the token provider at a time. One that hangs is given up, and told so by its signal. */
  #fetchToken() {
    this.#tokenCall ??= new Promise((resolve, reject) => {
      const abort = new AbortController();
      this.connection.alarms.set('token', this.times.connect, () => {
        reject(new Error('the token provider did not answer in time'));
        abort.abort();
      });
      Promise.resolve().then(() => this.options.token({ signal: abort.signal })).then(resolve, reject);
    }).finally(() => {
      this.connection.alarms.clear('token');
      this.#tokenCall = undefined;
    });
    return this.#tokenCall;
  }

  #listenToPage() {
    const { page, navigator } = this.env;
    if (!page) return;
    const changed = (isNewNetwork) => () => {
      if (!this.#isWanted || this.state === 'elsewhere') return;
      this.connection.networkChanged(isNewNetwork);
      if (isNewNetwork) this.dispatchEvent(new CustomEvent('network'));
    };
    page.addEventListener('online', changed(true));
    page.addEventListener('pageshow', ({ persisted }) => persisted && changed(true)());
    page.document?.addEventListener('visibilitychange', () => {
      if (page.document.visibilityState === 'visible') changed(false)();
    });
    navigator?.connection?.addEventListener?.('change', changed(true));
  }

  #connectionChanged({ detail }) {
    this.dispatchEvent(new CustomEvent('connection', { detail }));
    if (detail.state === 'gone' || detail.state === 'offline') this.#tabs?.announce([]);
  }

  // Reload and tabs

  #load() {
    try {
      return JSON.parse(this.env.sessionStorage?.getItem(this.#key) ?? 'null') ?? undefined;
    } catch {
      return undefined;
    }
  }

  /** Once per turn, before the page can be unloaded. */
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
      this.#tabs?.announce(this.calls.map(({ id, state, role, peer }) => ({ id, state, role, peer })));
    });
  }

  #tabOwner() {
    return {
      gained: () => {
        if (this.#isWanted) this.connection.start();
        this.dispatchEvent(new CustomEvent('tabs'));
      },
      lost: () => {
        this.connection.abandon();
        this.#save();
        this.#tabs.join(false);
        this.dispatchEvent(new CustomEvent('tabs'));
      },
      heard: () => {
        // What waited for the session fails at once.
        this.connection.abandon();
        this.dispatchEvent(new CustomEvent('tabs'));
      },
    };
  }

  // TURN

  /** For RTCPeerConnection: the server's TURN servers, with credentials that are valid for a minute at least. */
  async iceServers() {
    if (this.#iceExpiry - this.env.now() < 60_000) await this.#refreshICE();
    return this.#iceServers;
  }

  #takeICE(servers) {
    this.#iceServers = servers.map(({ urls, username, credential }) => ({ urls, username, credential }));
    const shortest = Math.min(Infinity, ...servers.map(({ remaining_ms }) => remaining_ms));
    this.#iceExpiry = this.env.now() + shortest;
    if (shortest === Infinity) return;
    this.connection.alarms.set('ice', shortest * 0.8, () => this.#refreshICE());
    this.turns.later(() => this.dispatchEvent(new CustomEvent('iceservers')));
  }

  #refreshICE() {
    this.#iceCall ??= this.#fetchICE().catch(() => {
      this.connection.alarms.set('ice', 30_000, () => this.#refreshICE());
    }).finally(() => { this.#iceCall = undefined; });
    return this.#iceCall;
  }

  async #fetchICE() {
    const url = this.connection.url.replace(/^ws/, 'http').replace(/signal$/, 'turn');
    const headers = { authorization: `Bearer ${await this.#fetchToken()}` };
    const answer = await this.env.fetch(url, { headers, signal: AbortSignal.timeout(this.times.request) });
    if (!answer.ok) throw new Error(`GET /v1/turn: ${answer.status}`);
    const { ice_servers: servers } = await answer.json();
    this.turns.run(() => this.#takeICE(servers ?? []));
  }

  // Calls

  /**
   * Calls a user, a list of users, or `{ group }`. The promise has the call once the server has it; a call that ends at
   * once, for example as `no_devices`, is no error. The call is in `calls` at once.
   * @param {any} to
   * @param {any} [options]
   */
  async invite(to, options = {}) {
    return this._invite(to, options).invited;
  }

  _invite(to, { id = uuid(this.env), sdp = undefined, custom = undefined, video = false, ringMs = undefined, maxDurationMs = undefined } = {}) {
    return this.turns.run(() => {
      const params = { call_id: id, to, ring_ms: ringMs, max_duration_ms: maxDurationMs, video, sdp, custom };
      // An earlier attempt with the id is obsolete, and so is its hangup.
      for (const item of [...this.connection.outbox]) {
        const isObsolete = item.method === 'call.hangup' && item.params.call_id === id && item.isSilent;
        if (isObsolete && item.sentAt === undefined) this.connection.settle(item, { result: {} });
      }
      let call = this.#find(id);
      const isNew = !call;
      if (!call) {
        this.#ended = this.#ended.filter((past) => past.id !== id);
        call = this.#add(new Call(this, id, 'caller', 'routing'));
        Object.assign(call, { to, custom, video });
      }
      call.note('invite', 'page');
      const made = call;
      const invited = this.request('call.invite', params).then(() => made, (error) => {
        if (error.code === 'elsewhere' || error.code === 'closed' || error.code === 'queue_full') {
          this.turns.run(() => this.#end(id, 'forbidden', { isTold: false }));
        }
        throw error;
      });
      if (isNew) this.#tell('call', call);
      this.#after();
      return { call, invited };
    });
  }

  /** @param {Call} call */
  _act(call, method, params) {
    return this.turns.run(() => {
      call.note(method.slice(5), 'page');
      const past = this.#past(call.id);
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

  /** Withdraws the unsent invite of a call that was hung up. Returns what settles the hangup too. */
  #withdrawInvite(id) {
    const invite = this.connection.outbox
      .find(({ method, params, sentAt }) => method === 'call.invite' && params.call_id === id && sentAt === undefined);
    if (!invite) return undefined;
    this.connection.settle(invite, { error: endedError('cancelled') });
    // The server may have the invite: then the hangup is sent, as to repeat the invite would make a phone ring.
    if (invite.wasSent) return undefined;
    this.#end(id, 'cancelled', { isOwnAct: true });
    return { state: 'ended', reason: 'cancelled' };
  }

  /** For tests. */
  _view(id) { return { call: this.#find(id), past: this.#past(id) }; }

  #find(id) { return this.#calls.find((call) => call.id === id); }
  #past(id) { return this.#ended.findLast((past) => past.id === id); }

  #add(call) {
    this.#calls.push(call);
    return call;
  }

  /** Tells the page: first the listeners of the call, then those of the session. */
  #tell(type, call, detail = {}) {
    this.turns.later(() => this.#dispatch(type, call, detail));
  }

  #dispatch(type, call, detail = {}) {
    call?.dispatchEvent(new CustomEvent(type, { detail: { call, ...detail } }));
    this.dispatchEvent(new CustomEvent(type, { detail: { call, ...detail } }));
  }

  /** After each change: deadlines, storage and other tabs. */
  #after() {
    for (const call of this.#calls) this.#armCall(call);
    this.#save();
  }

  /** What the connection tells its session. */
  #owner() {
    const then = (step) => (...given) => {
      const result = step(...given);
      this.#after();
      return result;
    };
    return {
      opened: then((result) => this.#opened(result)),
      flushed: (isResumed) => this.#repeatCandidates(!isResumed),
      offline: then(() => { this.#offlineSince = this.env.now(); }),
      isInCall: () => this.#calls.length > 0,
      idle: then(() => this.#idle()),
      abandoned: () => {
        for (const call of this.#calls.splice(0)) this.#tell('moved', call);
      },
      connectionLost: () => this.#candidatesLost(),
      candidatesRefused: (error) => this.#candidatesRefused(error),
      event: then((method, params) => this.#event(method, params)),
      replied: then((item, result) => this.#replied(item, result)),
      refused: then((item, error) => this.#refused(item, error)),
      failed: then((item, error) => this.#failed(item, error)),
    };
  }

  #idle() {
    this.#offlineSince = undefined;
    this.#isRestored = false;
    this.connection.alarms.clear('ice');
    while (this.#calls.length > 0) this.#end(this.#calls.at(-1).id, 'connection_lost', { certainty: 'guessed' });
  }

  #opened(result) {
    this.#offlineSince = undefined;
    this.user = result.user;
    this.missed = result.missed ?? [];
    this.#takeICE(result.ice_servers ?? []);
    // After a reload of the page, what it remembers is set right by the server's list.
    const isKnown = result.resumed && !this.#isRestored;
    this.#isRestored = false;
    if (isKnown) {
      for (const snapshot of result.calls) this.#hangUpIfGivenUp(snapshot.call_id, snapshot.state, snapshot.by);
      return;
    }
    this.#reconcile(result.calls);
  }

  #event(method, params) {
    const call = this.#find(params.call_id);
    call?.note(`${method.slice(5)}${params.state ? `:${params.state}` : params.kind ? `:${params.kind}` : ''}`, 'server');
    switch (method) {
      case 'call.incoming': return this.#incoming(params);
      case 'call.state':
        this.#hangUpIfGivenUp(params.call_id, params.state, params.by);
        if (call?._take(params) && call._.isTold) this.#tell('state', call);
        return;
      case 'call.ended': return this.#endedEvent(params);
      case 'call.candidates':
        if (!call?._.isTold) return;
        // All of them, even repeated ones: after an ICE restart they may be meant again.
        call._news(params.candidates);
        return this.#tell('candidates', call, { candidates: params.candidates, isFinal: params.final === true });
      case 'call.update':
        if (!call?._.isTold) return;
        return this.#tell('update', call, { kind: params.kind, sdp: params.sdp, custom: params.custom });
      case 'call.peer':
        if (!call) return;
        call.peerAwaySince = params.presence === 'away' ? params.at : undefined;
        if (call._.isTold) this.#tell('peer', call, { presence: params.presence });
        return;
      case 'server.draining':
        return this.#tell('draining', undefined, { deadline: params.deadline_ms });
    }
  }

  #incoming(params) {
    const id = params.call_id;
    if (this.#hangUpIfRefused(id)) return;
    this.#forgetGuess(id);
    if (this.#past(id)) return;
    const known = this.#find(id);
    // The page's own call, offered to the user's other devices.
    if (known?.role === 'caller') return;
    const call = known ?? this.#add(new Call(this, id, 'callee', 'ringing'));
    const isTold = known?._.isTold ?? false;
    const before = contentOf(call);
    call.from = params.from;
    call.to = params.to;
    call.video = params.video;
    call.sdp = params.sdp ?? call.sdp;
    call.custom = params.custom ?? call.custom;
    call.pushId = params.push_id ?? call.pushId;
    call.mergedFrom ??= this.#loserTo(id);
    if (isBeforeAnswer(call.state)) call._setDeadline(params.expires_at, params.remaining_ms);
    call._.isTold = true;
    call._.isUnlisted = false;
    // A new session repeats all earlier candidates.
    const candidates = call._news(params.candidates ?? []);
    if (isTold) {
      if (contentOf(call) !== before) this.#tell('offer', call);
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

  // What the server answers

  #replied({ method, params }, result) {
    const id = params.call_id;
    switch (method) {
      case 'call.invite':
        if (result.state === 'ended') return this.#end(id, result.reason);
        return this.#changeCall(id, (call) => {
          const isNews = call._advance(result.state);
          if (!isBeforeAnswer(call.state)) return isNews;
          return call._setDeadline(result.expires_at, result.remaining_ms) || isNews;
        });
      case 'call.answer':
        return this.#won(id);
      case 'call.get': {
        const call = this.#find(result.call_id);
        // It may be a call of another device of this user.
        if (!call || call.role !== result.role) return undefined;
        call._.isUnlisted = false;
        return this.#snapshot(result);
      }
      case 'call.ringing': case 'call.decline': case 'call.connected': case 'call.hangup': {
        const call = this.#find(id);
        if (call) call._.isUnlisted = false;
        if (result.state !== 'ended') return this.#changeCall(id, (known) => known._advance(result.state));
        const isOwnAct = method === 'call.hangup' || method === 'call.decline';
        return this.#end(id, result.reason ?? 'hangup', { isOwnAct });
      }
    }
    return undefined;
  }

  #changeCall(id, change) {
    const call = this.#find(id);
    if (call && change(call) && call._.isTold) this.#tell('state', call);
  }

  #won(id) {
    const call = this.#find(id);
    if (call) call._.isUnlisted = false;
    this.#changeCall(id, (known) => known._advance('answered'));
  }

  /** Applies a refusal to the call. Returns how the request is settled. */
  #refused(item, error) {
    const { method, params } = item;
    const id = params.call_id;
    const call = this.#find(id);
    const isUnknown = error.code === 'forbidden' || error.code === 'not_found';
    if (method === 'call.answer' && error.code === 'already_answered') {
      if (error.data.by?.device_id === this.deviceId) {
        // The own answer, repeated because the connection broke before the reply.
        this.#won(id);
        return { result: { won: true } };
      }
      this.#end(id, 'answered_elsewhere', { by: error.data.by });
    } else if (isUnknown && (method === 'call.answer' || method === 'call.ringing')) {
      // The server has no leg of this device in the call. A caller's call does not end here: it cannot answer.
      if (call?.role === 'callee') this.#end(id, 'connection_lost');
    } else if (isUnknown && (method === 'call.connected' || method === 'call.get')) {
      this.#end(id, 'connection_lost');
    } else if (isUnknown && (method === 'call.hangup' || (method === 'call.decline' && call?.role === 'callee'))) {
      // The invite never reached the server, so there is nothing to hang up.
      const reason = method === 'call.decline' ? declineReason(params) : call ? endReason(item, call) : 'cancelled';
      this.#end(id, reason, { isOwnAct: true });
      return { result: { state: 'ended', reason } };
    } else if (method === 'call.invite') {
      // A call that the server refused never existed; the error tells the page.
      if (this.#isUnconfirmed(call)) this.#end(id, 'forbidden', { isTold: false });
    } else if (error.code === 'call_ended') {
      if (id) this.#end(id, error.data.reason);
    } else if (method === 'call.answer' || method === 'call.get') {
      this.#settleUnlisted(id);
    }
    return { error };
  }

  /** Whether this page placed the call and has heard nothing of it from the server. */
  #isUnconfirmed(call) {
    return call?.role === 'caller' && call.state === 'routing' && call.expiresAt === undefined;
  }

  /** A request got no answer. */
  #failed(item, error) {
    const id = item.params.call_id;
    const call = this.#find(id);
    switch (item.method) {
      case 'call.answer':
      case 'call.get': return this.#settleUnlisted(id);
      case 'call.hangup': case 'call.decline':
        // The user is finished with the call, even if the server does not know.
        if (call) this.#end(id, endReason(item, call), { isOwnAct: true, certainty: 'refused' });
        return;
      case 'call.invite':
        if (!this.#isUnconfirmed(call)) return;
        this.#end(id, 'connection_lost', { isTold: false, certainty: 'guessed' });
        // The server may have the call, and would let it ring without a caller.
        if (error.code !== 'not_connected') this.#say('call.hangup', { call_id: id });
    }
  }

  // The end of a call

  #endedEvent(params) {
    const id = params.call_id;
    const call = this.#find(id);
    const past = this.#past(id);
    if (call) {
      call.endedAt = params.at;
      call.mergedInto = params.merged_into;
      this.#end(id, params.reason, { by: params.by, isOwnAct: params.callkit_reason === null });
    } else if (past) {
      // The reply to the invite told of the end, but not of the call that continues.
      if (params.merged_into) this.#merge(past, params.merged_into);
      if (past.certainty !== 'told') Object.assign(past, { reason: params.reason, certainty: 'told' });
    } else {
      this.#remember({ id, role: 'callee', reason: params.reason, isTold: false });
    }
  }

  /** Ends a call here, once. `isTold` is false if the outcome of the page's own request tells of the end. */
  #end(id, reason, { by = undefined, isOwnAct = false, isTold = true, certainty = 'told' } = {}) {
    const call = this.#find(id);
    if (!call) return;
    this.#calls = this.#calls.filter((other) => other !== call);
    this.connection.alarms.clear(call);
    const past = this.#remember({ id, role: call.role, reason, certainty, isTold: call._.isTold && isTold });
    for (const item of [...this.connection.outbox]) this.#settleIfOver(item, id, reason);
    Object.assign(call, { state: 'ended', reason, by, isOwnAct });
    if (call._.isTold && isTold) this.#tell('ended', call);
    // A refused invite has no event, but its media must know.
    else this.turns.later(() => call.dispatchEvent(new CustomEvent('ended', { detail: { call } })));
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

  /** The call here that lost a glare against `winner`. */
  #loserTo(winner) {
    return this.#ended.findLast(({ mergedInto, isTold }) => mergedInto === winner && isTold)?.id;
  }

  /** Tells the page after a glare which of the two calls remains. */
  #merge(past, winner) {
    if (past.mergedInto) return;
    past.mergedInto = winner;
    if (!past.isTold) return;
    const call = this.#find(winner);
    if (call) call.mergedFrom = past.id;
    this.#tell('merged', call, { loser: past.id, winner });
  }

  /** The server still offers the call, so it is announced again. */
  #forgetGuess(id) {
    this.#ended = this.#ended.filter((past) => past.id !== id || past.certainty !== 'guessed');
  }

  // The server's list

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

  /** A call that the server does not list has ended, or the server has not heard of it yet. */
  #unlisted(call) {
    const pending = this.connection.outbox.filter(({ params }) => params.call_id === call.id).map(({ method }) => method);
    if (pending.includes('call.invite') && this.#isUnconfirmed(call)) return;
    if (pending.includes('call.hangup') || pending.includes('call.decline')) return this.#end(call.id, 'connection_lost');
    call._.isUnlisted = true;
    // The user must see whether the call was answered elsewhere, cancelled or lost.
    if (!pending.includes('call.answer') && !pending.includes('call.get')) this.#say('call.get', { call_id: call.id });
  }

  #settleUnlisted(id) {
    if (this.#find(id)?._.isUnlisted) this.#end(id, 'connection_lost');
  }

  /** Hangs up a call that lives on at the server although the page was told that it was lost. */
  #hangUpIfGivenUp(id, state, by) {
    const past = this.#past(id);
    if (state === 'ended' || !past || past.certainty === 'told') return;
    const isOurs = past.role === 'caller' || (!isBeforeAnswer(state) && by?.device_id === this.deviceId);
    if (isOurs || past.certainty === 'refused') this.#giveUp(id);
  }

  /** A call that the user has declined without the server's knowledge must not ring again. */
  #hangUpIfRefused(id) {
    if (!this.#ended.some((past) => past.id === id && past.certainty === 'refused')) return false;
    this.#giveUp(id);
    return true;
  }

  /** Before the answer a hangup declines or cancels the call. */
  #giveUp(id) {
    const isPending = this.connection.outbox.some(({ method, params }) => method === 'call.hangup' && params.call_id === id);
    if (!isPending) this.#say('call.hangup', { call_id: id });
  }

  #snapshot(snapshot) {
    const { call_id: id, role, state, by } = snapshot;
    const known = this.#find(id);
    const isRinging = role === 'callee' && isBeforeAnswer(state);
    const device = by?.device_id;
    const isElsewhere = role === 'callee' && !isRinging && device !== undefined && device !== this.deviceId;
    const isOver = state === 'ended' || isElsewhere;
    const past = this.#past(id);
    if (!known && isOver && !past) {
      this.#remember({ id, role, reason: state === 'ended' ? snapshot.reason : 'answered_elsewhere', isTold: false });
    }
    if (!known && (isOver || past)) return;
    const call = known ?? this.#add(new Call(this, id, role, state));
    // An unknown ringing call is announced by its call.incoming, which has the candidates that a snapshot lacks.
    if (!known) call._.isTold = !isRinging;
    const before = contentOf(call);
    if (state !== 'ended') call._advance(state);
    Object.assign(call, { from: snapshot.from, to: snapshot.to, endedAt: snapshot.ended_at, mergedInto: snapshot.merged_into });
    call.video = snapshot.video ?? call.video;
    call.custom = snapshot.custom ?? call.custom;
    call.sdp = snapshot.sdp ?? call.sdp;
    call.pushId = snapshot.push_id ?? call.pushId;
    call.answeredAt = snapshot.answered_at ?? call.answeredAt;
    call.connectedAt = snapshot.connected_at ?? call.connectedAt;
    call.peerAwaySince = snapshot.peer_away_since;
    call.by = by ?? call.by;
    call.mergedFrom ??= this.#loserTo(id);
    if (call.state === state) call._setDeadline(snapshot.expires_at, snapshot.remaining_ms);
    if (known && !isRinging && !isOver) call._.isTold = true;
    if (state === 'ended') {
      return this.#end(id, snapshot.reason ?? 'connection_lost', { by, isOwnAct: snapshot.callkit_reason === null });
    }
    if (isElsewhere) return this.#end(id, 'answered_elsewhere', { by });
    if (!known && !isRinging) this.#tell('call', call);
    if (known ? contentOf(call) !== before : !isRinging) this.#tell('state', call);
  }

  // Deadlines

  #armCall(call) {
    const { alarms } = this.connection;
    alarms.clear(call);
    const isRinging = isBeforeAnswer(call.state);
    const overdue = call.remaining === undefined ? undefined : call.remaining + this.times.ringGrace;
    if (this.connection.isOpen) {
      // Its end may be lost on a half-open connection: the server is asked.
      if (call.state === 'connected' || overdue === undefined || call.expiresAt === call._.askedAbout) return;
      return alarms.set(call, overdue, () => this.turns.run(() => {
        call._.askedAbout = call.expiresAt;
        this.#say('call.get', { call_id: call.id });
      }));
    }
    const give = (after, reason) => alarms.set(call, after, () => this.turns.run(() => {
      this.#end(call.id, reason, { certainty: 'guessed' });
      this.#after();
    }));
    if (!isRinging) {
      if (this.#offlineSince === undefined) return;
      return give(this.#offlineSince + this.times.callKeep - this.env.now(), 'connection_lost');
    }
    // The answer may have won: then the reply to the repeated answer decides.
    const mayBeAnswered = this.connection.outbox
      .some(({ method, params, wasSent }) => method === 'call.answer' && params.call_id === call.id && wasSent);
    if (!mayBeAnswered && overdue !== undefined) give(overdue, 'ring_timeout');
  }

  // Candidates: the only messages without an answer. An answer to a later request proves that they have arrived.

  _gathered(call, candidates, isFinal) {
    this.turns.run(() => {
      if (!this.#calls.includes(call)) return;
      for (const batch of this.#batches(call.id, candidates, isFinal)) {
        const sentBefore = this.connection.notify('call.candidates', batch) ? this.connection.nextId : undefined;
        if (call._.own.length < CANDIDATE_LIMIT) call._.own.push({ batch, sentBefore, hasArrived: false });
      }
    });
  }

  /** Candidates in messages that fit a frame. */
  #batches(id, candidates, isFinal) {
    const limit = this.connection.maxFrameBytes - 4096;
    const batches = [[]];
    let size = 0;
    for (const candidate of candidates) {
      const length = JSON.stringify(candidate).length * 3 + 1;
      if (size + length > limit && batches.at(-1).length > 0) {
        batches.push([]);
        size = 0;
      }
      batches.at(-1).push(candidate);
      size += length;
    }
    return batches.map((batch, index) => ({
      call_id: id, candidates: batch, ...(isFinal && index === batches.length - 1 ? { final: true } : {}),
    }));
  }

  /** The server has no room while the other side is away. Which ones it refused is unknown: all are sent again. */
  #candidatesRefused(error) {
    const call = this.#find(error.data.call_id);
    if (!call || error.retryAfter === undefined) return;
    this.connection.alarms.set(`candidates ${call.id}`, error.retryAfter, () => this.turns.run(() => {
      for (const own of call._.own) this.connection.notify('call.candidates', own.batch);
    }));
  }

  #candidatesLost() {
    for (const call of this.#calls) {
      for (const own of call._.own) {
        if (own.sentBefore === undefined) continue;
        if (own.sentBefore <= this.connection.lastAnswered) own.hasArrived = true;
        own.sentBefore = undefined;
      }
    }
  }

  /** A server that has lost the session gets all of them again, until media flows. */
  #repeatCandidates(isFresh) {
    for (const call of this.#calls) {
      const isNeeded = isFresh && call.state !== 'connected';
      for (const own of call._.own) {
        // What the server has lost may be lost on its way again.
        if (isNeeded) own.hasArrived = false;
        if (own.sentBefore !== undefined || own.hasArrived) continue;
        if (this.connection.notify('call.candidates', own.batch)) own.sentBefore = this.connection.nextId;
      }
    }
  }
}

/** What the page sees of a call, to find out if it has changed. */
function contentOf({ state, from, to, video, sdp, custom, pushId, expiresAt, answeredAt, connectedAt, peerAwaySince, by, mergedFrom, mergedInto }) {
  return JSON.stringify([state, from, to, video, sdp, custom, pushId, expiresAt, answeredAt, connectedAt, peerAwaySince,
    by, mergedFrom, mergedInto]);
}

/** How a request about a call that has ended is settled: a request that meant to end it has succeeded. */
function settlement(method, reason) {
  const isLate = ['call.hangup', 'call.decline', 'call.ringing', 'call.connected'].includes(method);
  return isLate ? { result: { state: 'ended', reason } } : { error: endedError(reason) };
}

const declineReason = ({ reason }) => (reason === 'busy' ? 'busy' : 'declined');

/** The reason for which a call ends that the user declines or hangs up. */
function endReason({ method, params }, call) {
  if (method === 'call.decline') return declineReason(params);
  if (!isBeforeAnswer(call.state)) return params.reason ?? 'hangup';
  return call.role === 'caller' ? 'cancelled' : 'declined';
}

/**
 * Elects the tab that has the session. The lock of the name is held by one tab; the others wait for it, and hear from
 * its holder where the calls are.
 */
class Tabs {
  isLeader = false;
  /** Whether another tab is known to have the session. */
  isElsewhere = false;
  callsElsewhere = [];
  #release;
  #abort;
  #channel;
  #hasJoined = false;
  #last = '[]';

  constructor(name, env, times, owner) {
    Object.assign(this, { name, env, times, owner });
    this.#channel = new env.BroadcastChannel(name);
    this.#channel.onmessage = ({ data }) => this.#receive(data);
    // In Node.js an open channel keeps the process alive.
    this.#channel.unref?.();
  }

  #receive({ type, calls }) {
    if (type === 'ask' && this.isLeader) return this.#channel.postMessage({ type: 'calls', calls: JSON.parse(this.#last) });
    if (type !== 'calls' || this.isLeader) return;
    this.callsElsewhere = calls;
    this.#isHeard();
  }

  #isHeard() {
    this.isElsewhere = true;
    this.owner.heard();
  }

  /** @param {boolean} isReload Whether this tab had the session before it was loaded. */
  join(isReload) {
    if (this.#hasJoined) return;
    this.#hasJoined = true;
    this.#channel.postMessage({ type: 'ask' });
    if (!isReload) this.#request({});
    this.env.setTimeout(() => {
      // A tab that waits may have got the lock during the reload. A tab that has the session meanwhile keeps it.
      if (isReload) this.#request(this.isElsewhere ? {} : { steal: true });
      else if (!this.isLeader && !this.isElsewhere && this.#hasJoined) this.#isHeard();
    }, this.times.tabAsk);
  }

  steal() {
    this.leave();
    this.#hasJoined = true;
    this.isElsewhere = false;
    this.callsElsewhere = [];
    this.#request({ steal: true });
  }

  #request({ steal = false }) {
    if (!this.#hasJoined) return;
    const abort = new AbortController();
    this.#abort = abort;
    // A request that steals takes no signal.
    const options = steal ? { steal } : { signal: abort.signal };
    this.env.locks.request(this.name, options, () => this.#granted(abort)).catch(() => {
      if (this.#abort !== abort) return;
      const wasLeader = this.isLeader;
      this.isLeader = this.#hasJoined = false;
      if (wasLeader) this.owner.lost();
    });
  }

  /** Holds the lock until `leave`, or until another tab steals it. */
  async #granted(abort) {
    if (abort.signal.aborted) return undefined;
    const held = new Promise((resolve) => { this.#release = resolve; });
    // The tab with the call may be loading again: it steals the lock then.
    if (this.callsElsewhere.length > 0) {
      await new Promise((resolve) => { this.env.setTimeout(resolve, this.times.tabGrace); });
    }
    if (abort.signal.aborted || this.#abort !== abort || !this.#hasJoined) return undefined;
    this.isLeader = true;
    this.isElsewhere = false;
    this.callsElsewhere = [];
    this.announce([], true);
    this.owner.gained();
    return held;
  }

  announce(calls, isForced = false) {
    const text = JSON.stringify(calls);
    if (!this.isLeader || (text === this.#last && !isForced)) return;
    this.#last = text;
    this.#channel.postMessage({ type: 'calls', calls });
  }

  leave() {
    this.isLeader = this.isElsewhere = this.#hasJoined = false;
    this.#abort?.abort();
    this.#abort = undefined;
    this.#release?.();
  }
}

/** Refusals after which an update of the media is repeated, as its call lives on. */
const REPEATED = new Set(['overloaded', 'rate_limited', 'connection_lost', 'timed_out', 'not_connected', 'internal_error']);
const CAPTURE_ERRORS = {
  NotAllowedError: 'media_denied', SecurityError: 'media_denied', NotFoundError: 'media_missing',
  OverconstrainedError: 'media_missing', NotReadableError: 'media_busy',
};

/**
 * The media of one call over one RTCPeerConnection: trickled candidates, renegotiation, ICE restarts, devices, quality.
 * For an incoming call it takes the offer at once, and the microphone only with `answer`.
 */
export class Media extends EventTarget {
  #pc;
  #alarms;
  #off = new AbortController();
  #ready;
  #steps = Promise.resolve();
  #batch = [];
  #waiting = [];
  #offer = '';
  #last;
  #isRestarting = false;
  #isConnectedSaid = false;
  #elements = new Set();
  #sample = { at: 0, received: 0, lost: 0, heard: 0 };

  /** @param {any} call @param {any} [options] */
  constructor(call, options = {}) {
    super();
    this.options = { audio: true, video: false, ...options };
    this.session = call?.session ?? options.session;
    this.env = this.session.env;
    this.#alarms = new Alarms(this.env);
    this.localStream = new this.env.MediaStream();
    this.remoteStream = new this.env.MediaStream();
    this.isMuted = this.isOnHold = this.isClosed = false;
    this.quality = undefined;
    if (call) this.#attach(call);
  }

  /** Calls somebody with media. The promise has the media once the server has the call. */
  static async dial(session, to, options = {}) {
    const media = new Media(undefined, { ...options, session });
    try {
      await media.#capture(media.options);
      const pc = await media.#connect();
      media.#addTracks(pc);
      if (options.video) media.#transceiver(pc, 'video');
      await pc.setLocalDescription();
      const { call, invited } = session._invite(to, { ...options, sdp: pc.localDescription.sdp });
      media.#attach(call);
      await invited;
      return media;
    } catch (error) {
      media.close();
      throw error;
    }
  }

  /** Takes the microphone and answers. */
  async answer() {
    await this.#race(this.#ready ?? Promise.reject(new ReveilleError('bad_state', 'only an incoming call is answered')));
    await this.#capture(this.options);
    await this.#race(this.#step(async () => {
      this.#addTracks(this.#pc);
      await this.#pc.setLocalDescription();
    }));
    return this.call.answer({ sdp: this.#pc.localDescription.sdp });
  }

  /** Continues a call that was restored after a reload: a new peer connection on both sides. */
  async resume() {
    if (this.#ready) return this.#race(this.#ready);
    await this.#capture(this.options);
    this.#isRestarting = true;
    return this.#offerAnew();
  }

  #attach(call) {
    this.call = call;
    const { signal } = this.#off;
    const on = (target, type, handler) => target?.addEventListener(type, handler, { signal });
    on(call, 'state', () => this.#stateChanged());
    for (const type of ['ended', 'moved']) on(call, type, () => this.close());
    on(call, 'candidates', ({ detail }) => this.#step(() => this.#theirs(detail.candidates)));
    on(call, 'update', ({ detail }) => this.#updated(detail));
    on(this.session, 'network', () => this.#checkFlow());
    on(this.session, 'connection', ({ detail }) => this.#sessionBack(detail));
    on(this.session, 'iceservers', async () => {
      this.#pc?.setConfiguration({ ...this.#pc.getConfiguration(), iceServers: await this.session.iceServers() });
    });
    on(this.env.mediaDevices, 'devicechange', () => this.#emit('devices'));
    if (!call.isLive) return this.close();
    if (call.role === 'callee' && isBeforeAnswer(call.state)) {
      this.#ready = this.#prepare();
      this.#ready.catch(() => {});
    }
    this.#stateChanged();
    this.#repeatEverySecond();
  }

  async #prepare() {
    const { sdp } = this.call;
    if (!sdp) throw new ReveilleError('no_offer', 'the caller offers no media');
    await this.#connect();
    await this.#step(() => this.#setRemote('offer', sdp));
    await this.#step(() => this.#theirs(this.call._.candidates));
  }

  // The peer connection

  async #connect() {
    const iceServers = this.options.iceServers ?? await this.session.iceServers();
    if (this.isClosed) throw endedError(this.call?.reason);
    this.#pc?.close();
    // The pool gathers candidates before the answer. None is sent before it: a caller learns no address of the callee.
    const pc = new this.env.RTCPeerConnection({
      iceServers, bundlePolicy: 'max-bundle', iceCandidatePoolSize: 1, ...this.options.configuration,
    });
    this.#pc = pc;
    for (const track of this.remoteStream.getTracks()) this.remoteStream.removeTrack(track);
    const on = (handler) => (event) => { if (this.#pc === pc) handler(event); };
    pc.ontrack = on(({ track }) => {
      this.remoteStream.addTrack(track);
      this.#emit('track', { track });
    });
    pc.onicecandidate = on(({ candidate }) => this.#gathered(candidate));
    pc.onconnectionstatechange = on(() => this.#connectionChanged());
    pc.onnegotiationneeded = on(() => this.#negotiate());
    return pc;
  }

  get peerConnection() { return this.#pc; }

  /** Steps on the session descriptions, one after the other. */
  #step(step) {
    const done = this.#steps.then(() => (this.isClosed ? undefined : step()));
    this.#steps = done.catch((error) => this.#emit('problem', { error }));
    return done;
  }

  /** Settles at the latest with the end of the call, or after a minute. */
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
    const waiting = this.#waiting.splice(0);
    await this.#theirs(waiting);
  }

  /** Candidates of a generation that is not known yet wait for their description. */
  async #theirs(candidates) {
    for (const candidate of candidates) {
      const description = this.#pc?.remoteDescription?.sdp;
      const generation = candidate.usernameFragment;
      if (!description || (generation && !description.includes(`ice-ufrag:${generation}`))) {
        if (this.#waiting.length < CANDIDATE_LIMIT) this.#waiting.push(candidate);
      } else {
        // One of an earlier generation does no harm.
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
    if (!this.#canUpdate() || !this.#pc) return;
    if (this.#isRestarting && this.#pc.signalingState === 'stable' && !this.#last) return void this.#offerAnew();
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

  // Renegotiation: perfect negotiation over call.update; the callee is polite

  #negotiate() {
    this.#step(async () => {
      const pc = this.#pc;
      if (!this.#canUpdate() || pc.signalingState !== 'stable' || !pc.remoteDescription) return;
      await pc.setLocalDescription();
      this.#deliver('offer', {});
    });
  }

  async #offerAnew() {
    if (!this.#canUpdate()) {
      // The other side may answer the offer of the page before: a new one follows then.
      await this.#connect();
      return;
    }
    await this.#step(async () => {
      const pc = await this.#connect();
      this.#addTracks(pc);
      if (this.call.video) this.#transceiver(pc, 'video');
      await pc.setLocalDescription();
      this.#deliver('offer', { media: 'restart' });
    });
  }

  #deliver(kind, extra) {
    if (kind === 'offer') this.#offer = uuid(this.env);
    const custom = { offer: this.#offer, ...extra };
    this.#last = { kind, sdp: this.#pc.localDescription.sdp, custom, isTaken: false };
    this.#send(this.#last);
  }

  async #send(message) {
    const { kind, sdp, custom } = message;
    message.isTaken = false;
    await this.#repeat(() => this.#last === message, kind, { sdp, custom }).catch((error) => this.#emit('problem', { error }));
    message.isTaken = true;
    if (kind !== 'offer' || this.#last !== message || this.#pc?.connectionState === 'connected') return;
    // The other side has the restart, or gets it: that must help.
    this.#alarms.setIfNone('failed', 10_000, () => this.#failed());
  }

  /** Sends an update until the server has it, the call ends, or it is obsolete. */
  async #repeat(isCurrent, kind, content) {
    for (;;) {
      try {
        return await this.call.update(kind, content);
      } catch (error) {
        if (!REPEATED.has(error.code)) throw error;
        await new Promise((resolve) => { this.env.setTimeout(resolve, error.retryAfter ?? 500); });
        if (this.isClosed) throw endedError(this.call.reason);
        if (!isCurrent()) return undefined;
      }
    }
  }

  #updated({ kind, sdp, custom }) {
    if (kind === 'answer') return this.#step(() => this.#takeAnswer(sdp, custom));
    if (kind === 'offer') return this.#step(() => this.#takeOffer(sdp, custom));
    return this.#emit('peer', { kind, custom });
  }

  async #takeAnswer(sdp, custom) {
    // An answer to an offer of the page before a reload fits no offer of this one.
    if (custom?.offer !== undefined && custom.offer !== this.#offer) return;
    if (this.#pc?.signalingState === 'have-local-offer') await this.#setRemote('answer', sdp);
  }

  async #takeOffer(sdp, custom) {
    if (!this.#pc) return undefined;
    // Sent again, as its sender did not know if it had arrived.
    if (this.#last?.kind === 'answer' && custom?.offer && custom.offer === this.#offer) return this.#send(this.#last);
    const isRestart = custom?.media === 'restart';
    const collides = this.#pc.signalingState !== 'stable';
    const ownRestart = collides && this.#last?.custom.media === 'restart';
    if (collides && !this.call.isPolite && (!isRestart || ownRestart)) return undefined;
    if (isRestart) await this.#connect();
    await this.#setRemote('offer', sdp);
    if (isRestart) this.#addTracks(this.#pc);
    await this.#pc.setLocalDescription();
    this.#offer = custom?.offer ?? '';
    return this.#deliver('answer', {});
  }

  // Failures

  #connectionChanged() {
    const { connectionState } = this.#pc;
    this.call?.note(`media:${connectionState}`, 'media');
    this.#emit('connection', { state: connectionState });
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
    if (this.#canUpdate() && this.#pc) this.#pc.restartIce();
  }

  #failed() {
    if (this.#pc?.connectionState === 'connected' || !this.session.connection.isOpen) return;
    this.call.hangup('ice_failed');
  }

  /** After a change of the network: media that still flows needs nothing. */
  async #checkFlow() {
    const pc = this.#pc;
    if (!pc || !this.#canUpdate()) return;
    const before = await this.#received();
    this.#alarms.set('flow', 1_000, async () => {
      if (this.#pc === pc && await this.#received() <= before) this.#restartICE();
    });
  }

  async #received() {
    let bytes = 0;
    for (const report of (await this.#pc.getStats()).values()) {
      if (report.type === 'candidate-pair') bytes += report.bytesReceived ?? 0;
    }
    return bytes;
  }

  #sessionBack({ state }) {
    if (state !== 'up' && state !== 'resumed') return;
    const isPending = this.#pc?.signalingState === 'have-local-offer' || this.#pc?.connectionState !== 'connected';
    // A server that has lost the session may have lost the last update.
    if (state === 'up' && isPending && this.#last?.isTaken && this.#canUpdate()) this.#send(this.#last);
    this.#checkFlow();
  }

  // Devices

  async #capture({ audio, video }) {
    if (!audio && !video) return;
    if (!this.env.mediaDevices) throw new ReveilleError('insecure_page', 'the page may not use the microphone');
    const captured = this.env.mediaDevices.getUserMedia({ audio, video });
    // Granted after the end of the call: nothing may go on recording.
    captured.then((stream) => this.isClosed && stop(stream), () => {});
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
    for (const old of this.localStream.getTracks()) {
      if (old.kind !== track.kind) continue;
      this.localStream.removeTrack(old);
      old.onended = null;
      old.stop();
    }
    this.localStream.addTrack(track);
    if (track.kind === 'audio') track.enabled = !this.isMuted && !this.isOnHold;
    // Unplugged: the system's default takes its place.
    track.onended = () => this.#use(track.kind, true).catch((error) => this.#emit('problem', { error }));
  }

  #addTracks(pc) {
    for (const track of this.localStream.getTracks()) pc.addTrack(track, this.localStream);
    if (!this.localStream.getAudioTracks().length) this.#transceiver(pc, 'audio');
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
  }

  /** `{ microphones, cameras, speakers }`; names are empty before the user has allowed the microphone. */
  async devices() {
    const all = await (this.env.mediaDevices?.enumerateDevices() ?? []);
    const of = (kind) => all.filter((device) => device.kind === kind).map(({ deviceId: id, label }) => ({ id, label }));
    return { microphones: of('audioinput'), cameras: of('videoinput'), speakers: of('audiooutput') };
  }

  setMicrophone(id) { return this.#use('audio', { deviceId: { exact: id } }); }
  setCamera(id) { return this.#use('video', { deviceId: { exact: id } }); }

  async setSpeaker(id) {
    this.options.speaker = id;
    await Promise.all([...this.#elements].map((element) => element.setSinkId?.(id)));
  }

  /** Plays the other side in an audio or video element. */
  async attach(element) {
    this.#elements.add(element);
    element.srcObject = this.remoteStream;
    if (this.options.speaker) await element.setSinkId?.(this.options.speaker);
    // A browser plays nothing before the user has touched the page.
    await element.play().catch(() => this.#emit('blocked', { element }));
  }

  // What the user does

  async setVideo(isOn) {
    if (isOn) return this.#use('video', this.options.video || true);
    for (const track of this.localStream.getVideoTracks()) {
      this.localStream.removeTrack(track);
      track.onended = null;
      track.stop();
    }
    const transceiver = this.#pc?.getTransceivers().find(({ receiver }) => receiver.track.kind === 'video');
    if (!transceiver) return undefined;
    await transceiver.sender.replaceTrack(null);
    transceiver.direction = 'recvonly';
    return undefined;
  }

  mute(isMuted = true) {
    this.isMuted = isMuted;
    this.#enableAudio();
    return this.#tellPeer('mute', { muted: isMuted });
  }

  hold(isOnHold = true) {
    this.isOnHold = isOnHold;
    this.#enableAudio();
    for (const transceiver of this.#pc?.getTransceivers() ?? []) {
      transceiver.direction = isOnHold ? 'inactive' : transceiver.sender.track ? 'sendrecv' : 'recvonly';
    }
    return this.#tellPeer(isOnHold ? 'hold' : 'resume');
  }

  #enableAudio() {
    for (const track of this.localStream.getAudioTracks()) track.enabled = !this.isMuted && !this.isOnHold;
  }

  async #tellPeer(kind, custom = undefined) {
    const wanted = [this.isMuted, this.isOnHold].join();
    if (this.#canUpdate()) await this.#repeat(() => wanted === [this.isMuted, this.isOnHold].join(), kind, { custom });
  }

  /** Sends tones, such as `12#`. Resolves when the last one is out. */
  async dtmf(tones, duration = 100, gap = 70) {
    const dtmf = this.#pc?.getSenders().find(({ track }) => track?.kind === 'audio')?.dtmf;
    if (!dtmf?.canInsertDTMF) throw new ReveilleError('no_dtmf', 'the other side takes no tones');
    dtmf.insertDTMF(tones, duration, gap);
    await this.#race(new Promise((resolve) => {
      dtmf.ontonechange = ({ tone }) => { if (tone === '') resolve(undefined); };
    }));
  }

  // Quality

  #repeatEverySecond() {
    this.#alarms.set('stats', 1_000, () => {
      this.#measure().catch(() => {}).finally(() => !this.isClosed && this.#repeatEverySecond());
    });
  }

  async #measure() {
    if (this.#pc?.connectionState !== 'connected') return;
    const reports = await this.#pc.getStats();
    let received = 0;
    let lost = 0;
    let jitter = 0;
    let rtt = 0;
    let isRelayed = false;
    for (const report of reports.values()) {
      if (report.type === 'inbound-rtp' && report.kind === 'audio') {
        received += report.packetsReceived;
        lost += report.packetsLost;
        jitter = Math.max(jitter, report.jitter ?? 0);
      } else if (report.type === 'candidate-pair' && report.nominated && report.state === 'succeeded') {
        rtt = report.currentRoundTripTime ?? rtt;
        isRelayed = reports.get(report.localCandidateId)?.candidateType === 'relay';
      }
    }
    const last = this.#sample;
    const now = this.env.now();
    const fresh = received - last.received;
    const gone = Math.max(0, lost - last.lost);
    this.#sample = { at: now, received, lost, heard: fresh !== 0 || !last.heard ? now : last.heard };
    this.quality = describe({
      rtt: Math.round(rtt * 1000), jitter: Math.round(jitter * 1000), loss: fresh + gone > 0 ? gone / (fresh + gone) : 0,
      silence: this.isOnHold ? 0 : now - this.#sample.heard, isRelayed,
    });
    this.#emit('quality', this.quality);
  }

  #emit(type, detail = {}) {
    this.dispatchEvent(new CustomEvent(type, { detail: { media: this, ...detail } }));
  }

  /** Comes by itself with the end of the call. */
  close() {
    if (this.isClosed) return;
    this.isClosed = true;
    this.#off.abort();
    this.#alarms.clearAll();
    this.#pc?.close();
    stop(this.localStream);
    this.#emit('closed');
  }
}

function stop(stream) {
  for (const track of stream.getTracks()) {
    track.onended = null;
    track.stop();
  }
}

/** A line for people about the last second. */
function describe(sample) {
  const { rtt, jitter, loss, silence, isRelayed } = sample;
  const lost = loss < 0.005 ? 'no loss' : `${Math.round(loss * 100)} % lost`;
  const way = isRelayed ? 'over a relay' : 'direct';
  if (silence >= 3_000) {
    return { ...sample, level: 'none', text: `Nothing arrives for ${Math.round(silence / 1000)} s` };
  }
  const level = loss > 0.08 || rtt > 600 ? 'poor' : loss > 0.03 || rtt > 300 || jitter > 50 ? 'fair' : 'good';
  return { ...sample, level, text: `${level[0].toUpperCase()}${level.slice(1)}: ${rtt} ms, ${lost}, ${way}` };
}
