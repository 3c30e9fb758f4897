#!/usr/bin/env node
// Two pages in Chromium call each other at the same moment, again and again: the server keeps one call of the two, and
// both pages talk in it. Prints a line for each check. SEED repeats the offsets between the two; ROUNDS is their number.

import { Browser, serveFiles } from './browser.mjs';
import { finish, holds, same } from './checks.mjs';
import { seeded } from './harness.mjs';
import { Pair } from './pair.mjs';
import { Server, until } from './server.mjs';

const seed = Number(process.env.SEED ?? Date.now() % 1_000_000);
const random = seeded(seed);
const rounds = Number(process.env.ROUNDS ?? 10);
console.log(`SEED=${seed}`);

const server = await Server.start();
const files = await serveFiles(server);
const ann = await (await Browser.start(440)).open(`${files.url}?user=ann`);
const ben = await (await Browser.start(880)).open(`${files.url}?user=ben`);
const pair = new Pair(ann, ben);

/** What the library has told about calls; each page's clock starts the call at its time. */
const logOf = (tab) => tab.run(`page.log.filter(({ type }) => type !== 'connection' && type !== 'tabs')`);
const dialAt = (tab, to, at) => tab.run(`(() => {
  page.log.length = 0; page.media = undefined;
  page.dialing = new Promise((resolve) => { setTimeout(resolve, ${at} - Date.now()); })
    .then(() => page.dial('${to}')).then(() => 'dialed', (error) => 'refused: ' + error.message); })()`);

function count(log, type, id) { return log.filter((entry) => entry.type === type && entry.id === id).length; }

async function talk(offset) {
  const at = Date.now() + 100;
  const [first, second] = random() < 0.5 ? [ann, ben] : [ben, ann];
  await Promise.all([dialAt(first, first === ann ? 'ben' : 'ann', at), dialAt(second, second === ann ? 'ben' : 'ann', at + offset)]);
  for (const tab of pair.tabs) same(await tab.run('page.dialing'), 'dialed', 'a call that was placed');
  let winner;
  await until(async () => {
    const calls = await Promise.all(pair.tabs.map((tab) => tab.run('page.session.calls.map(({ id, role }) => ({ id, role }))')));
    winner = calls[0][0]?.id;
    return calls.every(({ length }) => length === 1) && winner === calls[1][0].id;
  }, 'both pages have the same call, and no other');
  const callee = await ann.run(`page.session.calls[0].role === 'callee'`) ? ann : ben;
  await callee.until(`page.media?.call.id === '${winner}'`);
  await callee.run('page.answer()');
  await pair.bothHear();
  for (const tab of pair.tabs) await tab.until(`page.media.call.id === '${winner}' && page.media.call.state === 'connected'`);
  return { winner, callee, caller: callee === ann ? ben : ann };
}

/** The library told each page each thing once. */
async function checkLogs({ winner, callee, caller }) {
  const [lost, won] = [await logOf(callee), await logOf(caller)];
  const loser = lost.find(({ type }) => type === 'outgoing').id;
  const found = JSON.stringify({ winner, loser, lost, won });
  same([count(lost, 'outgoing', loser), count(won, 'outgoing', winner)], [1, 1], `each page has placed one call: ${found}`);
  same(count(lost, 'incoming', winner), 1, `the continuing call was told once: ${found}`);
  const ends = lost.filter(({ type }) => type === 'ended');
  same(ends.map(({ id, reason, mergedInto }) => [id, reason, mergedInto]), [[loser, 'glare', winner]], `the end of the other: ${found}`);
  const merged = lost.filter(({ type }) => type === 'merged').map((entry) => [entry.loser, entry.winner]);
  same(merged, [[loser, winner]], `the merging was told once: ${found}`);
  // The other call may have rung here, before it ended.
  const rang = count(won, 'incoming', loser);
  holds(rang <= 1 && count(won, 'ended', loser) === rang && count(won, 'ended', winner) === 0, `what rang, ended: ${found}`);
  same([...lost, ...won].filter(({ id }) => id && id !== winner && id !== loser), [], 'a third call');
  return loser;
}

async function checkServer({ winner, loser, callee }) {
  const live = server.ask('calls', 'list', '--live').calls;
  same(live.map(({ call_id: id, state }) => [id, state]), [[winner, 'connected']], 'the live calls of the server');
  const { call } = server.ask('calls', 'show', loser);
  same([call.state, call.reason, call.merged_into, call.from], ['ended', 'glare', winner, callee === ann ? 'ann' : 'ben'], 'the other call');
  holds(winner < loser, 'the lower id continues');
}

for (const tab of pair.tabs) await tab.until(`page.session.state === 'open'`, 30_000);
for (let round = 1; round <= rounds; round += 1) {
  const offset = Math.round(random() * 50);
  await pair.check(`both call, ${offset} ms apart: one call, both talk (${round} of ${rounds})`, async () => {
    const call = await talk(offset);
    const loser = await checkLogs(call);
    await checkServer({ ...call, loser });
    await (random() < 0.5 ? ann : ben).run('page.media.call.hangup()');
    for (const tab of pair.tabs) {
      await tab.until('page.session.calls.length === 0 && page.media.isClosed');
      const ends = (await logOf(tab)).filter(({ type, id }) => type === 'ended' && id === call.winner);
      same(ends.map(({ reason }) => reason), ['hangup'], 'the end of the call');
    }
  });
}
await pair.check('nothing went wrong on the way', async () => {
  same((await Promise.all(pair.tabs.map((tab) => tab.run('page.problems')))).flat(), [], 'problems');
});
finish();
