#!/usr/bin/env node
// `reveille demo --web` as a newcomer uses it: its first page calls bob's sleeping iPhone, which wakes, rings and
// declines; its second page, the board, tells each step. Prints a line for each check.

import { spawn } from 'node:child_process';
import { Browser } from './browser.mjs';
import { check, finish, same } from './checks.mjs';
import { kill, own } from './processes.mjs';
import { program, until } from './server.mjs';

const words = (tab) => tab.run('document.body.innerText').then((text) => text.replace(/\s+/g, ' '));

async function says(tab, pattern, timeout = 15_000) {
  let text = '';
  await until(async () => {
    text = await words(tab).catch(() => '');
    return pattern.test(text);
  }, '', timeout).catch(() => { throw new Error(`not ${pattern}, but: ${text.slice(0, 700)}`); });
}

const demo = own(spawn(program, ['demo', '--web', '--port', '0'], { stdio: ['ignore', 'pipe', 'pipe'] }));
let output = '';
for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (data) => { output += data; });
await until(() => output.includes('Ctrl-C') || demo.exitCode !== null, 'the demo prints its pages');
const [phonePage, boardPage] = output.match(/http:\S+/g) ?? [];
const browser = await Browser.start(440);
let phone;
let board;
await check('the first page asks before it signs in, and before it calls bob', async () => {
  phone = await browser.open(phonePage);
  await says(phone, /Sign in as alice\?/);
  if ((await phone.run('location.href')).includes('secret')) throw new Error('the secret is in the address');
  await phone.run(`document.querySelector('#link-yes').click()`);
  await says(phone, /bob/);
  await says(phone, /online/);
  if (output.includes('a push arrives')) throw new Error('it has called');
});
await check('the second page is the board, with its token out of sight', async () => {
  board = await browser.open(boardPage);
  await says(board, /0 live/);
  if ((await board.run('location.href')).includes('token')) throw new Error('the token is in the address');
});
await check('a link with another token asks before it takes the place of the first one', async () => {
  await board.run(`globalThis.confirm = (words) => { globalThis.asked = words; return false; };
    location.hash = '#token=another-long-token'; undefined`);
  await board.until('globalThis.asked');
  await says(board, /0 live/);
  if ((await board.run('location.href')).includes('token')) throw new Error('the token is in the address');
});
await check('the call wakes the iPhone, which rings and declines, on the page and in the terminal', async () => {
  await phone.until(`document.querySelector('#ask-call')?.checkVisibility()`);
  await phone.run(`document.querySelector('#ask-call').click()`);
  await board.until(`document.querySelector('.rows .call-row:not([hidden])')`);
  await board.run(`document.querySelector('.rows .call-row:not([hidden])').click()`);
  await says(phone, /declined/, 30_000);
  const steps = ['a push arrives', 'tells iOS of the call from alice', "Bob's iPhone rings", 'declined'];
  await until(() => steps.every((step) => output.includes(step)), `each of ${steps.join(', ')} in:\n${output}`);
});
await check('the board tells each step of the call', () =>
  says(board, /invited.*push on disk.*push sent.*push accepted by the provider.*phone woken.*ringing.*ended \(declined\)/));
await check('Ctrl-C ends the demo', async () => {
  await kill(demo, 'SIGINT');
  same(demo.exitCode, 0, output);
});
finish();
