// The tables of Tests/SessionVectors, which the Swift session obeys too.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALL, DEVICE, Harness, SIBLING, callID, changed, ended, incoming, refusal, settle, snapshot } from './harness.mjs';
import { json } from './library.mjs';

const calls = json('Tests/SessionVectors/calls.json');
const connection = json('Tests/SessionVectors/connection.json');
const document = json('Resources/reveille.asyncapi.json');
/** A browser has no push. */
const NOT_HERE = new Set(['pushed', 'push', 'overduePush', 'limited', 'leaving']);

// The connection

const connectionInputs = {
  started: (h) => h.session.connection.start(),
  tokenFetched: (h) => h.giveToken(),
  tokenFailed: async (h) => { await settle(); h.tokens.pop()?.reject(new Error('no')); },
  connected: (h) => h.socket?.opens(),
  welcome: (h) => h.socket?.says(h.welcome()),
  opened: (h) => answerPending(h, { result: h.opened() }),
  refused: (h) => answerPending(h, refusal('unauthenticated')),
  refusedForNow: (h) => answerPending(h, refusal('draining')),
  event: (h) => h.socket?.says({ method: 'server.draining', params: { seq: 1, deadline_ms: 1 } }),
  lost: (h) => h.socket?.breaks(),
  replaced: (h) => h.socket?.breaks(3503),
  loggedOut: (h) => h.socket?.breaks(3506),
  badToken: (h) => h.socket?.breaks(3500),
  command: (h) => { h.session.request('call.get', { call_id: CALL }).catch(() => {}); },
  stopped: (h) => { h.session.connection.stop(); },
  abandoned: (h) => h.session.connection.abandon(),
  timeout: (h) => h.clock.advance(h.state === 'closing' ? 2_000 : h.state === 'open' ? 0 : 10_000),
  unreadable: (h) => h.socket?.says('{'),
  /** From a connection that was given up. */
  stale: (h) => {
    const { onopen, onmessage, onclose } = h.first ?? {};
    onopen?.({});
    onmessage?.({ data: JSON.stringify(h.welcome()) });
    onmessage?.({ data: '{' });
    onclose?.({ code: 3503, reason: '' });
  },
};

function answerPending(h, outcome) {
  const request = h.socket?.sent.findLast(({ method }) => method === 'session.open' || method === 'session.close');
  if (request) h.socket.says({ id: request.id, ...outcome });
}

async function inState(state) {
  const h = new Harness();
  if (state === 'idle') return h;
  // A first connection whose words come late.
  h.session.connection.start();
  await h.giveToken();
  const { onopen, onmessage, onclose } = h.socket;
  h.first = { onopen, onmessage, onclose };
  h.session.connection.abandon();
  h.session.connection.start();
  await settle();
  if (state === 'authorizing') return h;
  await h.giveToken();
  if (state === 'connecting') return h;
  h.socket.opens();
  if (state === 'welcoming') return h;
  h.socket.says(h.welcome());
  if (state === 'opening') return h;
  h.answer('session.open', { result: h.opened() });
  if (state === 'waiting') h.socket.breaks();
  if (state === 'closing') h.session.connection.stop();
  if (state === 'gone') h.socket.breaks(3503);
  return h;
}

for (const state of Object.keys(connection.leads).filter((name) => !NOT_HERE.has(name))) {
  test(`a connection: each input leads from ${state} where it should`, async () => {
    for (const [input, give] of Object.entries(connectionInputs)) {
      const h = await inState(state);
      assert.equal(h.state, state);
      const opened = h.sockets.length;
      const attempts = h.tokens.length;
      await give(h);
      await settle();
      const expected = input === 'abandoned' ? 'idle' : connection.leads[state][input] ?? state;
      // A failed attempt is followed by the next one when its delay has passed.
      const isRetry = state !== 'waiting' && h.state === 'authorizing' && input === 'timeout';
      const found = isRetry && h.changes.at(-1)?.state === 'down' ? 'waiting' : h.state;
      assert.equal(found, expected, `${state} × ${input}`);
      const hasSocket = ['connecting', 'welcoming', 'opening', 'open', 'closing'].includes(h.state);
      const live = h.sockets.filter(({ isClosed }) => !isClosed).length;
      assert.equal(live, hasSocket ? 1 : 0, `${state} × ${input}: sockets`);
      if (input === 'stale') assert.deepEqual([h.sockets.length, h.tokens.length], [opened, attempts]);
    }
  });
}

test('waits are within the bounds of the table, and spread over them', async () => {
  const { bounds_ms: bounds } = connection.backoff;
  const quarters = [0, 0, 0, 0];
  for (let seed = 0; seed < 60; seed += 1) {
    const h = new Harness({}, { seed });
    h.tokenMode = 'fail';
    h.session.connection.start();
    while (h.changes.length < bounds.length) await h.clock.advance(h.changes.at(-1)?.retryIn ?? 0);
    for (const [index, bound] of bounds.entries()) {
      const { retryIn } = h.changes[index];
      assert.ok(retryIn >= 0 && retryIn <= bound, `${retryIn} of ${bound}`);
      quarters[Math.min(3, Math.floor((retryIn / bound) * 4))] += 1;
    }
    h.session.connection.abandon();
  }
  for (const count of quarters) assert.ok(count > 60, `${quarters}`);
});

test('each close code leads where the protocol says', async () => {
  for (const { code, reconnect } of document['x-close-codes']) {
    const h = await inState('open');
    h.socket.breaks(code);
    assert.equal(h.state, reconnect ? 'waiting' : 'gone', `${code}`);
  }
  for (const [code, state] of [[1001, 'waiting'], [1006, 'waiting'], [1011, 'waiting'], [3599, 'gone'], [4000, 'gone']]) {
    const h = await inState('open');
    h.socket.breaks(code);
    assert.equal(h.state, state, `${code}`);
  }
});

test('each error code of the protocol says what to do, and the wait of those that have one', async () => {
  const codes = document.components.schemas.Error.oneOf.map(({ properties }) => properties.data.properties.code.const);
  assert.ok(codes.length > 15);
  for (const code of codes) {
    const h = await inState('open');
    const failed = h.session.request('call.list').then(() => assert.fail(), (error) => error);
    h.answer('call.list', refusal(code, { retry_after_ms: 1_500 }));
    const error = await failed;
    assert.equal(error.code, code);
    assert.equal(error.retryAfter, 1_500);
    assert.ok(error.whatToDo.length > 10 && (code === 'internal_error' || error.whatToDo !== 'Try again later.'), code);
  }
});

test('a wait is of five minutes at most, whatever number the server says', async () => {
  for (const [said, wait] of [[2 ** 53, 300_000], [300_001, 300_000], [299_999, 299_999], [0, 0], [-1, undefined], [undefined, undefined]]) {
    const h = await inState('open');
    const failed = h.session.request('call.list').then(() => assert.fail(), (error) => error);
    h.answer('call.list', refusal('overloaded', { retry_after_ms: said }));
    assert.equal((await failed).retryAfter, wait, `${said}`);
  }
});

// Calls

const own = { user: 'alice', device_id: DEVICE };
const sibling = { user: 'alice', device_id: SIBLING };
const command = (act) => (outcome) => async (h) => {
  const call = h.session._find(CALL) ?? h.known;
  const before = h.socket.sent.length;
  const done = act(h, call);
  done.catch(() => {});
  if (h.socket.sent.length > before) h.socket.says({ id: h.socket.sent.at(-1).id, ...outcome(h) });
  await settle();
};
const answer = command((h, call) => call.answer());
const decline = command((h, call) => call.decline('busy'));
const hangup = command((h, call) => call.hangup());
const ring = command((h, call) => call.ringing());
const connect = command((h, call) => call.connected());
const invite = command((h) => h.session.invite('bob', { id: CALL }));
const get = command((h, call) => call.get());
const standing = (state, reason) => () => ({ result: { state, reason } });
const refuse = (code, data) => () => refusal(code, data);
const got = (state, by) => (h) => {
  const { role } = h.session._find(CALL) ?? { role: 'callee' };
  return { result: snapshot(role, state, { by, reason: state === 'ended' ? 'hangup' : undefined }) };
};
const event = (method, params) => (h) => h.event(method, params(h));
const list = (...listed) => (h) => h.loseAndReopen({ calls: listed.map((one) => one(h).result) });

const callInputs = {
  incoming: event('call.incoming', (h) => incoming(h, { expires_at: 1_045_000 })),
  isRinging: event('call.state', () => changed('ringing')),
  isAnswered: event('call.state', () => changed('answered')),
  isConnected: event('call.state', () => changed('connected')),
  ended: event('call.ended', () => ended()),
  lostByGlare: event('call.ended', () => ended('glare', { at: 5, merged_into: callID(4) })),
  candidates: event('call.candidates', () => ({ call_id: CALL, candidates: ['c'] })),
  update: event('call.update', () => ({ call_id: CALL, kind: 'hold' })),
  peerAway: event('call.peer', () => ({ call_id: CALL, presence: 'away', at: 5, expires_at: 30_005, remaining_ms: 30_000 })),
  peerBack: event('call.peer', () => ({ call_id: CALL, presence: 'back', at: 6 })),
  answerWon: answer(() => ({ result: { won: true } })),
  answerWonAgain: answer(refuse('already_answered', { by: own })),
  answerLost: answer(refuse('already_answered', { by: sibling })),
  answerTooLate: answer(refuse('call_ended', { reason: 'cancelled' })),
  answerForbidden: answer(refuse('forbidden')),
  declined: decline(standing('ended', 'busy')),
  declineForbidden: decline(refuse('forbidden')),
  hungUp: hangup(standing('ended', 'hangup')),
  hangupForbidden: hangup(refuse('forbidden')),
  rang: ring(standing('ringing')),
  rangTooLate: ring(standing('ended', 'cancelled')),
  ringingForbidden: ring(refuse('forbidden')),
  connected: connect(standing('connected')),
  connectedForbidden: connect(refuse('forbidden')),
  inviteAccepted: invite((h) => ({
    result: { call_id: CALL, state: 'waking', expires_at: h.serverNow + 45_000, remaining_ms: 45_000 },
  })),
  inviteBusy: invite(() => ({ result: { call_id: CALL, state: 'ended', reason: 'busy' } })),
  inviteRefused: invite(refuse('conflict')),
  gotLive: get(got('waking')),
  gotAnsweredElsewhere: get(got('answered', sibling)),
  gotEnded: get(got('ended')),
  getForbidden: get(refuse('forbidden')),
  listedRinging: list(got('ringing')),
  listedAnsweredHere: list(got('answered', own)),
  listedElsewhere: list(got('answered', sibling)),
  listedEnded: list(got('ended')),
  notListed: list(),
};
const commandOf = {
  answer: /^answer/, decline: /^decline/, hangup: /^(hungUp|hangup)/, ringing: /^(rang|ringing)/, connected: /^connected/,
  invite: /^invite/, get: /^get|^got/, open: /^(not)?[lL]isted/,
};
const nameOf = (input) => Object.keys(commandOf).find((name) => commandOf[name].test(input)) ?? '';
const isOver = (state) => ['over', 'guessedOver', 'refused'].includes(state);

async function callInState(state) {
  const h = new Harness();
  if (state === 'listed') {
    await h.reopen({ calls: [snapshot('callee', 'ringing')] });
    return h;
  }
  await h.reopen();
  const isCallee = ['rings', 'calleeAnswered', 'calleeConnected'].includes(state) || isOver(state);
  const long = state === 'refused' ? { expires_at: h.serverNow + 300_000, remaining_ms: 300_000 } : {};
  if (isCallee) h.event('call.incoming', incoming(h, long));
  h.known = h.session._find(CALL);
  if (state.startsWith('calleeA') || state.startsWith('calleeC')) await callInputs.answerWon(h);
  if (state === 'calleeConnected') h.event('call.state', changed('connected'));
  if (state === 'invited' || state.startsWith('caller')) h.session.invite('bob', { id: CALL }).catch(() => {});
  if (state.startsWith('caller')) {
    h.answer('call.invite', { result: { call_id: CALL, state: 'routing', expires_at: 1_045_000, remaining_ms: 45_000 } });
    h.event('call.state', changed('ringing'));
    if (state !== 'callerRinging') h.event('call.state', changed('answered'));
    if (state === 'callerConnected') h.event('call.state', changed('connected'));
  }
  if (state === 'over') h.event('call.ended', ended('cancelled'));
  if (state === 'guessedOver' || state === 'refused') {
    h.socket.breaks();
    if (state === 'refused') h.known.decline().catch(() => {});
    h.tokenMode = 'fail';
    await h.clock.advance(61_000);
    await h.reopen({ resumed: true });
  }
  await settle();
  return h;
}

function standingOf(h) {
  const call = h.session._find(CALL);
  const past = h.session._past(CALL);
  if (call) return `${call.state}${call._.isTold ? '' : ' untold'}${call._.isUnlisted ? ' asked about' : ''}`;
  return past ? `${past.certainty} ${past.reason}` : 'unknown';
}

for (const [state, { groups, rows }] of Object.entries(calls.states).filter(([name]) => !NOT_HERE.has(name))) {
  test(`a call: each input does to a call that is ${state} what it should`, async () => {
    const table = Object.assign({}, ...groups.map((group) => calls.groups[group]), rows);
    for (const [input, give] of Object.entries(callInputs)) {
      const name = nameOf(input);
      // A page has no call to act on that it was never told of.
      if (state === 'unknown' && name && name !== 'invite' && name !== 'open') continue;
      const h = await callInState(state);
      const before = standingOf(h);
      const [sentBefore, toldBefore] = [h.requests().length, h.told.length];
      await give(h);
      await settle();
      const sent = h.requests().slice(sentBefore).map(({ method }) => method.split('.')[1]);
      const found = [standingOf(h), h.told.slice(toldBefore).join(', '), sent.join(', ')];
      const isSettled = isOver(state) && ['answer', 'decline', 'hangup', 'ringing', 'connected'].includes(name);
      const expected = [...(table[input] ?? ['=', '', isSettled ? '' : name])];
      if (expected[0] === '=') expected[0] = before;
      assert.deepEqual(found, expected, `${state} × ${input}`);
    }
    const unknown = Object.keys(table).filter((input) => !callInputs[input] && !NOT_HERE.has(input));
    assert.deepEqual(unknown, []);
  });
}
