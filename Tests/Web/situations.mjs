#!/usr/bin/env node
// The board in situations that an operator meets seldom: a provider that refuses the credential, a limit that was
// reached, full queues, a connection on which nothing passes, a token that may only look, a server that is away or comes
// back with other tokens. Prints a line for each check.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Browser } from './browser.mjs';
import { check, finish, holds, pause, same } from './checks.mjs';
import { serveFixed } from './fixed.mjs';
import { kill } from './processes.mjs';
import { BoardServer, Proxy, WebSocket, session, start, until } from './server.mjs';

const browser = await Browser.start();
const open = (url) => browser.open(url, { isApart: true, isWatched: true, size: [1600, 900] });
const problem = (pattern) => `[...document.querySelectorAll('#problems li')].find((line) => ${pattern}.test(line.textContent))`;
const linkText = 'document.querySelector("#link-text").textContent';

async function signIn(tab, token) {
  await tab.until('!document.querySelector("#sign-in").hidden && document.activeElement.id === "token"');
  await tab.run(`document.querySelector('#token').value = ''`);
  await tab.type(token);
  await tab.key('Enter');
}

async function signedIn(url, token) {
  const tab = await open(url);
  await signIn(tab, token);
  await tab.until(`${linkText} === 'live'`, 30_000);
  return tab;
}

/** Presses the link of a problem, and waits for a text in the view. */
async function follow(tab, pattern, expected) {
  await tab.run(`${problem(pattern)}.querySelector('a').click()`);
  await tab.until(expected);
}

process.env.REVEILLE_LIMITS_LIVE_CALLS_PER_USER = '2';
const server = await BoardServer.prepare('--push-sim');
await start(['push-sim', '--port', '0', '--sandbox-port', '0', '--fcm-port', '0', '--data', server.data], 'ready: start the server');
await server.run();

async function providers(tab) {
  const load = await server.load('wake', '--rate', '4', '--hold', '1');
  await check('a provider refuses the credential: that is a problem, until it takes pushes again', async () => {
    server.say('push-sim', 'fault', 'refuse', '--reason', 'InvalidProviderToken');
    await tab.until(problem('/^push: APNs production has refused the credential/'), 30_000);
    holds(await tab.run(`${problem('/refused the credential/')}.className === 'failure'`), 'it is not red');
    const row = `[...document.querySelectorAll('#view tr')].find((line) => /^apns production/.test(line.cells[0].textContent))`;
    await follow(tab, '/refused the credential/', `${row}?.cells[8].textContent === 'open' && ${row}.cells[8].classList.contains('failure')`);
    same(server.ask('stats').push_pools.filter((pool) => pool.is_circuit_open).length, 1, 'open circuits at the server');
    server.say('push-sim', 'clear');
    const started = Date.now();
    await tab.until(`!${problem('/refused the credential/')} && ${row}.cells[8].textContent === 'closed'`, 30_000);
    return `closed after ${Date.now() - started} ms`;
  });
  await kill(load);
}

async function limits(tab) {
  await check('a limit that was reached more than ten times is a problem with its name, and is counted', async () => {
    const [ann, ben] = ['ann', 'ben'].map((user) => session(server, user, { automaticRinging: true }));
    await Promise.all([ann.opened(), ben.opened()]);
    const outcomes = [];
    for (let number = 0; number < 14; number += 1) {
      outcomes.push(await ann.invite('ben').then(({ state }) => state, ({ code }) => code));
    }
    holds(outcomes.at(-1) === 'limit_reached', `the invites: ${outcomes}`);
    await tab.until(problem('/^limit .+ was hit \\d+ times/'), 10_000);
    const name = await tab.run(`${problem('/was hit/')}.textContent.split(' ')[1]`);
    await follow(tab, '/was hit/', `[...document.querySelectorAll('#view .suspect')].some((item) => item.textContent.startsWith('${name} 1'))`);
    for (const one of [ann, ben]) await one.close();
    return name;
  });
}

async function reading() {
  await check('with a token for reading no button and no key changes anything, and the server refuses, too', async () => {
    const ann = session(server, 'ann');
    const ben = session(server, 'ben');
    await Promise.all([ann.opened(), ben.opened()]);
    const call = await ann.invite('ben');
    const tab = await signedIn(server.board, server.tokens.reading);
    await tab.until(`document.querySelector('#access').textContent === 'may only look'`);
    await tab.run(`location.hash = 'calls/${call.id}'`);
    await tab.until(`document.querySelector('#detail .danger')`);
    const offered = await tab.run(`[...document.querySelectorAll('#drain, .danger')].filter((button) => !button.disabled
      || !/admin\\.token_file/.test(button.title)).map((button) => button.textContent)`);
    same(offered, [], 'buttons that are offered, or do not say why not');
    await tab.key('e');
    await tab.until(`/this token is for reading/.test(document.querySelector('#told').textContent)`);
    // The page's own protection is not the only one.
    const bearer = `bearer.${Buffer.from(server.tokens.reading).toString('base64url')}`;
    const socket = new WebSocket(`ws://127.0.0.1:${server.admin}/v1/admin`, ['reveille.admin.v1', bearer]);
    await new Promise((resolve) => { socket.on('open', resolve); });
    const answer = new Promise((resolve) => { socket.on('message', (data) => resolve(JSON.parse(data))); });
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'call.end', params: { call_id: call.id } }));
    const { error } = await answer;
    socket.close();
    holds(call.isLive && error, 'the call was ended');
    await call.hangup();
    for (const one of [ann, ben]) await one.close();
    await tab.close();
    return error.message;
  });
}

async function halfOpen() {
  const proxy = await Proxy.start(server.admin);
  const url = `${proxy.url.replace('ws', 'http')}/board/`;
  const tab = await signedIn(url, server.tokens.full);
  await check('a connection on which nothing passes: what is shown is called old, then lost, and it comes back', async () => {
    proxy.isHalfOpen = true;
    await tab.until(`/^What is shown is \\d+ s old$/.test(${linkText})`, 8_000);
    holds(await tab.run(`document.body.classList.contains('stale')`), 'the page does not look old');
    await tab.until(`/^server gone since .+ reconnecting/.test(${linkText})`, 25_000);
    holds(await tab.run('document.querySelector("#drain").disabled && document.querySelector("#drain").title === "the server is gone"'),
      'a change is offered');
    proxy.isHalfOpen = false;
    const started = Date.now();
    await tab.until(`${linkText} === 'live'`, 30_000);
    await tab.until(`/^back after \\d+ s: the same server$/.test(document.querySelector('#told').textContent)`);
    return `live ${Date.now() - started} ms after the bytes pass again`;
  });
  await check('a connection that breaks again and again: live each time', async () => {
    for (let times = 0; times < 5; times += 1) {
      proxy.breakAll();
      await tab.until(`${linkText} !== 'live'`, 5_000);
      await tab.until(`${linkText} === 'live'`, 15_000);
    }
  });
  await tab.close();
  proxy.stop();
}

async function away(tab) {
  await check('the server is away at the sign-in: the board says that it waits, and is live when the server is there', async () => {
    const late = await open(server.board);
    await late.until('document.activeElement.id === "token"');
    await server.kill();
    await signIn(late, server.tokens.full);
    await late.until(`${linkText} === 'waiting for the server…'`);
    await server.run();
    await late.until(`${linkText} === 'live'`, 15_000);
    await late.close();
  });
  await check('the server comes back with another token: the board signs out, and says which one it needs', async () => {
    await tab.until(`${linkText} === 'live'`, 15_000);
    await server.kill();
    writeFileSync(join(server.data, 'full-token'), 'a-token-of-tomorrow');
    await server.run();
    await tab.until(`/does not know this token.*admin\\.token_file/.test(document.querySelector('#sign-in-problem').textContent)`, 20_000);
    same(await tab.run('sessionStorage.length'), 0, 'kept tokens');
    await signIn(tab, 'a-token-of-tomorrow');
    await tab.until(`${linkText} === 'live'`, 15_000);
  });
}

async function queues() {
  const { url, answers } = await serveFixed();
  const tab = await signedIn(url, 'any');
  await check('a queue that is half full is a problem with its figures, and goes when the queue is empty', async () => {
    const { stats } = answers['stats.subscribe'];
    const [queue] = stats.queues;
    await tab.until(problem(`/^overload: queue ${queue.name} 80\\/100/`));
    await follow(tab, '/^overload/', `[...document.querySelectorAll('#view .failure')].some((item) => item.textContent === '${queue.name} 80/100')`);
    const overload = stats.problems.find(({ code }) => code === 'core_behind');
    overload.words = `overload: queue ${queue.name} 100/100`;
    await tab.until(problem(`/^overload: queue ${queue.name} 100\\/100/`));
    stats.problems = stats.problems.filter((each) => each !== overload);
    await tab.until(`!${problem('/^overload/')}`);
  });
  await tab.close();
}

const tab = await signedIn(server.board, server.tokens.full);
await providers(tab);
await limits(tab);
await reading();
await halfOpen();
await away(tab);
await queues();
await check('no exception, and no violation of the content security policy', () => same(browser.faults, [], 'faults'));
finish();
