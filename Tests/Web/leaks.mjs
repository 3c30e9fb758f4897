#!/usr/bin/env node
// Many calls in a row leave nothing behind: in the pages no peer connection, track, listener, timer or memory, at the
// server no session and no call. Prints a line for each check. CALLS is the number of calls (200); each fifth has media.

import { join } from 'node:path';
import { Browser, serveFiles } from './browser.mjs';
import { check, finish, holds, pause, same } from './checks.mjs';
import { repository } from './library.mjs';
import { Server, until } from './server.mjs';

const calls = Number(process.env.CALLS ?? 200);
const EARLY = 20;
const MEDIA_EVERY = 5;
/** Code that the engine compiles later, and what it learns about types. */
const HEAP_TOLERANCE = 250_000;

/** Counts the timers that have been set and have neither fired nor been cleared. */
const COUNTING = `(() => {
  const timers = new Set();
  const { setTimeout: set, clearTimeout: clear, setInterval: repeat, clearInterval: end } = window;
  window.setTimeout = (act, ...rest) => {
    const id = set((...given) => { timers.delete(id); act(...given); }, ...rest);
    timers.add(id);
    return id;
  };
  window.clearTimeout = (id) => { timers.delete(id); clear(id); };
  window.setInterval = (...given) => { const id = repeat(...given); timers.add(id); return id; };
  window.clearInterval = (id) => { timers.delete(id); end(id); };
  window.timerCount = () => timers.size;
})();`;

/** How many objects of a class are alive, after a garbage collection. */
async function alive(tab, name) {
  const { result: prototype } = await tab.send('Runtime.evaluate', { expression: `${name}.prototype`, objectGroup: 'leaks' });
  const { objects } = await tab.send('Runtime.queryObjects', { prototypeObjectId: prototype.objectId, objectGroup: 'leaks' });
  const { result } = await tab.send('Runtime.callFunctionOn', {
    objectId: objects.objectId, returnByValue: true, functionDeclaration: `function () {
      return { all: this.length, live: this.filter(({ readyState, connectionState }) =>
        readyState === 'live' || (connectionState && connectionState !== 'closed')).length };
    }`,
  });
  await tab.send('Runtime.releaseObjectGroup', { objectGroup: 'leaks' });
  return result.value;
}

/** What a page keeps. */
async function measure(tab, classes) {
  const found = {};
  for (const name of classes) {
    const { all, live } = await alive(tab, name);
    found[name] = all;
    if (/^(RTC|Media)/.test(name)) found[`live ${name}`] = live;
  }
  for (let time = 0; time < 3; time += 1) await tab.send('HeapProfiler.collectGarbage');
  const { jsEventListeners, nodes } = await tab.send('Memory.getDOMCounters');
  const { usedSize } = await tab.send('Runtime.getHeapUsage');
  return { ...found, listeners: jsEventListeners, nodes, timers: await tab.run('timerCount()'), heap: usedSize };
}

/** Chromium 156 keeps a microphone's track, and what it belongs to, for some ten seconds after its end. */
async function measureCalm(tabs, classes) {
  const isCalm = async () => {
    for (const tab of tabs) if ((await alive(tab, 'MediaStreamTrack')).all > 0) return pause(500);
    return true;
  };
  // What is never released is found by the comparison.
  await until(isCalm, 'no track is alive', 20_000).catch(() => {});
  return Promise.all(tabs.map((tab) => measure(tab, classes)));
}

const grownIn = (early, late, tolerances) =>
  Object.keys(early).filter((name) => late[name] > early[name] + (tolerances[name] ?? 0));

function compare(early, late, tolerances) {
  const grown = grownIn(early, late, tolerances);
  const words = grown.map((name) => `${name} ${early[name]} → ${late[name]}`);
  holds(grown.length === 0, `grown: ${words.join(', ')}`);
  const change = (name) => `${name} ${early[name]} → ${late[name]}`;
  return ['RTCPeerConnection', 'listeners', 'timers'].map(change).join(', ')
    + `, heap ${Math.round(early.heap / 1000)} → ${Math.round(late.heap / 1000)} kB`;
}

const nothingLeft = (server) => until(() => server.ask('sessions', 'list').sessions.length === 0
  && server.ask('calls', 'list', '--live').calls.length === 0, 'no session and no live call at the server');

// The library

async function shortCall([ann, ben], hasMedia) {
  await ann.run(hasMedia ? `page.dial('ben')` : `page.invite('ben')`);
  const call = 'page.session.calls[0]';
  await ben.until(`${call}?.state === 'ringing' && ${hasMedia ? 'Boolean(page.media)' : 'true'}`);
  await ben.run(hasMedia ? 'page.answer()' : `${call}.answer({})`);
  if (!hasMedia) {
    for (const tab of [ann, ben]) {
      await tab.until(`${call}.state === 'answered'`);
      await tab.run(`${call}.connected()`);
    }
  }
  for (const tab of [ann, ben]) await tab.until(`${call}.state === 'connected'`);
  await (Math.random() < 0.5 ? ann : ben).run(`${call}.hangup()`);
  for (const tab of [ann, ben]) {
    await tab.until('page.session.calls.length === 0 && (page.media?.isClosed ?? true)');
    await tab.run('page.forget()');
  }
}

async function library() {
  const server = await Server.start();
  const files = await serveFiles(server);
  const tabs = [];
  for (const [user, frequency] of [['ann', 440], ['ben', 880]]) {
    const browser = await Browser.start(frequency);
    tabs.push(await browser.open(`${files.url}?plain&user=${user}`, { script: COUNTING }));
  }
  for (const tab of tabs) await tab.until(`page.session.state === 'open'`, 30_000);
  const classes = ['RTCPeerConnection', 'MediaStreamTrack', 'MediaStream', 'WebSocket', 'Call', 'Media'];
  const measures = () => measureCalm(tabs, classes);
  let early;
  let late;
  await check(`${calls} calls, ${Math.floor(calls / MEDIA_EVERY)} of them with media`, async () => {
    for (let number = 1; number <= calls; number += 1) {
      await shortCall(tabs, number % MEDIA_EVERY === 0);
      if (number === EARLY) early = await measures();
    }
    late = await measures();
  }, async () => {
    for (const tab of tabs) {
      console.log(`        ${await tab.run('JSON.stringify([page.session.state, page.session.calls.length, page.problems, page.log, page.events])')}`);
    }
  });
  for (const [index, name] of ['caller', 'callee'].entries()) {
    await check(`the ${name}'s page has kept nothing between call ${EARLY} and call ${calls}`, () => {
      same(late[index]['live MediaStreamTrack'], 0, 'live tracks');
      same(late[index]['live RTCPeerConnection'], 0, 'open peer connections');
      return compare(early[index], late[index], { heap: HEAP_TOLERANCE });
    });
  }
  await check('nothing went wrong on the way', async () => {
    same((await Promise.all(tabs.map((tab) => tab.run('page.problems')))).flat(), [], 'problems');
  });
  await check('no session and no call is left at the server', async () => {
    for (const tab of tabs) await tab.run('page.session.close()');
    await nothingLeft(server);
    same(server.ask('calls', 'list', '--limit', '10000').calls.length, calls, 'calls in the list');
  });
  for (const { browser } of tabs) await browser.stop();
  await server.stop();
}

// The softphone

const SHOWN = `window.shown = (selector) => [...document.querySelectorAll(selector)].find((found) => found.checkVisibility());`;

async function click(tab, selector) {
  const button = `shown(${JSON.stringify(selector)})`;
  await tab.until(`${button} && !${button}.disabled`);
  await tab.run(`${button}.click()`);
}

async function signIn(tab, name) {
  await tab.until(`shown('#name')`);
  await tab.run(`shown('#name').value = '${name}'`);
  await click(tab, '#by-name button');
  await tab.until(`/^online/.test(shown('#status').innerText)`);
}

async function phoneCall([alice, bob]) {
  await alice.run(`shown('#number').value = 'bob'`);
  await click(alice, '#dial-call');
  await click(bob, '.ring .plain');
  for (const tab of [alice, bob]) await tab.until(`/^Connected$/.test(shown('#state')?.innerText)`);
  await click(alice, '#hang-up');
  for (const tab of [alice, bob]) await tab.until(`!shown('#controls')`);
}

/** Calls between one sign-in and the next sign-out. What is left then is the page's alone. */
async function round(tabs, count) {
  for (const [index, name] of ['alice', 'bob'].entries()) await signIn(tabs[index], name);
  for (let number = 0; number < count; number += 1) await phoneCall(tabs);
  for (const tab of tabs) {
    await click(tab, '#sign-out');
    await tab.until(`shown('#name')`);
  }
  // The history is loaded again a while after each call.
  await pause(2_500);
}

async function softphone() {
  const server = await Server.start('--sign-in-by-name', '--web-root', join(repository, 'Resources/web'));
  const browser = await Browser.start();
  const url = `${server.url.replace(/^ws/, 'http')}/phone/${server.fragment()}`;
  const tabs = [];
  for (let index = 0; index < 2; index += 1) tabs.push(await browser.open(url, { script: SHOWN + COUNTING }));
  let early;
  let late;
  await check('the softphone: 4 calls, a sign-out, then 12 calls and a sign-out', async () => {
    const classes = ['RTCPeerConnection', 'MediaStreamTrack', 'MediaStream', 'WebSocket'];
    await round(tabs, 4);
    early = await measureCalm(tabs, classes);
    await round(tabs, 12);
    late = await measureCalm(tabs, classes);
    const grown = tabs.flatMap((_, index) => grownIn(early[index], late[index], { heap: HEAP_TOLERANCE }));
    if (grown.length === 0) return '';
    // A node that the page makes once and keeps may have come late. What is kept of each call grows again.
    early = late;
    await round(tabs, 12);
    late = await measureCalm(tabs, classes);
    return `12 more calls, because of ${grown.join(', ')}`;
  });
  for (const [index, name] of ['caller', 'callee'].entries()) {
    await check(`the ${name}'s softphone has kept nothing after the sign-out`, () => {
      same(late[index]['live MediaStreamTrack'], 0, 'live tracks');
      return compare(early[index], late[index], { heap: HEAP_TOLERANCE });
    });
  }
  await check('the softphones leave no session and no call at the server', async () => { await nothingLeft(server); });
}

await library();
await softphone();
finish();
