// Sessions in Node.js against a real server that is killed, and over a network that breaks.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { seeded } from './harness.mjs';
import { Proxy, PushSimulator, Server, closeSessions, session, until } from './server.mjs';

/** Every how many bytes the dialogue is cut. */
const STRIDE = Number(process.env.STRIDE ?? 97);

let server;
before(async () => { server = await Server.start(); });
after(async () => {
  await closeSessions();
  await server.stop();
});

/** A call between two sessions in which media is said to flow. */
async function talk(from, to, callee) {
  const rings = new Promise((resolve) => { to.addEventListener('incoming', resolve, { once: true }); });
  const placed = await from.invite(callee, { sdp: 'offer', custom: { room: 7 } });
  const { detail: { call: taken } } = await rings;
  await taken.answer({ sdp: 'answer' });
  await until(() => placed.state === 'answered', 'answered');
  await Promise.all([placed.connected(), taken.connected()]);
  await until(() => placed.state === 'connected' && taken.state === 'connected', 'connected');
  return { placed, taken };
}

const names = (call) => call.steps.map(({ name, from }) => `${from === 'page' ? '→' : '←'} ${name}`);

test('a call from the invite to its end, step by step', async () => {
  const [alice, bob] = [session(server, 'ann'), session(server, 'ben')];
  await bob.opened();
  const { placed, taken } = await talk(alice, bob, 'ben');
  assert.deepEqual([taken.sdp, taken.custom, placed.sdp], ['offer', { room: 7 }, 'answer']);
  assert.deepEqual([taken.peer, placed.peer], ['ann', 'ben']);
  assert.deepEqual(names(placed).filter((name) => name !== '← state:connected'),
    ['→ invite', '← state:ringing', '← state:answered', '→ connected']);
  const held = new Promise((resolve) => { taken.addEventListener('update', resolve, { once: true }); });
  await placed.update('hold', { custom: { why: 'lunch' } });
  const { kind, custom } = (await held).detail;
  assert.deepEqual([kind, custom], ['hold', { why: 'lunch' }]);
  const candidates = new Promise((resolve) => { placed.addEventListener('candidates', resolve, { once: true }); });
  taken.sendCandidates([{ candidate: 'c' }], true);
  assert.deepEqual((await candidates).detail.candidates, [{ candidate: 'c' }]);
  assert.deepEqual(await placed.hangup(), { state: 'ended', reason: 'hangup' });
  await until(() => !taken.isLive, 'the end');
  assert.deepEqual([placed.reason, placed.isOwnAct, taken.reason, taken.isOwnAct], ['hangup', true, 'hangup', false]);
  assert.deepEqual(await taken.hangup(), { state: 'ended', reason: 'hangup' }, 'a late hangup is none');
  await assert.rejects(taken.answer(), { name: 'ReveilleError', code: 'call_ended' });
  await Promise.all([alice.close(), bob.close()]);
  assert.deepEqual([alice.state, bob.state], ['offline', 'offline']);
});

test('a call that nobody can take is over at once, and no error', async () => {
  const alice = session(server, 'ann');
  const call = await alice.invite('nobody');
  assert.deepEqual([call.state, call.reason], ['ended', 'unknown_callee']);
  await alice.close();
});

test('a bad token is final, and its error says why and what to do', async () => {
  const alice = session(server, 'ann', { token: () => 'no.token.this' });
  const error = await alice.opened().then(() => assert.fail(), (failure) => failure);
  assert.equal(error.code, 'gone');
  assert.match(error.whatToDo, /Sign in again/);
  assert.equal(alice.state, 'gone');
  await assert.rejects(alice.invite('ben'), { code: 'gone' });
});

test('the newest session of a device replaces the one before, for good', async () => {
  const deviceId = crypto.randomUUID();
  const first = session(server, 'ann', { deviceId });
  await first.opened();
  const second = session(server, 'ann', { deviceId });
  await second.opened();
  await until(() => first.state === 'gone', 'replaced');
  assert.equal(second.state, 'open');
  await second.close();
});

test('a server killed in mid-call and started again: the call goes on, and what was said meanwhile is done', async () => {
  const [alice, bob] = [session(server, 'ann'), session(server, 'ben')];
  await bob.opened();
  const { placed, taken } = await talk(alice, bob, 'ben');
  const told = { ann: [], ben: [] };
  for (const [name, call] of [['ann', placed], ['ben', taken]]) {
    for (const type of ['state', 'ended', 'update']) call.addEventListener(type, () => told[name].push(type));
  }
  await server.kill();
  const asked = placed.get();
  const back = Promise.all([alice, bob].map((one) => new Promise((resolve) => {
    one.addEventListener('connection', ({ detail: { state } }) => {
      if (state === 'up' || state === 'resumed') resolve(Date.now());
    });
  })));
  await server.run();
  const started = Date.now();
  for (const at of await back) assert.ok(at - started < 3_000, `back after ${at - started} ms`);
  assert.equal((await asked).state, 'connected', 'a question that waited for the server has its answer');
  assert.deepEqual([placed.state, taken.state], ['connected', 'connected']);
  assert.deepEqual(told.ben.filter((type) => type === 'ended'), []);
  await taken.update('info', { custom: 1 });
  await until(() => told.ann.includes('update'), 'the update');
  await server.kill();
  const over = taken.hangup();
  await server.run();
  assert.equal((await over).state, 'ended');
  await until(() => !placed.isLive, 'the end');
  assert.deepEqual([placed.reason, told.ann.filter((type) => type === 'ended').length], ['hangup', 1]);
  await Promise.all([alice.close(), bob.close()]);
});

test("a push's wake token opens a session for its call, which it can answer and end, and for nothing else", async () => {
  const waking = await Server.prepare('--push-sim');
  const simulator = await PushSimulator.start(waking.data);
  try {
    await waking.run();
    const deviceId = crypto.randomUUID();
    const before = session(waking, 'ben', { deviceId });
    const { webpush } = await before.opened();
    const pushes = [];
    const { token } = await simulator.subscribe(webpush.key, 'ben', ({ content }) => pushes.push(content));
    await before.request('device.update', { push: [token] });
    await before.close();
    const alice = session(waking, 'ann');
    const placed = await alice.invite('ben', { sdp: 'offer' });
    const push = await until(() => pushes[0], 'the push');
    const bob = session(waking, 'ben', { deviceId, token: () => push.wake_token });
    const { detail: { call } } = await new Promise((resolve) => { bob.addEventListener('incoming', resolve, { once: true }); });
    assert.deepEqual([call.id, call.sdp, call.pushId], [placed.id, 'offer', push.push_id]);
    assert.equal((await bob.request('push.report', { push_id: push.push_id, call_id: call.id, result: 'reported' })).state,
      'ringing');
    await call.answer({ sdp: 'answer' });
    await until(() => placed.state === 'answered' && placed.sdp === 'answer', 'answered');
    for (const [method, params] of [['call.list', {}], ['device.update', { push: [] }]]) {
      await assert.rejects(bob.request(method, params), { code: 'forbidden' });
    }
    await assert.rejects(bob.invite('ann'), { code: 'forbidden' });
    await call.hangup();
    await until(() => !placed.isLive, 'the end');
    await Promise.all([alice.close(), bob.close()]);
  } finally {
    await waking.stop();
    await simulator.stop();
  }
});

test('over a network that breaks again and again, an accepted update arrives once, in order', async () => {
  const proxy = await Proxy.start(server.port);
  const random = seeded(11);
  const times = { backoffBase: 10 };
  const [alice, bob] = [session({ ...server, url: proxy.url, token: server.token.bind(server) }, 'ann', { times }),
    session({ ...server, url: proxy.url, token: server.token.bind(server) }, 'ben', { times })];
  await bob.opened();
  const { placed, taken } = await talk(alice, bob, 'ben');
  const heard = [];
  taken.addEventListener('update', ({ detail: { custom } }) => heard.push(custom));
  const accepted = [];
  let rejected = 0;
  for (let number = 0; number < 150; number += 1) {
    if (number % 15 === 0) {
      proxy.cutUp = proxy.bytes.up + Math.floor(random() * 900);
      proxy.cutDown = proxy.bytes.down + Math.floor(random() * 900);
    }
    await placed.update('info', { custom: number }).then(() => accepted.push(number), (error) => {
      assert.ok(['connection_lost', 'overloaded'].includes(error.code), error.code);
      rejected += 1;
    });
  }
  proxy.cutUp = proxy.cutDown = Infinity;
  await until(() => heard.includes(accepted.at(-1)), 'the last accepted one');
  assert.ok(rejected > 1 && accepted.length > 60, `${rejected} rejected, ${accepted.length} accepted`);
  assert.deepEqual(accepted.filter((number) => !heard.includes(number)), [], 'lost');
  assert.deepEqual(heard, [...new Set(heard)].sort((a, b) => a - b), 'doubled or out of order');
  await placed.hangup();
  await until(() => !taken.isLive, 'the end');
  await Promise.all([alice.close(), bob.close()]);
  proxy.stop();
});

test(`a call comes to the same end wherever its connection is cut (every ${STRIDE} bytes)`, async () => {
  const proxy = await Proxy.start(server.port);
  const bob = session(server, 'ben');
  await bob.opened();
  const dialogue = async (cut) => {
    const proxied = { ...server, url: proxy.url, token: server.token.bind(server) };
    const alice = session(proxied, 'ann', { times: { backoffBase: 10 } });
    proxy.bytes = { up: 0, down: 0 };
    Object.assign(proxy, { cutUp: Infinity, cutDown: Infinity }, cut);
    const told = [];
    const losses = [];
    alice.addEventListener('connection', ({ detail: { state } }) => { if (state === 'down') losses.push(state); });
    const { placed, taken } = await talk(alice, bob, 'ben');
    for (const type of ['incoming', 'ended']) alice.addEventListener(type, () => told.push(type));
    let tries = 0;
    while (placed.isLive && ++tries < 20) await placed.update('hold').then(() => { tries = 99; }, () => {});
    assert.deepEqual(await placed.hangup(), { state: 'ended', reason: 'hangup' });
    await until(() => !taken.isLive && told.length > 0, 'the end');
    assert.deepEqual([told, placed.reason, taken.reason], [['ended'], 'hangup', 'hangup'], JSON.stringify(cut));
    const bytes = { ...proxy.bytes };
    assert.equal(losses.length, Object.keys(cut).length, JSON.stringify(cut));
    await alice.close();
    return bytes;
  };
  const whole = await dialogue({});
  for (let cut = STRIDE; cut < whole.up; cut += STRIDE) await dialogue({ cutUp: cut });
  for (let cut = STRIDE; cut < whole.down; cut += STRIDE) await dialogue({ cutDown: cut });
  await bob.close();
  proxy.stop();
});
