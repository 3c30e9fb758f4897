#!/usr/bin/env node
// Calls that are pushed to the softphone while its page is closed: its service worker in Chromium, against a real server.
// Chromium subscribes only at Google, so the page's PushManager subscribes at the push simulator, with the server's key.
// The simulator checks and decrypts what the server sends, and DevTools hand it to the worker. Some contents are changed
// on that last part of the way. Prints a line for each check. SCREENSHOTS names a folder for pictures.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Browser } from './browser.mjs';
import { check, finish, holds, same } from './checks.mjs';
import { repository } from './library.mjs';
import { Page } from './phone-page.mjs';
import { PushSimulator, Server, until } from './server.mjs';

// Many calls in half a minute.
process.env.REVEILLE_LIMITS_PUSHING_CALLS_PER_PAIR = '100';
process.env.REVEILLE_LIMITS_PUSHES_PER_DEVICE = '100';
const server = await Server.prepare('--sign-in-by-name', '--push-sim', '--web-root', join(repository, 'Resources/web'));
const simulator = await PushSimulator.start(server.data);
await server.run();

/** The pushes that have come to this browser, the oldest first. */
const arrived = [];
/** By the endpoint. */
const subscriptions = new Map();

/** The browser's side of the push service. */
async function pushService({ subscribe: key, unsubscribe: endpoint }) {
  // One of another service's is unknown here.
  if (endpoint) return void await subscriptions.get(endpoint)?.end();
  const subscription = await simulator.subscribe(key, 'Chromium', (push) => arrived.push(push));
  const { token } = subscription.token;
  subscriptions.set(token.split('#')[0], subscription);
  return token;
}

/** A browser keeps one subscription for a worker. */
const SUBSCRIBER = `
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0)).buffer;
  const KEY = 'test:subscribed';
  const subscription = () => {
    const { key, token } = JSON.parse(localStorage[KEY]);
    const [endpoint, keys] = token.split('#');
    return {
      endpoint, options: { applicationServerKey: bytes(key) }, expirationTime: null,
      getKey: (name) => bytes(new URLSearchParams(keys).get(name)),
      unsubscribe: async () => {
        delete localStorage[KEY];
        await pushService({ unsubscribe: endpoint });
        return true;
      },
    };
  };
  PushManager.prototype.getSubscription = async () => (localStorage[KEY] ? subscription() : null);
  PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
    await window.hold;
    const key = btoa(String.fromCharCode(...applicationServerKey)).replace(/\\+/g, '-').replace(/\\//g, '_').replace(/=+$/, '');
    localStorage[KEY] = JSON.stringify({ key, token: await pushService({ subscribe: key }) });
    return subscription();
  };
  window.updates = [];
  const { send } = WebSocket.prototype;
  WebSocket.prototype.send = function(text) {
    const { method, params } = JSON.parse(text);
    if (method === 'device.update') updates.push(params.push);
    send.call(this, text);
  };`;

/** What the browser has for the pushes of whoever is signed in. */
const KEPT = `Object.keys(localStorage).filter((name) => /subscribed|remembered|webpush/.test(name)).sort().join()`;

const origin = server.url.replace(/^ws/, 'http');
const pages = [];
let browser;
let alice;
let bob;
let worker;
let registrationId;

async function open(path, { of = server, script = '' } = {}) {
  const fragment = path.startsWith('#user=') ? of.fragment(path.slice(1)) : path;
  const page = await Page.open(browser, `${of.url.replace(/^ws/, 'http')}/phone/${fragment}`, { functions: { pushService }, script: SUBSCRIBER + script });
  pages.push(page);
  return page;
}

async function close(page) {
  faults.push(...await page.run('window.faults ?? []'));
  pages.splice(pages.indexOf(page), 1);
  await browser.close(page.tab);
}
const faults = [];

const deliver = (push) => alice.tab.send('ServiceWorker.deliverPushMessage', {
  origin, registrationId, data: typeof push === 'string' ? push : JSON.stringify(push),
});

/** The content of the next push after `act`. */
async function contentAfter(act) {
  const { length } = arrived;
  await act();
  await until(() => arrived.length > length).catch(async () => {
    const counts = JSON.stringify(await simulator.counts());
    throw new Error(`no push has come: ${counts}; the page of alice says: ${await alice.everything()}`);
  });
  return arrived[length].content;
}

/** Alice calls, and the server pushes. */
async function pushed() {
  const content = await contentAfter(() => alice.dial('bob'));
  await alice.says('#state', /^Waking the phone of bob/);
  return content;
}

const shown = () => worker.run(`serialize(() => registration.getNotifications()).then((all) => all.map(({ title, body, tag, actions, data }) =>
  ({ title, body, tag, actions: actions.map(({ action }) => action), isMissed: data?.isMissed })))`);

/** Waits for a notification, and reports it to the simulator as the browser does. */
async function shows(title, tag) {
  let all;
  const found = await until(async () => {
    all = await shown();
    return all.find((one) => title.test(one.title) && (!tag || one.tag === tag));
  }, title.source).catch(() => { throw new Error(`${title} is not shown, but ${JSON.stringify(all)}`); });
  for (const push of arrived.filter(({ content, isShown }) => content.uuid === found.tag && !isShown)) {
    push.isShown = true;
    same(await push.show({ title: found.title, body: found.body, tag: found.tag }), 'accepted', 'the push service’s verdict');
  }
  return found;
}

const closeAll = () => worker.run('serialize(() => registration.getNotifications()).then((all) => all.forEach((one) => one.close()))');
const vanished = () => until(async () => (await shown()).length === 0, 'no notification');

/** A click, as the worker hears of it. The worker may open a page only in a real one: \`opened\` is what it asks for. */
const click = (action = '') => worker.run(`(async () => {
  self.opened = undefined;
  clients.openWindow = async (url) => { self.opened = new URL(url, location.href).href; };
  const [notification] = await registration.getNotifications();
  dispatchEvent(new NotificationEvent('notificationclick', { notification, action: '${action}' }));
})()`);

async function hangUp() {
  await alice.click('#hang-up');
  await alice.until(`!shown('#controls')`);
}

async function settings(page) {
  await page.click('#open-devices');
  await page.until(`shown('#push')`);
}

async function switchOn(page) {
  await page.says('#status', /^online/);
  await settings(page);
  await page.click('#push');
  await page.says('#push-note', /^On\./);
}

async function theSwitch() {
  await check('the settings say why it cannot be switched on: the server, the browser, the user', async () => {
    const plain = await Server.start('--sign-in-by-name', '--web-root', join(repository, 'Resources/web'));
    for (const [name, options, pattern] of [
      ['unavailable', { of: plain }, /^This server cannot do that\. Its operator/],
      ['unsupported', { script: 'delete window.PushManager;' }, /^This browser cannot do that\. On an iPhone/],
      ['blocked', { script: `Object.defineProperty(Notification, 'permission', { get: () => 'denied' });` },
        /^The browser blocks the notifications of this page\. Allow them/],
      ['connecting', { script: 'window.WebSocket = class { close() {} };' }, /^Connecting…$/],
    ]) {
      const page = await open('#user=carol', options);
      await page.says('#status', name === 'connecting' ? /^connecting/ : /^online/);
      await settings(page);
      await page.says('#push-note', pattern);
      if (!await page.run(`shown('#push').disabled`)) throw new Error(`${name}: it can be switched on`);
      await page.picture(`push-${name}`);
      await close(page);
    }
  });
  await check('a server that does not push to this browser: it says so where it is seen in a low window, and switches off', async () => {
    // As of Chromium, whose push service is not the simulator.
    const page = await open('#user=carol', { script: `
      const { subscribe } = PushManager.prototype;
      PushManager.prototype.subscribe = async function(options) {
        await subscribe.call(this, options);
        localStorage[KEY] = localStorage[KEY].replace(/https:\\/\\/[^:/]+/, 'https://push.example.com');
        return subscription();
      };` });
    await page.tab.size(900, 640);
    await page.says('#status', /^online/);
    await settings(page);
    await page.click('#push');
    const pattern = /^That failed: this server does not push to this browser’s push service, push\.example\.com:\d+\. Allow it/;
    await page.says('#push-fault', pattern);
    const [bottom, edge] = await page.run(`['push-fault', 'devices'].map((id) => document.getElementById(id).getBoundingClientRect().bottom)`);
    if (bottom > Math.min(edge, 640)) throw new Error(`it ends at ${bottom}, and the dialog at ${edge}`);
    same([await page.run(`shown('#push').ariaChecked`), await page.run(KEPT)], ['false', ''], 'the switch, kept');
    await page.tab.save('push-refused');
    await close(page);
  });
  await check('the page can be put on a home screen, where an iPhone takes pushes', async () => {
    const { url, errors, data } = await alice.tab.send('Page.getAppManifest');
    if (errors.length > 0 || JSON.parse(data).display !== 'standalone') throw new Error(`${url} ${JSON.stringify(errors)}`);
    const { installabilityErrors } = await alice.tab.send('Page.getInstallabilityErrors');
    same(installabilityErrors.map(({ errorId }) => errorId).filter((id) => id !== 'in-incognito'), [], 'what is missing');
  });
  await check('signing out removes the registration, at the server, in the browser and in the page', async () => {
    const page = await open('#user=dave');
    await switchOn(page);
    same(await page.run(KEPT), 'reveille:phone:remembered,reveille:webpush:worker.js,test:subscribed', 'kept');
    await page.run(`document.querySelector('#sign-out').click()`);
    await page.says('#sign-in', /Sign in/);
    same([await page.run(KEPT), (await page.run('updates')).map(({ length }) => length)], ['', [1, 0]], 'kept, told');
    await close(page);
  });
  await check('who signs out while it is being switched on leaves nothing to the next user', async () => {
    const page = await open('#user=dave');
    await page.says('#status', /^online/);
    await settings(page);
    await page.run('window.hold = new Promise((resolve) => { window.release = resolve; }); 0');
    await page.click('#push');
    await page.says('#push-note', /^One moment/);
    await page.run(`document.querySelector('#sign-out').click()`);
    await page.until(`shown('#name')`);
    await page.run(`document.querySelector('#close-devices').click()`);
    await page.signIn('erin');
    await settings(page);
    await page.says('#push-note', /^Now this page/);
    await page.run('release()');
    await page.until(`localStorage['test:subscribed']`);
    await page.click('#push');
    await page.says('#push-note', /^On\./);
    same(await page.run(`JSON.parse(localStorage['reveille:phone:remembered']).user`), 'erin', 'remembered');
    const id = await page.run(`JSON.parse(localStorage['reveille:phone:device:erin'])`);
    server.say('devices', 'delete', 'erin', id);
    await page.says('#sign-in-fault', /^This phone was signed out by the server/);
    same(await page.run(KEPT), '', 'kept after an administrator has signed it out');
    await close(page);
  });
  await check('it is switched on, by the keyboard too, and stays on when the page is loaded again', async () => {
    bob = await open('#user=bob');
    await bob.says('#status', /^online/);
    await settings(bob);
    await bob.says('#push-note', /^Now this page rings only while it is open/);
    await bob.picture('push-off');
    await bob.tabTo('#push');
    await bob.run('window.hold = new Promise((resolve) => { window.release = resolve; }); 0');
    await bob.key(' ');
    await bob.says('#push-note', /^One moment/);
    same(await bob.run('[document.activeElement.id, document.activeElement.ariaDisabled]'), ['push', 'true'], 'while it is busy');
    await bob.run('release()');
    await bob.says('#push-note', /^On\. A notification shows each call/);
    same(await bob.run('[document.activeElement.id, document.activeElement.ariaDisabled]'), ['push', 'false'], 'the focus');
    await bob.picture('push-on');
    await bob.click('#push');
    await bob.says('#push-note', /^Now this page/);
    await bob.click('#push');
    await bob.says('#push-note', /^On\./);
    const [on, off, again] = await bob.run('updates');
    if (off.length !== 0 || again[0].token === on[0].token) throw new Error(JSON.stringify([on, off, again]));
    const [{ provider, topic, token }] = on;
    if (provider !== 'webpush' || topic.length !== 87 || !/#p256dh=[\w-]{87}&auth=[\w-]{22}$/.test(token)) throw new Error(token);
    await bob.reload();
    await bob.says('#ready-lead', /While it is closed, a notification tells you/);
    await bob.picture('push-ready');
  });
}

async function attachWorker() {
  const found = new Promise((resolve) => {
    browser.on('ServiceWorker.workerRegistrationUpdated', ({ registrations }) => {
      const own = registrations.find(({ scopeURL }) => scopeURL === `${origin}/phone/`);
      if (own) resolve(own.registrationId);
    });
  });
  await alice.tab.send('ServiceWorker.enable');
  registrationId = await found;
  await alice.tab.send('ServiceWorker.startWorker', { scopeURL: `${origin}/phone/` });
  const [target] = await until(async () => {
    const all = await browser.targets('service_worker');
    return all.length > 0 && all;
  }, 'the worker runs');
  worker = await browser.attach(target.targetId);
}

async function theWorker() {
  await check('a push shows the call, and the server’s ledger has each step', async () => {
    const push = await pushed();
    same([push.handle, typeof push.expires_at, push.has_video], ['alice', 'number', false], 'what the push says');
    await deliver(push);
    const { body, actions } = await shows(/^alice calls$/, push.uuid);
    if (body !== 'Incoming call' || actions.join() !== 'answer,decline') throw new Error(`${body} ${actions}`);
    await alice.says('#state', /^It rings/);
    const ledger = await until(() => {
      const { push: entry } = server.ask('pushes', 'show', push.push_id);
      return entry.answered_at && entry;
    }, 'the answer of the push service');
    const { status, report, token: { provider, topic } } = ledger;
    const key = readFileSync(join(server.data, 'webpush.pub'), 'utf8').trim();
    same([status, report, provider, topic], ['accepted', 'reported', 'webpush', key], 'the ledger');
    const times = ['intended', 'sent', 'answered', 'reported'].map((step) => ledger[`${step}_at`].ms);
    const [intended, sent, answered, reported] = times;
    holds(intended <= sent && sent <= answered && sent <= reported, `the order of ${times}`);
  });
  await check('“Decline” declines', async () => {
    await click('decline');
    await alice.says('#state', /^bob declined after/);
    await vanished();
  });
  await check('the event of a push ends while the call rings, and a second delivery shows nothing more', async () => {
    const push = await pushed();
    await worker.run(`(async () => {
      const event = new PushEvent('push', { data: ${JSON.stringify(JSON.stringify(push))} });
      let done;
      event.waitUntil = (step) => { done = step; };
      dispatchEvent(event);
      await done;
    })()`);
    await alice.says('#state', /^It rings/);
    await deliver(push);
    await shows(/^alice calls$/, push.uuid);
    same((await shown()).length, 1, 'notifications');
    await hangUp();
    await shows(/^Missed call from alice$/, push.uuid);
    await closeAll();
  });
  await check('a call that neither the server nor its push knows the end of is shown as missed in the end', async () => {
    await worker.run(`(async () => {
      const push = { uuid: crypto.randomUUID(), handle: 'alice', wake_token: 'none' };
      await showCall(push);
      follow(push, undefined);
      self.now = Date.now;
      Date.now = () => now() + 130_000;
    })()`);
    await shows(/^Missed call from alice$/);
    const [data] = await worker.run('registration.getNotifications().then((all) => all.map((one) => one.data))');
    same(Object.keys(data).sort(), ['isMissed', 'uuid'], 'what a missed call keeps');
    await worker.run('Date.now = now, 0');
    await closeAll();
  });
  await check('“Declined” is repeated to a busy server, and told if it cannot be said', async () => {
    await deliver(await pushed());
    await shows(/^alice calls$/);
    const answerOnce = (status, headers) => worker.run(`(() => {
      const { fetch } = self;
      self.fetch = async () => {
        self.fetch = fetch;
        return new Response('', { status: ${status}, headers: ${JSON.stringify(headers)} });
      };
    })()`);
    await answerOnce(401, {});
    await click('decline');
    const { body } = await shows(/^alice calls$/);
    same(body, 'The call could not be declined: the server answered with 401.', 'it says');
    await answerOnce(429, { 'retry-after': '2' });
    await click('decline');
    await alice.says('#state', /^bob declined after/);
    await closeAll();
  });
  await check('a call that is given up is a missed call', async () => {
    const push = await pushed();
    await deliver(push);
    await shows(/^alice calls$/);
    await hangUp();
    const { isMissed, actions } = await shows(/^Missed call from alice$/, push.uuid);
    if (!isMissed || actions.length > 0 || (await shown()).length !== 1) throw new Error(JSON.stringify(await shown()));
    await click();
    await until(() => worker.run('opened'), 'a page is asked for');
    if (await worker.run('opened') !== `${origin}/phone/`) throw new Error(await worker.run('opened'));
  });
  await check('a push that comes too late shows a missed call, and is reported', async () => {
    const push = await pushed();
    await hangUp();
    await deliver(push);
    await shows(/^Missed call from alice$/, push.uuid);
    const report = () => server.say('pushes', 'show', push.push_id);
    await until(() => /^report +reported/m.test(report()), 'the report').catch(() => { throw new Error(report()); });
    await closeAll();
  });
  await check('by a clock that is 5 minutes fast or slow the call is shown, also before the server’s answer', async () => {
    for (const ahead of [300_000, -300_000]) {
      const push = await pushed();
      await worker.run(`Object.assign(self, { now: Date.now, answering: fetch, fetch: async () => { throw new Error('cut'); } }),
        Date.now = () => now() + ${ahead}, 0`);
      await deliver(push);
      await shows(/^alice calls$/, push.uuid);
      await worker.run('self.fetch = answering, 0');
      await hangUp();
      await shows(/^Missed call from alice$/, push.uuid);
      await worker.run('Date.now = now, 0');
      await closeAll();
    }
  });
  await check('the server’s own notice of a missed call takes the place of the call', async () => {
    await closeAll();
    server.say('users', 'set', 'bob', '--missed-calls', 'alert');
    const push = await pushed();
    await deliver(push);
    await shows(/^alice calls$/, push.uuid);
    const notice = await contentAfter(hangUp);
    server.say('users', 'set', 'bob', '--missed-calls', 'off');
    same([notice.type, notice.uuid], ['missed_call', push.uuid], 'the notice');
    await deliver(notice);
    const text = `You have ${notice.missed} missed calls.`;
    await until(async () => (await shown()).some(({ body }) => body === text), text);
    await shows(/^Missed call from alice$/, push.uuid);
    same((await shown()).length, 1, 'notifications');
    await closeAll();
  });
  await check('a push that the browser may not show is reported as such', async () => {
    const push = await pushed();
    const allow = (setting) => browser.send('Browser.setPermission', { origin, permission: { name: 'notifications' }, setting });
    await allow('denied');
    await deliver(push);
    const report = () => server.say('pushes', 'show', push.push_id);
    await until(() => /^report +filtered/m.test(report()), 'the report').catch(() => { throw new Error(report()); });
    await allow('granted');
    await hangUp();
  });
  await check('a push that cannot be read shows a notification all the same', async () => {
    await deliver('{');
    await shows(/^Reveille phone$/);
    await closeAll();
  });
}

async function thePage() {
  await check('a click opens a page that is signed in and shows the call', async () => {
    const push = await pushed();
    await deliver(push);
    await shows(/^alice calls$/);
    await click();
    const address = await until(() => worker.run('opened'), 'a page is asked for');
    bob = await open(address.slice(`${origin}/phone/`.length));
    await bob.says('.ring h2', /^alice$/);
    await bob.says('#status', /^online/);
    if (await bob.run('location.hash')) throw new Error('the token stays in the address');
    await bob.picture('push-opened');
    await bob.answer();
    await Promise.all([alice.talks(), bob.talks()]);
    await vanished();
    await hangUp();
  });
  await check('“Answer” opens a page that answers', async () => {
    await close(bob);
    await deliver(await pushed());
    await shows(/^alice calls$/);
    await click('answer');
    const address = await until(() => worker.run('opened'), 'a page is asked for');
    bob = await open(address.slice(`${origin}/phone/`.length));
    await Promise.all([alice.talks(), bob.talks()]);
    await hangUp();
  });
  await check('a link answers no call, whoever knows its id', async () => {
    await close(bob);
    const { uuid } = await pushed();
    for (const words of [`clicked=${uuid}`, `of=${uuid}&answer=now`]) {
      bob = await open(`#${words}`);
      await bob.says('.ring h2', /^alice$/);
      await alice.says('#state', /^It rings/);
      await bob.reload();
      await bob.run(`location.hash = '${words}&again'`);
      await bob.until('!location.hash');
      await bob.says('.ring h2', /^alice$/);
      await alice.says('#state', /^It rings/);
      if (words.startsWith('clicked')) await close(bob);
    }
    await hangUp();
    await bob.until(`!shown('.ring')`);
  });
  await check('“Answer” while a page is open answers there', async () => {
    await alice.dial('bob');
    await bob.says('.ring h2', /^alice$/);
    const id = await bob.run(`document.querySelector('.ring').dataset.key`);
    await worker.run(`showCall({ uuid: '${id}', handle: 'alice' })`);
    await click('answer');
    await Promise.all([alice.talks(), bob.talks()]);
    if (await worker.run('opened')) throw new Error('another page was opened');
    await hangUp();
  });
  await check('a call that is over when the page opens is told', async () => {
    await close(bob);
    const push = await pushed();
    await deliver(push);
    await shows(/^alice calls$/);
    await click('answer');
    const address = await until(() => worker.run('opened'), 'a page is asked for');
    await hangUp();
    bob = await open(address.slice(`${origin}/phone/`.length));
    await bob.says('.notice', /^The call of the notification is over\.$/);
    await bob.run(`document.querySelector('#sign-out').click()`);
    await bob.says('#sign-in', /Sign in/);
    await close(bob);
  });
  for (const [kind, exp] of [['has expired', 1], ['is refused', 4_000_000_000]]) await wokenPage(kind, exp);
}

async function theSubscription() {
  await check('a subscription that the browser takes away is made and registered anew by the tab that has the session', async () => {
    const page = await open('#user=frank');
    await switchOn(page);
    const other = await open('');
    await other.says('#status', /^open in another tab/);
    await settings(other);
    await other.says('#push-note', /^The phone is open in another tab\. Use the switch there\.$/);
    await page.run(`delete localStorage['test:subscribed']`);
    await worker.run(`dispatchEvent(new ExtendableEvent('pushsubscriptionchange')), 0`);
    await page.until(`updates.length === 2 && localStorage['test:subscribed']`);
    same(await other.run('updates'), [], 'what the other tab told the server');
    for (const tab of [other, page]) await close(tab);
  });
}

async function wokenPage(kind, exp) {
  await check(`whose own token ${kind} is signed in by the push, for that call only, though a tab that is frozen has the session`, async () => {
    // Signing out has ended the subscription.
    bob = await open('#user=bob');
    await switchOn(bob);
    await close(bob);
    const old = ['{}', JSON.stringify({ sub: 'bob', exp }), ''].map((part) => Buffer.from(part).toString('base64url')).join('.');
    const remembered = JSON.stringify({ user: 'bob', token: old, isByName: false });
    await alice.run(`localStorage['reveille:phone:remembered'] = ${JSON.stringify(remembered)}`);
    const device = await alice.run(`JSON.parse(localStorage['reveille:phone:device:bob'])`);
    const name = `reveille:${server.url}/:${device}`;
    await alice.run(`void navigator.locks.request('${name}', () => new Promise(() => {})).catch(() => {})`);
    await alice.until(`navigator.locks.query().then(({ held }) => held.some(({ name }) => name === '${name}'))`);
    await deliver(await pushed());
    await shows(/^alice calls$/);
    await click('answer');
    const address = await until(() => worker.run('opened'), 'a page is asked for');
    bob = await open(address.slice(`${origin}/phone/`.length));
    await Promise.all([alice.talks(), bob.talks()]);
    await bob.says('#status', /^signed in for this call only$/);
    await bob.reload();
    await Promise.all([alice.talks(), bob.talks()]);
    await hangUp();
    await bob.says('#state', /^bob answered after|^alice hung up/);
    await settings(bob);
    await bob.says('#push-note', /^A notification signed you in for one call\. Sign out, and in again, first\.$/);
    await bob.picture('push-woken');
    await bob.run(`document.querySelector('#sign-out').click()`);
    await bob.says('#sign-in', /Sign in/);
    same(await bob.run(KEPT), '', 'kept after the user has signed out');
  });
}

browser = await Browser.start(440);
await browser.send('Browser.grantPermissions', { origin, permissions: ['notifications', 'audioCapture', 'videoCapture'] });
alice = await open('#user=alice');
await alice.says('#status', /^online/);
await theSwitch();
await close(bob);
await attachWorker();
await theWorker();
await thePage();
await theSubscription();
await check('the push service has refused, dropped and revoked nothing', async () => {
  const { rejected, dropped, revoked, delivered } = await simulator.counts();
  same([rejected, dropped, revoked, delivered], [{}, {}, 0, arrived.length], 'its counts');
});
await check('no page has an error, an unhandled rejection, or breaks its policy', async () => {
  for (const page of [...pages]) faults.push(...await page.run('window.faults ?? []'));
  if (faults.length > 0) throw new Error(faults.join('; '));
});
finish();
