#!/usr/bin/env node
// What keeps a user from calling, and that the library, the softphone and the board each say what to do: a wrong token, no
// microphone, an insecure page, a server that is away, a browser that lacks something. Prints a line for each check.

import { join } from 'node:path';
import { Browser, serveFiles } from './browser.mjs';
import { check, finish, holds, same } from './checks.mjs';
import { repository } from './library.mjs';
import { acceptLink } from './phone-page.mjs';
import { BoardServer, until } from './server.mjs';

const server = await BoardServer.start('--sign-in-by-name', '--web-root', join(repository, 'Resources/web'));
const files = await serveFiles(server);
const browser = await Browser.start();
const phoneURL = `${server.url.replace(/^ws/, 'http')}/phone/`;
const SHOWN = `window.shown = (selector) => [...document.querySelectorAll(selector)].find((found) => found.checkVisibility());
  window.pageFaults = [];
  for (const type of ['error', 'unhandledrejection']) addEventListener(type, (event) => pageFaults.push(String(event.message ?? event.reason?.stack)));`;

/** A page of the library; `script` takes something away first. */
async function library(user, { script = '', url = files.url, from = browser } = {}) {
  const tab = await from.open(`${url}?user=${user}`, { script: SHOWN + script, isApart: true });
  await tab.until('Boolean(window.page)');
  return tab;
}

/** What a promise of the library is rejected with: `{ code, whatToDo, message }`. */
const refusal = (tab, expression) => tab.run(`(${expression}).then((value) => ({ code: 'no error', whatToDo: String(value) }),
  ({ name, code, whatToDo, message }) => ({ name, code, whatToDo, message }))`);

async function refused(tab, expression, code, whatToDo) {
  const found = await refusal(tab, expression);
  same([found.name, found.code], ['ReveilleError', code], `${expression} (${found.message})`);
  holds(whatToDo.test(found.whatToDo), `it says “${found.whatToDo}”, not ${whatToDo}`);
  return found.whatToDo;
}

async function phone({ script = '', url = phoneURL, hash = '', from = browser, isApart = true } = {}) {
  const fragment = url === phoneURL ? server.fragment(hash.slice(1)) : hash;
  const tab = await from.open(url + fragment, { script: SHOWN + script, isApart, size: [1600, 900] });
  await acceptLink(tab, hash);
  return tab;
}

/** Waits until a shown element has a text. */
async function says(tab, selector, pattern) {
  let text = '';
  await until(async () => {
    text = await tab.run(`(shown(${JSON.stringify(selector)})?.innerText ?? '').replace(/\\s+/g, ' ').trim()`).catch(() => '');
    return pattern.test(text);
  }, '', 15_000).catch(async () => {
    const all = await tab.run('document.body.innerText.slice(0, 500)').catch(() => '');
    throw new Error(`${selector} says “${text}”, not ${pattern}; the page says: ${all.replace(/\s+/g, ' ')}`);
  });
  return text;
}

async function dial(tab, name) {
  await tab.run(`shown('#number').value = '${name}'`);
  await tab.run(`shown('#dial-call').click()`);
}

const MICROPHONE = (error) => `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('no', '${error}'));`;

async function tokens() {
  await check('library: a wrong token ends the session with “sign in again”, for all that wait', async () => {
    const tab = await library('ann');
    await tab.until(`page.session.state === 'open'`);
    await tab.run(`(() => {
      window.bad = new Session({ url: page.session.options.url, token: () => 'a.wrong.token', deviceId: crypto.randomUUID() });
      window.waits = bad.opened(); waits.catch(() => {});
      window.invites = bad.invite('ben'); invites.catch(() => {});
      window.gone = new Promise((resolve) => bad.addEventListener('connection', ({ detail }) => detail.state === 'gone' && resolve(detail.error)));
      bad.start();
    })()`);
    const words = await refused(tab, 'waits', 'gone', /^Sign in again, then start the session again\.$/);
    await refused(tab, 'invites', 'gone', /^Sign in again/);
    await refused(tab, `bad.request('call.list')`, 'gone', /^Sign in again/);
    await refused(tab, 'bad.opened()', 'gone', /^Sign in again/);
    holds(await tab.run(`gone.then(({ whatToDo }) => /^Sign in again/.test(whatToDo)) `), 'the event says nothing');
    same(await tab.run('bad.state'), 'gone', 'state');
    await tab.close();
    return words;
  });
}

async function microphones() {
  for (const [error, code, library_, softphone] of [
    ['NotAllowedError', 'media_denied', /^Allow the microphone/, /does not let this page use the microphone\. Press the symbol/],
    ['NotFoundError', 'media_missing', /^Plug in a microphone/, /^The browser finds no microphone\. Plug one in/],
    ['NotReadableError', 'media_busy', /^Close what uses/, /^Another program uses the microphone\. Close that program/],
    ['OverconstrainedError', 'media_failed', /^Try again later/, /^The microphone cannot be used\. Choose another one/]]) {
    await check(`library and softphone: ${error} of the microphone says what to do, for a call and for an answer`, async () => {
      const deaf = await library('ann', { script: MICROPHONE(error) });
      const ben = await library('ben');
      for (const tab of [deaf, ben]) await tab.until(`page.session.state === 'open'`);
      await refused(deaf, `page.dial('ben')`, code, library_);
      same(await deaf.run('page.session.calls.length'), 0, 'calls of a caller without a microphone');
      await ben.run(`page.dial('ann')`);
      await deaf.until(`page.media?.call.state === 'ringing'`);
      await refused(deaf, 'page.answer()', code, library_);
      // It still rings: the user may allow the microphone, and answer again.
      same(await deaf.run('page.media.call.state'), 'ringing', 'the call after it');
      await deaf.run(`page.media.call.decline()`);
      await ben.until('page.session.calls.length === 0');
      for (const tab of [deaf, ben]) await tab.close();
      const tab = await phone({ script: MICROPHONE(error), hash: '#user=gina' });
      await says(tab, '#status', /^online/);
      await dial(tab, 'bob');
      const words = await says(tab, '#state', softphone);
      same(await tab.run('pageFaults'), [], 'faults of the page');
      await tab.close();
      return words;
    });
  }
}

async function insecure() {
  const far = await Browser.start(440, { flags: ['--host-resolver-rules=MAP far.test 127.0.0.1'] });
  const farURL = (url) => url.replace('127.0.0.1', 'far.test');
  await check('library: a page over plain http is told to use https, and signals all the same', async () => {
    const tab = await library('ina', { url: farURL(files.url), from: far });
    await tab.until(`page.session.state === 'open'`);
    const words = await refused(tab, `page.dial('ben')`, 'insecure_page', /^Open the page over https, or from localhost\.$/);
    same(await tab.run('isSecureContext'), false, 'a secure context');
    await tab.close();
    return words;
  });
  await check('softphone: a page over plain http says which address to open', async () => {
    const tab = await phone({ url: farURL(phoneURL), from: far });
    const words = await says(tab, '.notice', /plain http from another machine.*Open https:\/\/far\.test/);
    await tab.close();
    return words;
  });
  await far.stop();
}

async function away() {
  await check('library: without a server a call is refused in time, and nothing was sent', async () => {
    const tab = await library('ann');
    await tab.until(`page.session.state === 'open'`);
    await server.kill();
    await tab.until(`page.session.state === 'connecting'`);
    await refused(tab, 'page.session.opened(500)', 'not_connected', /^Check the network\. Nothing was sent\.$/);
    const words = await refused(tab, `page.session.invite('ben')`, 'not_connected', /^Check the network\. Nothing was sent\.$/);
    await server.run();
    // Not after the backoff of half a minute.
    await tab.until(`page.session.connection.networkChanged(false) || page.session.state === 'open'`);
    await tab.close();
    return words;
  });
  await check('softphone: without a server the sign-in says how to start it; afterwards the page says what it waits for', async () => {
    const tab = await phone();
    await tab.until(`shown('#name')`);
    await server.kill();
    await tab.run(`shown('#name').value = 'hans'`);
    await tab.run(`shown('#by-name button').click()`);
    await says(tab, '#sign-in-fault', /does not answer\. Start it \(reveille serve\), then try again/);
    await server.run();
    await tab.run(`shown('#by-name button').click()`);
    await says(tab, '#status', /^online/);
    await server.kill();
    const words = await says(tab, '.me', /no connection: the server does not answer; trying again/);
    await server.run();
    await says(tab, '#status', /^online/);
    await tab.close();
    return words;
  });
}

async function browsers() {
  for (const name of ['RTCPeerConnection', 'WebSocket', 'MediaStream', 'BroadcastChannel']) {
    await check(`softphone: a browser without ${name} is told so, and which one to use`, async () => {
      const tab = await phone({ script: `delete window.${name};` });
      const words = await says(tab, '#boot', new RegExp(`cannot make calls: it has no ${name}\\. Use a current Chrome`));
      same(await tab.run('pageFaults'), [], 'faults of the page');
      await tab.close();
      return words;
    });
  }
  await check('library: a browser without RTCPeerConnection is told so by the call, and calls without media', async () => {
    const tab = await library('ann', { script: 'delete window.RTCPeerConnection;' });
    await tab.until(`page.session.state === 'open'`);
    const words = await refused(tab, `page.dial('ben')`, 'unsupported', /^Use another browser\.$/);
    same(await tab.run('page.session.calls.length'), 0, 'calls');
    same(await tab.run(`page.session.invite('nobody-at-all').then(({ reason }) => reason)`), 'unknown_callee', 'a call without media');
    await tab.close();
    return words;
  });
  await check('library: a browser without WebSocket is told so', async () => {
    const tab = await library('ann', { script: 'delete window.WebSocket;' });
    await tab.until(`page.session.state === 'gone'`);
    const words = await refused(tab, 'page.session.opened()', 'gone', /start the session again/);
    await tab.close();
    return words;
  });
  await check('library and softphone: a browser without navigator.locks calls; of two tabs the first says where the phone is', async () => {
    const script = `Object.defineProperty(Navigator.prototype, 'locks', { get: () => undefined });`;
    const lonely = await library('ann', { script });
    await lonely.until(`page.session.state === 'open'`);
    same(await lonely.run(`page.session.invite('nobody-at-all').then(({ reason }) => reason)`), 'unknown_callee', 'a call');
    await lonely.close();
    const first = await phone({ script, hash: '#user=gina', isApart: false });
    await says(first, '#status', /^online/);
    const second = await phone({ script, hash: '#user=gina', isApart: false });
    await says(second, '#status', /^online/);
    const words = await says(first, '.notice', /opened somewhere else as the same device\. Use it there, or take it back/);
    await first.run(`shown('.notice .act').click()`);
    await says(first, '#status', /^online/);
    await says(second, '.notice', /opened somewhere else/);
    for (const tab of [first, second]) await tab.close();
    return words;
  });
  await check('library and softphone: a browser that forbids storage calls', async () => {
    const script = `for (const name of ['sessionStorage', 'localStorage']) {
      Object.defineProperty(window, name, { get: () => { throw new DOMException('forbidden', 'SecurityError'); } });
    }`;
    const tab = await library('ann', { script });
    await tab.until(`page.session.state === 'open'`);
    same(await tab.run(`page.session.invite('nobody-at-all').then(({ reason }) => reason)`), 'unknown_callee', 'a call');
    await tab.close();
    const page = await phone({ script, hash: '#user=gina' });
    await says(page, '#status', /^online/);
    same(await page.run('pageFaults'), [], 'faults of the page');
    await page.close();
  });
  await check('board: a browser without WebSocket is told so', async () => {
    const tab = await browser.open(server.board, { script: `${SHOWN} delete window.WebSocket;`, isApart: true });
    await tab.until('document.activeElement.id === "token"');
    await tab.type(server.tokens.full);
    await tab.key('Enter');
    const words = await says(tab, '#sign-in-problem, #link-text', /WebSocket/);
    await tab.close();
    return words;
  });
}

await tokens();
await microphones();
await insecure();
await away();
await browsers();
finish();
