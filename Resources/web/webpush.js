// @ts-check
// Web Push for a Session: subscribes, and keeps the push token registered at the server up to date. webpush.d.ts
// documents it.

import { ReveilleError } from './reveille.js';

/** For installing the worker and for the push service. */
const BROWSER_TIMEOUT_MS = 30_000;

const ADVICE = {
  push_unsupported: 'Use another browser, or open the page over https. On an iPhone, put the page on the home screen.',
  push_unavailable: 'Switch Web Push on at the server: push.webpush.subject.',
  push_blocked: 'Allow notifications in the browser’s settings for this page.',
  push_failed: 'Try again later: the browser’s push service may be out of reach.',
};

const NOT_PUSHED = 'Allow it at the server: push.webpush.hosts. With --push-sim, and in the demo, a server pushes only to its '
  + 'simulator.';

function fault(code, message, whatToDo = ADVICE[code]) {
  const error = new ReveilleError(code, message);
  error.whatToDo = whatToDo;
  return error;
}

function base64url(bytes) {
  const text = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(text).replace(/\+/g, '-').replace(/\//g, '_').replace(/=+$/, '');
}

function bytesOf(text) {
  return Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0));
}

function surroundings(given) {
  const { navigator, Notification, PushManager, isSecureContext } = /** @type {any} */ (globalThis);
  const env = /** @type {any} */ ({
    serviceWorker: navigator?.serviceWorker, Notification, PushManager, isSecureContext, page: globalThis,
  });
  try {
    env.localStorage = globalThis.localStorage;
  } catch { /* Storage is forbidden. */ }
  return Object.assign(env, given);
}

export function pushToken(subscription, key) {
  const [p256dh, auth] = ['p256dh', 'auth'].map((name) => base64url(subscription.getKey(name)));
  return {
    provider: 'webpush', kind: 'data', environment: 'production', topic: key,
    token: `${subscription.endpoint}#p256dh=${p256dh}&auth=${auth}`,
  };
}

/**
 * A subscription for another key is of no use, and neither is one that has expired. `lastKey` is that of the last
 * registration, for browsers that hide a subscription's.
 */
function isUseful({ options, expirationTime }, key, lastKey) {
  const made = options?.applicationServerKey;
  return (made ? base64url(made) : lastKey) === key && !(expirationTime && expirationTime <= Date.now());
}

/** Rejects if the browser does not answer. The step's signal ends what still waits then. */
async function inTime(step) {
  const off = new AbortController();
  let timer;
  const late = new Promise((_, reject) => {
    const silent = () => reject(new Error('the browser or its push service does not answer'));
    timer = setTimeout(silent, BROWSER_TIMEOUT_MS);
  });
  try {
    return await Promise.race([step(off.signal), late]);
  } finally {
    clearTimeout(timer);
    off.abort();
  }
}

/** Only an active worker has a subscription. */
async function activated(registration, signal) {
  const worker = registration.active ?? registration.waiting ?? registration.installing;
  if (registration.active) return registration;
  await new Promise((resolve, reject) => {
    worker.addEventListener('statechange', () => {
      if (worker.state === 'activated') resolve(undefined);
      if (worker.state === 'redundant') reject(new Error('the service worker could not be installed'));
    }, { signal });
  });
  return registration;
}

export class WebPush extends EventTarget {
  #session;
  #env;
  #options;
  #name;
  #off = new AbortController();
  #key;
  #hasFailed = false;
  #done = Promise.resolve();

  constructor(session, options) {
    super();
    this.#session = session;
    this.#options = options;
    this.#env = surroundings(options.environment);
    this.#name = `reveille:webpush:${options.scope ?? options.worker}`;
    const on = (target, type, act) => target?.addEventListener?.(type, act, { signal: this.#off.signal });
    on(session, 'connection', ({ detail: { state, result } }) => {
      if (state === 'up' || state === 'resumed') this.#opened(result, state === 'up');
    });
    on(this.#env.page, 'storage', ({ key }) => key === this.#name && this.#tell());
    on(this.#env.serviceWorker, 'message', ({ data }) => data?.reveille === 'subscription' && this.#renew());
    if (session.state === 'open') session.opened().then((result) => this.#opened(result, true), () => {});
  }

  get isSupported() {
    const { serviceWorker, Notification, PushManager, isSecureContext } = this.#env;
    return Boolean(serviceWorker && Notification && PushManager && isSecureContext);
  }

  get isWanted() { return this.#stored().device === this.#session.deviceId; }

  get state() {
    if (!this.isSupported) return 'unsupported';
    if (this.#env.Notification.permission === 'denied') return 'blocked';
    if (!this.#key) return 'unavailable';
    return this.isWanted && !this.#hasFailed && this.#env.Notification.permission === 'granted' ? 'on' : 'off';
  }

  async switchOn() {
    if (!this.isSupported) throw fault('push_unsupported', 'this browser has no Web Push');
    // The browser asks only in the user's click.
    const permission = await this.#env.Notification.requestPermission();
    this.#tell();
    if (permission === 'default') {
      throw fault('push_blocked', 'the question was not answered', 'Press the switch again and allow notifications.');
    }
    if (permission !== 'granted') throw fault('push_blocked', 'notifications are not allowed');
    if (!this.#key) throw fault('push_unavailable', 'the server sends no Web Push');
    await this.#inTurn(async () => {
      this.#store(await this.#register());
    });
  }

  async switchOff() {
    // It may be on when what is under way is done.
    if (!this.isWanted) await this.#done;
    if (!this.isWanted) return;
    this.#store(undefined);
    this.#tell();
    await this.#inTurn(async () => {
      try {
        // In this order: the push service refuses the server's pushes even if the server hears nothing.
        await this.#unsubscribe();
      } finally {
        await this.#session.request('device.update', { push: [] });
      }
    });
  }

  #unsubscribe() {
    return inTime(async () => {
      const registration = await this.#env.serviceWorker.getRegistration(this.#options.scope ?? this.#options.worker);
      await (await registration?.pushManager.getSubscription())?.unsubscribe();
    });
  }

  async forget() {
    if (!this.isWanted) return;
    this.#store(undefined);
    this.#tell();
    await this.#inTurn(() => this.#unsubscribe());
  }

  close() { this.#off.abort(); }

  #opened({ webpush }, isNew) {
    this.#key = webpush?.key;
    this.#renew(isNew);
    this.#tell();
  }

  /**
   * Registers again: the key may be another, the subscription expired or lost with the permission, or, in a new
   * session, the server's token removed.
   */
  #renew(isNew = true) {
    if (!this.isWanted || !this.#key || !this.isSupported || this.#env.Notification.permission !== 'granted') return;
    this.#inTurn(async () => {
      const registered = await this.#register(isNew || this.#hasFailed ? undefined : this.#stored());
      if (this.isWanted) this.#store(registered);
    }).catch((error) => {
      this.dispatchEvent(new CustomEvent('problem', { detail: { error } }));
    });
  }

  /** `last` is a registration that the server still has. */
  async #register(last = undefined) {
    const key = this.#key;
    const subscription = await inTime((signal) => this.#subscribe(key, signal)).catch((error) => {
      throw fault(error.name === 'NotAllowedError' ? 'push_blocked' : 'push_failed', error.message);
    });
    const push = pushToken(subscription, key);
    if (last?.key !== key || last.token !== push.token) {
      await this.#session.request('device.update', { push: [push] }).catch((error) => this.#refused(subscription, error));
    }
    return { device: this.#session.deviceId, key, token: push.token };
  }

  /** The server takes no tokens of this browser's push service: what was on is off. */
  async #refused(subscription, error) {
    if (error.code !== 'invalid_params') throw error;
    this.#store(undefined);
    await inTime(() => subscription.unsubscribe()).catch(() => {});
    const what = `this server does not push to this browser’s push service, ${new URL(subscription.endpoint).host}`;
    throw Object.assign(fault('push_unavailable', what, NOT_PUSHED), { data: { refusal: error.message } });
  }

  async #subscribe(key, signal) {
    const { worker, scope } = this.#options;
    const registration = await this.#env.serviceWorker.register(worker, scope && { scope });
    const { pushManager } = await activated(registration, signal);
    const present = await pushManager.getSubscription();
    signal.throwIfAborted();
    if (present && isUseful(present, key, this.#stored().key)) return present;
    await present?.unsubscribe();
    return pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytesOf(key) });
  }

  async #inTurn(step) {
    const done = this.#done.then(step);
    this.#done = done.then(() => { this.#hasFailed = false; }, () => { this.#hasFailed = true; }).then(() => this.#tell());
    await done;
    await this.#done;
  }

  /** The last registration of this browser: `{ device, key, token }`, or none of these. */
  #stored() {
    try {
      return JSON.parse(this.#env.localStorage.getItem(this.#name)) ?? {};
    } catch {
      // Storage is forbidden: such a browser has no service workers either.
      return {};
    }
  }

  #store(registered) {
    try {
      if (registered) this.#env.localStorage.setItem(this.#name, JSON.stringify(registered));
      else this.#env.localStorage.removeItem(this.#name);
    } catch { /* As above. */ }
  }

  #tell() { this.dispatchEvent(new CustomEvent('change', { detail: { state: this.state } })); }
}
