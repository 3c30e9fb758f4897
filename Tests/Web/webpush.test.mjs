// Web Push in the library. Node.js has no push service: a subscription here has real keys, and a test is its browser.

import assert from 'node:assert/strict';
import { createECDH, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Harness, Storage, settle } from './harness.mjs';
import { WebPush, pushToken } from './library.mjs';

const publicKey = () => {
  const pair = createECDH('prime256v1');
  pair.generateKeys();
  return pair.getPublicKey();
};
const [KEY, OTHER_KEY] = [1, 2].map(() => publicKey().toString('base64url'));

class Subscription {
  isGone = false;
  keys = { p256dh: publicKey(), auth: randomBytes(16) };
  expirationTime = null;

  constructor(browser, key, number) {
    Object.assign(this, { browser, endpoint: `https://push.example.com/send/${number}?tenant=1` });
    this.options = { applicationServerKey: Uint8Array.from(key).buffer };
  }

  getKey(name) { return Uint8Array.from(this.keys[name]).buffer; }
  async unsubscribe() {
    this.isGone = true;
    if (this.browser.subscription === this) this.browser.subscription = null;
    return true;
  }
}

/** What a browser has for Web Push, for as many pages as a test opens. */
class PushBrowser {
  subscription = null;
  made = [];
  registered = [];
  localStorage = new Storage();
  isSecureContext = true;
  PushManager = class {};

  constructor({ answer = 'granted', permission = 'default' } = {}) {
    const browser = this;
    this.Notification = {
      permission,
      requestPermission: async () => {
        if (this.Notification.permission === 'default') this.Notification.permission = answer;
        return this.Notification.permission;
      },
    };
    const registration = this.registration = {
      active: { state: 'activated' },
      pushManager: {
        getSubscription: async () => browser.subscription,
        subscribe: async ({ userVisibleOnly, applicationServerKey }) => {
          if (browser.failure) throw browser.failure;
          if (browser.isSilent) await new Promise(() => {});
          assert.equal(userVisibleOnly, true);
          assert.equal(browser.subscription, null, 'a browser refuses a second key');
          browser.subscription = new Subscription(browser, applicationServerKey, browser.made.length);
          browser.made.push(browser.subscription);
          return browser.subscription;
        },
      },
    };
    this.serviceWorker = Object.assign(new EventTarget(), {
      register: async (worker) => { browser.registered.push(worker); return registration; },
      getRegistration: async () => registration,
    });
  }

  say(data) { this.serviceWorker.dispatchEvent(Object.assign(new Event('message'), { data })); }
}

async function page(browser, result = { webpush: { key: KEY } }, options = {}) {
  const h = new Harness(options);
  const push = new WebPush(h.session, { worker: 'worker.js', environment: { ...browser, page: undefined } });
  await h.reopen(result);
  return { h, push, browser };
}

const answered = new Set();

/** Answers the device.update that is under way, once it was sent. */
async function answer(h, outcome) {
  const sent = () => h.socket.sent.find((message) => message.method === 'device.update' && !answered.has(message));
  for (let tries = 0; tries < 20 && !sent(); tries += 1) await settle();
  const update = sent();
  assert.ok(update, 'no device.update was sent');
  answered.add(update);
  h.socket.says({ id: update.id, ...outcome });
  await settle();
}

const accept = (h) => answer(h, { result: {} });

const updates = (h) => h.requests().filter(({ method }) => method === 'device.update').map(({ params }) => params.push);

async function switchedOn(browser = new PushBrowser()) {
  const all = await page(browser);
  const done = all.push.switchOn();
  await accept(all.h);
  await done;
  return all;
}

test('a token has the form that the server reads', async () => {
  const { h, browser } = await switchedOn();
  const [[token]] = updates(h);
  assert.deepEqual(token, pushToken(browser.subscription, KEY));
  const { token: text, ...rest } = token;
  assert.deepEqual(rest, { provider: 'webpush', kind: 'data', environment: 'production', topic: KEY });
  const [endpoint, keys] = text.split('#');
  assert.equal(endpoint, browser.subscription.endpoint);
  const { p256dh, auth } = Object.fromEntries(new URLSearchParams(keys));
  assert.deepEqual([p256dh.length, auth.length, KEY.length], [87, 22, 87]);
  assert.deepEqual(Buffer.from(p256dh, 'base64url'), browser.subscription.keys.p256dh);
  assert.deepEqual(Buffer.from(auth, 'base64url'), browser.subscription.keys.auth);
  assert.deepEqual(Buffer.from(browser.subscription.options.applicationServerKey), Buffer.from(KEY, 'base64url'));
});

test('each state of the switch is told', async () => {
  const states = [];
  const { h, push, browser } = await page(new PushBrowser());
  push.addEventListener('change', ({ detail }) => { if (states.at(-1) !== detail.state) states.push(detail.state); });
  assert.equal(push.state, 'off');
  const done = push.switchOn();
  await accept(h);
  await done;
  assert.equal(push.state, 'on');
  const off = push.switchOff();
  await accept(h);
  await off;
  assert.deepEqual([push.state, browser.subscription, browser.made[0].isGone], ['off', null, true]);
  assert.deepEqual([updates(h).at(-1), states], [[], ['off', 'on', 'off']]);
  const bare = new PushBrowser();
  bare.PushManager = undefined;
  assert.equal((await page(bare)).push.state, 'unsupported');
  assert.equal((await page(new PushBrowser(), {})).push.state, 'unavailable');
  assert.equal((await page(new PushBrowser({ permission: 'denied' }))).push.state, 'blocked');
});

test('what cannot be switched on says why and what to do', async () => {
  const bare = new PushBrowser();
  bare.isSecureContext = false;
  const failing = new PushBrowser();
  failing.failure = Object.assign(new Error('push service error'), { name: 'AbortError' });
  for (const [code, browser, result] of [
    ['push_unsupported', bare], ['push_unavailable', new PushBrowser(), {}], ['push_failed', failing],
    ['push_blocked', new PushBrowser({ answer: 'denied' })],
  ]) {
    const { push } = await page(browser, result);
    const error = await push.switchOn().then(() => assert.fail(), (failure) => failure);
    assert.deepEqual([error.name, error.code, push.isWanted], ['ReveilleError', code, false]);
    assert.ok(error.whatToDo.length > 20);
    assert.notEqual(push.state, 'on');
  }
});

test('a question that was dismissed is asked again by the switch', async () => {
  const { push, browser } = await page(new PushBrowser({ answer: 'default' }));
  const error = await push.switchOn().then(() => assert.fail(), (failure) => failure);
  assert.deepEqual([error.code, push.state], ['push_blocked', 'off']);
  assert.match(error.whatToDo, /^Press the switch again and allow/);
  browser.Notification.permission = 'denied';
  assert.match((await push.switchOn().catch((failure) => failure)).whatToDo, /settings/);
});

test('a device whose session is gone removes its subscription, and another one’s stays', async () => {
  const { h, push, browser } = await switchedOn();
  const other = await page(browser, undefined, { deviceId: '00000000-0000-4000-8000-000000000099' });
  await other.push.forget();
  assert.ok(browser.subscription);
  h.socket.breaks(3506);
  await push.forget();
  assert.deepEqual([push.isWanted, push.state, browser.subscription, updates(h).length], [false, 'off', null, 1]);
});

test('a new session registers the same subscription again, over a reload too', async () => {
  const { h, browser } = await switchedOn();
  await h.loseAndReopen({ webpush: { key: KEY } });
  await accept(h);
  assert.deepEqual([updates(h).length, browser.made.length], [2, 1]);
  await h.loseAndReopen({ resumed: true, webpush: { key: KEY } });
  assert.equal(updates(h).length, 2, 'a resumed one is as it was');
  const again = await page(browser);
  await accept(again.h);
  assert.deepEqual([again.push.state, updates(again.h)], ['on', updates(h).slice(0, 1)]);
});

test('another key of the server, or an expired subscription, makes a new subscription', async () => {
  const { h, push, browser } = await switchedOn();
  await h.loseAndReopen({ webpush: { key: OTHER_KEY } });
  await accept(h);
  assert.deepEqual([browser.made.length, browser.made[0].isGone, updates(h).at(-1)[0].topic], [2, true, OTHER_KEY]);
  browser.subscription.expirationTime = Date.now() - 1;
  await h.loseAndReopen({ webpush: { key: OTHER_KEY } });
  await accept(h);
  assert.deepEqual([browser.made.length, push.state], [3, 'on']);
  assert.equal(updates(h).at(-1)[0].token, pushToken(browser.subscription, OTHER_KEY).token);
  browser.subscription = null;
  browser.say({ reveille: 'subscription' });
  await accept(h);
  assert.deepEqual([browser.made.length, updates(h).length], [4, 4], 'the worker says that it is gone');
});

test('a resumed session renews what was lost while it was away, and nothing else', async () => {
  const { h, push, browser } = await switchedOn();
  await h.loseAndReopen({ resumed: true, webpush: { key: OTHER_KEY } });
  await accept(h);
  assert.deepEqual([browser.made.length, updates(h).at(-1)[0].topic], [2, OTHER_KEY], 'another key');
  browser.subscription = null;
  await h.loseAndReopen({ resumed: true, webpush: { key: OTHER_KEY } });
  await accept(h);
  assert.equal(updates(h).at(-1)[0].token, pushToken(browser.subscription, OTHER_KEY).token, 'the permission was revoked');
  const again = await page(browser, { resumed: true, webpush: { key: OTHER_KEY } });
  for (let turns = 0; turns < 20; turns += 1) await settle();
  assert.deepEqual([updates(again.h), browser.made.length, push.state], [[], 3, 'on'], 'after a reload');
});

test('a subscription that hides its key is kept as long as the server has the same', async () => {
  const { h, browser } = await switchedOn();
  browser.subscription.options = {};
  await h.loseAndReopen({ webpush: { key: KEY } });
  await accept(h);
  assert.equal(browser.made.length, 1);
  await h.loseAndReopen({ webpush: { key: OTHER_KEY } });
  await accept(h);
  assert.deepEqual([browser.made.length, updates(h).at(-1)[0].topic], [2, OTHER_KEY]);
});

test('a renewal that fails is told, and is off until the next session', async () => {
  const { h, push, browser } = await switchedOn();
  browser.subscription = null;
  browser.failure = new Error('push service error');
  const told = new Promise((resolve) => { push.addEventListener('problem', resolve, { once: true }); });
  await h.loseAndReopen({ webpush: { key: KEY } });
  assert.equal((await told).detail.error.code, 'push_failed');
  assert.deepEqual([push.state, push.isWanted], ['off', true]);
  browser.failure = undefined;
  await h.loseAndReopen({ webpush: { key: KEY } });
  await accept(h);
  assert.equal(push.state, 'on');
});

test('a browser that forbids storage has no Web Push, and a session all the same', async (context) => {
  const before = Object.getOwnPropertyDescriptor(globalThis, 'localStorage');
  const get = () => { throw new DOMException('forbidden', 'SecurityError'); };
  Object.defineProperty(globalThis, 'localStorage', { configurable: true, get });
  context.after(() => (before ? Object.defineProperty(globalThis, 'localStorage', before) : delete globalThis.localStorage));
  const { localStorage, ...rest } = new PushBrowser();
  const { h, push } = await page(rest);
  assert.deepEqual([h.state, push.state, push.isWanted], ['open', 'off', false]);
});

test('a worker or a push service that does not answer is given up, and what comes after it goes on', async (context) => {
  const due = new Set();
  context.mock.method(globalThis, 'setTimeout', (act, time) => {
    assert.equal(time, 30_000);
    due.add(act);
    return act;
  });
  context.mock.method(globalThis, 'clearTimeout', (timer) => due.delete(timer));
  const wait = () => { for (const act of due) act(); };
  for (const silent of ['worker', 'push service']) {
    const { h, push, browser } = await page(new PushBrowser());
    const listeners = new Set();
    browser.isSilent = silent === 'push service';
    if (silent === 'worker') {
      const add = (type, act, { signal }) => {
        listeners.add(act);
        signal.addEventListener('abort', () => listeners.delete(act));
      };
      Object.assign(browser.registration, { active: null, installing: { state: 'installing', addEventListener: add } });
    }
    const failed = push.switchOn().then(() => assert.fail(), ({ code }) => code);
    const off = push.switchOff();
    await settle();
    assert.equal(listeners.size, silent === 'worker' ? 1 : 0);
    wait();
    assert.deepEqual([await failed, push.state, listeners.size], ['push_failed', 'off', 0], silent);
    await off;
    browser.isSilent = false;
    browser.registration.active = { state: 'activated' };
    const done = push.switchOn();
    await accept(h);
    await done;
    assert.equal(push.state, 'on');
    const leaving = push.switchOff();
    browser.subscription.unsubscribe = () => new Promise(() => {});
    const left = leaving.then(() => assert.fail(), (error) => error);
    await settle();
    wait();
    await accept(h);
    assert.deepEqual([(await left).message, updates(h).at(-1), push.state],
      ['the browser or its push service does not answer', [], 'off'], 'the server pushes no more all the same');
    assert.equal(due.size, 0);
  }
});

test('one device of a browser is on at a time', async () => {
  const { push, browser } = await switchedOn();
  const other = await page(browser, undefined, { deviceId: '00000000-0000-4000-8000-000000000099' });
  assert.equal(other.push.state, 'off');
  const done = other.push.switchOn();
  await accept(other.h);
  await done;
  assert.deepEqual([other.push.state, push.state, browser.made.length], ['on', 'off', 1]);
  await push.switchOff();
  assert.ok(browser.subscription, 'the switch of the first is no longer its own');
});

/** Refuses the device.update that is under way. */
async function refuse(h, code, message) {
  await answer(h, { error: { code: -32602, message, data: { code } } });
}

test('a server that does not push to the browser’s push service: it says so, and is off', async () => {
  const { h, push, browser } = await page(new PushBrowser());
  const done = assert.rejects(push.switchOn(), {
    code: 'push_unavailable', message: 'this server does not push to this browser’s push service, push.example.com',
    whatToDo: /push\.webpush\.hosts.*--push-sim/, data: { refusal: 'push[0].token: expected another push service' },
  });
  await refuse(h, 'invalid_params', 'push[0].token: expected another push service');
  await done;
  assert.deepEqual([push.state, push.isWanted, browser.subscription], ['off', false, null]);
});

test('one that pushes there no longer: the renewal switches off, and the next session asks no more', async () => {
  const { h, push, browser } = await switchedOn();
  const problems = [];
  push.addEventListener('problem', ({ detail }) => problems.push(detail.error.code));
  await h.loseAndReopen({ webpush: { key: KEY } });
  await refuse(h, 'invalid_params', 'push[0].token: expected another push service');
  assert.deepEqual([problems, push.state, push.isWanted, browser.subscription], [['push_unavailable'], 'off', false, null]);
  await h.loseAndReopen({ webpush: { key: KEY } });
  assert.equal(h.socket.sent.some(({ method }) => method === 'device.update'), false);
});

test('a refusal of another kind leaves it wanted', async () => {
  const { h, push, browser } = await switchedOn();
  await h.loseAndReopen({ webpush: { key: KEY } });
  await refuse(h, 'limit_reached', 'too many');
  assert.deepEqual([push.state, push.isWanted, browser.subscription !== null], ['off', true, true]);
});
