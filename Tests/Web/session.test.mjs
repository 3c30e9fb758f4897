// What a session does beyond the tables: tokens, time-outs, acknowledgements, reloads, tabs, networks, TURN.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { CALL, Clock, Harness, Storage, callID, changed, incoming, refusal, settle, snapshot } from './harness.mjs';
import { Call, Connection, Media, ReveilleError, Session, repository } from './library.mjs';

const lost = (h, code) => h.socket.breaks(code);

test('the library has at most 20 kB as the server sends it, and no dependency', () => {
  const text = readFileSync(`${repository}/Resources/web/reveille.js`);
  assert.ok(gzipSync(text, { level: 9 }).length <= 20_000);
  assert.doesNotMatch(String(text), /^import |import\(/m);
});

test('each method of reveille.d.ts is there', () => {
  const text = readFileSync(`${repository}/Resources/web/reveille.d.ts`, 'utf8');
  const classes = { ReveilleError, Connection, Call, Session, Media };
  let count = 0;
  for (const [, name, body] of text.matchAll(/^export class (\w+) .*?\{\n(.*?)^\}/gms)) {
    for (const [, isStatic, method] of body.matchAll(/^  (static )?(\w+)\(/gm)) {
      if (method === 'constructor') continue;
      const owner = isStatic ? classes[name] : classes[name].prototype;
      assert.equal(typeof owner[method], 'function', `${name}.${method}`);
      count += 1;
    }
  }
  assert.ok(count > 25, `${count}`);
});

test('the token provider is called once at a time, and one that hangs is given up with a signal', async () => {
  const h = new Harness();
  h.session.start();
  await settle();
  h.session.close();
  h.session.start();
  await settle();
  assert.equal(h.tokens.length, 1, 'the call under way serves the second start too');
  await h.clock.advance(10_000);
  assert.equal(h.tokens[0].signal.aborted, true);
  await h.clock.advance(1_000);
  assert.equal(h.tokens.length, 2);
  await h.giveToken();
  assert.equal(h.state, 'connecting');
});

test('every request settles with a time-out, whatever is silent', async () => {
  for (const silent of ['provider', 'socket', 'server', 'session']) {
    const h = new Harness();
    h.session.start();
    if (silent !== 'provider') await h.giveToken();
    if (silent === 'server' || silent === 'session') h.socket.opens();
    if (silent === 'session') {
      h.socket.says(h.welcome());
      h.answer('session.open', { result: h.opened() });
      h.event('call.incoming', incoming(h));
    }
    const codes = [];
    const watch = (promise) => promise.then(() => codes.push('done'), ({ code }) => codes.push(code));
    const promises = [h.session.invite('bob'), h.session.request('call.list'), h.session.opened(30_000)].map(watch);
    const [call] = h.session.calls;
    const acts = silent === 'session' ? ['answer', 'ringing', 'decline', 'connected', 'hangup', 'get'] : [];
    promises.push(...acts.map((act) => watch(call[act]())));
    await h.clock.advance(200_000);
    await Promise.all(promises);
    assert.equal(codes.length, promises.length, silent);
    const allowed = new Set(['done', 'not_connected', 'connection_lost', 'timed_out', 'call_ended']);
    assert.ok(codes.every((code) => allowed.has(code)), `${codes}`);
  }
});

test('a lost session leaves no timer and no request behind', async () => {
  const h = new Harness();
  await h.reopen();
  const asked = h.session.request('call.list').catch(({ code }) => code);
  lost(h, 3503);
  assert.equal(await asked, 'gone');
  assert.equal(h.clock.pending, 0);
});

test('whoever waits for the session is told at once when there will be none', async () => {
  const h = new Harness();
  h.session.start();
  const waits = h.session.opened().then(() => assert.fail(), (error) => error);
  await h.reachOpening();
  h.answer('session.open', refusal('unauthenticated'));
  const error = await waits;
  assert.deepEqual([error.code, error.data.cause, h.clock.time], ['gone', 'unauthenticated', 0]);
  assert.match(error.whatToDo, /Sign in again/);
});

test('events are acknowledged together: after sixteen, or a quarter of a second', async () => {
  const h = new Harness();
  await h.reopen();
  const acks = () => h.socket.sent.filter(({ method }) => method === 'session.ack').map(({ params }) => params.seq);
  for (let seq = 1; seq <= 20; seq += 1) h.event('server.draining', { deadline_ms: seq });
  assert.deepEqual(acks(), [16]);
  await h.clock.advance(249);
  assert.deepEqual(acks(), [16]);
  await h.clock.advance(1);
  assert.deepEqual(acks(), [16, 20]);
});

test('a resume names the last event; events that come again are told once; a gap begins a new session', async () => {
  const h = new Harness();
  await h.reopen();
  const drained = [];
  h.session.addEventListener('draining', ({ detail }) => drained.push(detail.deadline));
  h.event('server.draining', { deadline_ms: 1 });
  lost(h);
  h.session.start();
  await h.reachOpening();
  const open = h.socket.sent.at(-1);
  assert.deepEqual(open.params.resume, { session_id: 's1', token: 'r1', last_seq: 1 });
  h.answer('session.open', { result: h.opened({ resumed: true, resume: { token: 'r2', window_ms: 1 } }) });
  for (const seq of [1, 2, 2]) h.socket.says({ method: 'server.draining', params: { seq, deadline_ms: seq } });
  assert.deepEqual(drained, [1, 2]);
  lost(h);
  h.session.start();
  await h.reachOpening();
  assert.deepEqual(h.socket.sent.at(-1).params.resume, { session_id: 's1', token: 'r2', last_seq: 2 }, 'the newest token');
  h.answer('session.open', { result: h.opened({ resumed: true, resume: { token: 'r3', window_ms: 1 } }) });
  h.socket.says({ method: 'server.draining', params: { seq: 4, deadline_ms: 4 } });
  assert.deepEqual([drained, h.state], [[1, 2], 'waiting']);
  h.session.start();
  await h.reachOpening();
  assert.equal(h.socket.sent.at(-1).params.resume, undefined);
});

test('what an overloaded server refuses is said again when it has time, and not before, in order', async () => {
  const h = new Harness();
  await h.reopen();
  h.event('call.incoming', incoming(h));
  const [call] = h.session.calls;
  const answered = call.answer({ sdp: 's' });
  h.answer('call.answer', refusal('overloaded', { retry_after_ms: 2_000 }));
  const connected = call.connected();
  await h.clock.advance(1_999);
  assert.deepEqual(h.socket.sent.filter(({ method }) => method === 'call.connected'), [], 'behind the answer');
  assert.equal(h.methods().filter((method) => method === 'call.answer').length, 1);
  await h.clock.advance(502);
  assert.deepEqual(h.methods().slice(-2), ['call.answer', 'call.connected']);
  h.answer('call.answer', { result: { won: true } });
  h.answer('call.connected', { result: { state: 'answered' } });
  await Promise.all([answered, connected]);
});

test('session.open that is refused for a time is not tried before', async () => {
  const h = new Harness();
  h.session.start();
  await h.reachOpening();
  h.answer('session.open', refusal('rate_limited', { retry_after_ms: 7_000 }));
  h.session.connection.networkChanged();
  await h.clock.advance(6_999);
  assert.equal(h.tokens.length, 0);
  await h.clock.advance(501);
  assert.equal(h.tokens.length, 1);
});

test('one refusal of session.open silences the page for minutes, not for days', async () => {
  const h = new Harness();
  h.session.start();
  await h.reachOpening();
  h.answer('session.open', refusal('overloaded', { retry_after_ms: 2 ** 53 - 1 }));
  await h.clock.advance(301_000);
  assert.equal(h.tokens.length, 1);
});

test('a message that is too large fails alone, with the limit', async () => {
  const h = new Harness();
  await h.reopen();
  const placed = h.session.invite('bob', { sdp: 'ü'.repeat(40_000) });
  await assert.rejects(placed, { code: 'too_large', data: { limit: 65_536 } });
  assert.deepEqual([h.state, h.session.calls.length], ['open', 0]);
});

test('an invite whose fate is unknown is hung up, so that no phone rings for nobody', async () => {
  const h = new Harness();
  await h.reopen();
  const placed = h.session.invite('bob', { id: CALL }).catch(({ code }) => code);
  h.event('server.draining', { deadline_ms: 1 });
  await h.clock.advance(9_000);
  h.event('server.draining', { deadline_ms: 2 });
  await h.clock.advance(1_001);
  assert.equal(await placed, 'timed_out');
  assert.deepEqual(h.requests().slice(-1).map(({ method, params }) => [method, params.call_id]), [['call.hangup', CALL]]);
});

test('a call that the server had and lists no more is asked about, even while its invite has no answer', async () => {
  const h = new Harness();
  await h.reopen();
  h.session.invite('bob', { id: CALL }).catch(() => {});
  h.event('call.state', changed('answered'));
  const { length } = h.methods();
  await h.loseAndReopen();
  assert.deepEqual(h.methods().slice(length), ['session.open', 'call.get', 'call.invite']);
});

test('the reply to a hang-up tells how the call ended, also when the server lists the call no more', async () => {
  for (const [reply, reason] of [
    [{ result: { state: 'ended', reason: 'hangup' } }, 'hangup'],
    [refusal('call_ended', { reason: 'answered_elsewhere' }), 'answered_elsewhere'],
    [refusal('invalid_params'), 'connection_lost'],
  ]) {
    const h = new Harness();
    await h.reopen();
    h.session.invite('bob', { id: CALL }).catch(() => {});
    h.event('call.state', changed('connected'));
    const [call] = h.session.calls;
    call.hangup().catch(() => {});
    await h.loseAndReopen();
    assert.equal(call.state, 'connected');
    h.answer('call.hangup', reply);
    await settle();
    assert.deepEqual([call.state, call.reason], ['ended', reason]);
  }
});

test('candidates that a server has lost, and that are lost on their way again, are sent once more', async () => {
  const h = new Harness();
  await h.reopen();
  h.event('call.incoming', incoming(h));
  const [call] = h.session.calls;
  call.sendCandidates(['a']);
  call.get().catch(() => {});
  h.answer('call.get', { result: snapshot('callee', 'ringing') });
  const sent = () => h.socket.sent.filter(({ method }) => method === 'call.candidates').length;
  await h.loseAndReopen({ calls: [snapshot('callee', 'ringing')] });
  assert.equal(sent(), 1);
  await h.loseAndReopen({ resumed: true });
  assert.equal(sent(), 1, 'not proven since');
});

test('a call that is hung up before the server heard of it never was', async () => {
  const h = new Harness();
  h.session.start();
  const placed = h.session.invite('bob', { id: CALL }).catch(({ code }) => code);
  assert.deepEqual(await h.session.call(CALL).hangup(), { state: 'ended', reason: 'cancelled' });
  assert.equal(await placed, 'call_ended');
  await h.reopen();
  assert.deepEqual(h.methods(), ['session.open']);
});

test('candidates that may not have arrived are sent again', async () => {
  const h = new Harness();
  await h.reopen();
  h.event('call.incoming', incoming(h));
  const [call] = h.session.calls;
  call.sendCandidates(['a']);
  call.get().catch(() => {});
  h.answer('call.get', { result: snapshot('callee', 'ringing') });
  call.sendCandidates(['b'], true);
  const sent = () => h.socket.sent.filter(({ method }) => method === 'call.candidates')
    .map(({ params }) => params.candidates[0]);
  await h.loseAndReopen({ resumed: true });
  assert.deepEqual(sent(), ['b'], 'an answer has proved the first');
  h.socket.says({ ...refusal('overloaded', { retry_after_ms: 300, call_id: CALL }), id: null });
  await h.clock.advance(300);
  assert.deepEqual(sent(), ['b', 'a', 'b'], 'which were refused is not known');
});

test('an event is told when all of it is known, and a listener may act at once', async () => {
  const h = new Harness({ automaticRinging: true });
  await h.reopen();
  let state;
  h.session.addEventListener('incoming', ({ detail: { call } }) => {
    call.answer({ sdp: 's' }).catch(() => {});
    state = call.state;
  });
  h.event('call.incoming', incoming(h, { custom: { room: 7 }, sdp: 'o' }));
  assert.equal(state, 'ringing');
  assert.deepEqual(h.methods().slice(-2), ['call.ringing', 'call.answer']);
});

// The other side's connection

const away = (rest = {}) => ({
  call_id: CALL, presence: 'away', at: 7, by: { user: 'bob', device_id: 'b' }, expires_at: 31_000, remaining_ms: 30_000,
  ...rest,
});
const back = { call_id: CALL, presence: 'back', at: 9, by: { user: 'bob', device_id: 'b' } };

async function talking() {
  const h = new Harness();
  await h.reopen();
  h.event('call.incoming', incoming(h));
  const [call] = h.session.calls;
  h.event('call.state', changed('connected'));
  return { h, call };
}

test('the time that the other side has to come back is told, and ends with its return', async (context) => {
  const { h, call } = await talking();
  context.mock.method(Date, 'now', () => 1_000_000 + h.clock.time);
  const told = [];
  call.addEventListener('peer', ({ detail: { presence, at } }) => told.push([presence, at]));
  h.event('call.peer', away());
  await h.clock.advance(10_000);
  assert.deepEqual([call.peerAwaySince, call.peerExpiresAt, call.peerRemaining], [7, 31_000, 20_000]);
  await settle();
  const again = new Harness({}, { storage: h.storage, clock: h.clock });
  const [kept] = again.session.calls;
  assert.deepEqual([kept.peerAwaySince, kept.peerExpiresAt, kept.peerRemaining], [7, 31_000, 20_000], 'over a reload');
  h.event('call.peer', back);
  assert.deepEqual([call.peerAwaySince, call.peerExpiresAt, call.peerRemaining], [undefined, undefined, undefined]);
  await h.clock.advance(60_000);
  assert.deepEqual(told, [['away', away().at], ['back', back.at]]);
  assert.equal(h.methods().includes('call.get'), false);
});

test('a call without a deadline has none after a reload either', async () => {
  const h = new Harness();
  await h.reopen();
  h.session.invite('bob', { sdp: 'o' }).catch(() => {});
  await settle();
  const { h: other } = await talking();
  await settle();
  for (const before of [h, other]) {
    const again = new Harness({}, { storage: before.storage, clock: before.clock });
    const [kept] = again.session.calls;
    const { expiresAt, remaining, peerAwaySince, peerExpiresAt, peerRemaining } = kept;
    const found = [expiresAt, remaining, peerAwaySince, peerExpiresAt, peerRemaining];
    assert.ok(found.every((time) => time === undefined), `${found}`);
    again.session.start();
    await before.clock.advance(2_000);
    assert.notEqual(kept.state, 'ended', `${kept.role}, offline`);
    await again.reopen({ calls: [snapshot(kept.role, kept.state, { call_id: kept.id })] });
    assert.equal(kept.steps.some(({ name }) => name.startsWith('peer:')), false, 'nobody was away');
  }
});

test('a call whose other side is not back in time, and that the server has not ended, is asked about once', async () => {
  const { h } = await talking();
  h.event('call.peer', away());
  await h.clock.advance(31_999);
  assert.equal(h.methods().includes('call.get'), false);
  await h.clock.advance(1);
  assert.equal(h.methods().at(-1), 'call.get');
  h.answer('call.get', { result: snapshot('callee', 'connected', { peer_away_since: 7 }) });
  await h.clock.advance(60_000);
  assert.equal(h.methods().filter((method) => method === 'call.get').length, 1);
});

test('the steps of a call tell who acted, and when the other side was away and back', async () => {
  const { h, call } = await talking();
  const by = { user: 'bob', device_id: 'b' };
  h.event('call.peer', away());
  h.event('call.peer', back);
  await h.loseAndReopen({ calls: [snapshot('callee', 'connected', { peer_away_since: 11 })] });
  await h.loseAndReopen({ calls: [snapshot('callee', 'connected')] });
  h.event('call.ended', { call_id: CALL, reason: 'hangup', at: 12, callkit_reason: 'remoteEnded', by });
  const steps = call.steps.slice(2).map((step) => [step.name, step.by?.user]);
  assert.deepEqual(steps, [['peer:away', 'bob'], ['peer:back', 'bob'], ['peer:away', undefined], ['peer:back', undefined],
    ['ended:hangup', 'bob']]);
});

// Media without a connection

/** As much of a browser's MediaStream as a Media takes before it has a connection. */
class Stream {
  tracks = [];
  getTracks() { return this.tracks; }
  getAudioTracks() { return this.tracks.filter(({ kind }) => kind === 'audio'); }
}

/** What a Media asks of a browser before it has a connection. */
const BROWSER = { MediaStream: Stream, RTCPeerConnection: class {} };

test('a call that waits for the user to allow the microphone is taken back, and the microphone is released', async () => {
  const track = { kind: 'audio', isStopped: false, stop() { this.isStopped = true; } };
  let allow;
  const asked = new Promise((resolve) => { allow = resolve; });
  let prompts = 0;
  const mediaDevices = Object.assign(new EventTarget(), { getUserMedia: () => { prompts += 1; return asked; } });
  const h = new Harness({ environment: { ...BROWSER, mediaDevices } });
  await h.reopen();
  const abort = new AbortController();
  const dialed = Media.dial(h.session, 'bob', { signal: abort.signal });
  await settle();
  abort.abort();
  const cancelled = { name: 'ReveilleError', code: 'call_ended', data: { reason: 'cancelled' } };
  await assert.rejects(dialed, cancelled);
  allow(Object.assign(new Stream(), { tracks: [track] }));
  await settle();
  assert.deepEqual([track.isStopped, h.session.calls, h.methods()], [true, [], ['session.open']]);
  await assert.rejects(Media.dial(h.session, 'bob', { signal: AbortSignal.abort() }), cancelled);
  assert.equal(prompts, 1);
});

test('mute, hold and camera outlive a reload', async () => {
  const { h, call } = await talking();
  Object.assign(h.environment, BROWSER);
  Object.assign(call.session.env, BROWSER);
  const media = new Media(call, { video: true });
  assert.deepEqual([media.isMuted, media.isOnHold, media.isCameraOn], [false, false, false], 'no camera by itself');
  media.mute().catch(() => {});
  media.hold().catch(() => {});
  await settle();
  const again = new Harness({ environment: BROWSER }, { storage: h.storage, clock: h.clock });
  const restored = new Media(again.session.calls[0], { video: { facingMode: 'user' } });
  assert.deepEqual([restored.isMuted, restored.isOnHold, restored.isCameraOn], [true, true, false]);
  media.close();
  restored.close();
});

// Reloads

test('a page that is loaded again has its calls at once, resumes, and is told what it missed', async () => {
  const h = new Harness();
  await h.reopen();
  h.event('call.incoming', incoming(h, { sdp: 'offer', candidates: ['c1'], custom: { room: 7 } }));
  h.event('call.candidates', { call_id: CALL, candidates: ['c2'] });
  await settle();
  const again = new Harness({}, { storage: h.storage, clock: h.clock });
  const calls = [];
  again.session.addEventListener('restored', ({ detail: { call } }) => calls.push(call));
  again.session.start();
  const [call] = calls;
  assert.deepEqual([call.id, call.state, call.peer, call.isRestored], [CALL, 'ringing', 'bob', true]);
  assert.deepEqual([call.sdp, call.custom], ['offer', { room: 7 }]);
  assert.deepEqual(call._.candidates, ['c1', 'c2']);
  assert.ok(call.remaining > 44_000 && call.steps.length > 0);
  await again.reachOpening();
  assert.deepEqual(again.socket.sent.at(-1).params.resume, { session_id: 's1', token: 'r1', last_seq: 2 });
  const listed = [snapshot('callee', 'ringing', { sdp: 'offer' })];
  again.answer('session.open', { result: again.opened({ resumed: true, calls: listed }) });
  again.event('call.ended', { call_id: CALL, reason: 'cancelled', at: 1, callkit_reason: 'remoteEnded' });
  assert.deepEqual([again.told.at(-1), call.state, again.told.includes('incoming')], ['ended cancelled', 'ended', false]);
});

test('a call that ended while the page was loaded again is asked about', async () => {
  const h = new Harness();
  await h.reopen();
  h.event('call.incoming', incoming(h));
  await settle();
  const again = new Harness({}, { storage: h.storage, clock: h.clock });
  await again.reopen({ resumed: false, calls: [] });
  assert.deepEqual(again.methods(), ['session.open', 'call.get']);
  const over = { reason: 'answered_elsewhere', callkit_reason: 'answeredElsewhere' };
  again.answer('call.get', { result: snapshot('callee', 'ended', over) });
  assert.equal(again.told.at(-1), 'ended answered_elsewhere');
});

test('a session that was closed is not resumed by the next page', async () => {
  const h = new Harness();
  await h.reopen();
  await settle();
  assert.equal(h.storage.size, 1);
  const closed = h.session.close();
  h.answer('session.close', { result: {} });
  await closed;
  await settle();
  assert.equal(h.storage.size, 0);
});

// Tabs: a browser's locks and channels

class Browser {
  clock = new Clock();
  #held;
  #queue = [];
  #channels = new Set();

  tab(storage = new Storage()) {
    const browser = this;
    const locks = {
      request: (name, options, hold) => new Promise((resolve, reject) => {
        const entry = { hold, resolve, reject };
        options.signal?.addEventListener('abort', () => {
          browser.#queue = browser.#queue.filter((other) => other !== entry);
          if (browser.#held !== entry) reject(new DOMException('aborted', 'AbortError'));
        });
        if (options.steal) {
          browser.#held?.reject(new DOMException('stolen', 'AbortError'));
          browser.#grant(entry);
        } else {
          browser.#queue.push(entry);
          browser.#next();
        }
      }),
    };
    const channels = [];
    class BroadcastChannel {
      constructor() { browser.#channels.add(this); channels.push(this); }
      close() { browser.#channels.delete(this); }
      postMessage(data) {
        const text = JSON.stringify(data);
        for (const other of browser.#channels) {
          if (other !== this) queueMicrotask(() => other.onmessage?.({ data: JSON.parse(text) }));
        }
      }
    }
    const h = new Harness({ environment: { locks, BroadcastChannel } }, { storage, clock: this.clock });
    /** The page is unloaded: its lock is free, and nothing of it runs any more. */
    h.unload = () => {
      for (const channel of channels) this.#channels.delete(channel);
      h.session.connection.alarms.clearAll();
      if (this.#held?.owner === h) this.#release(this.#held);
      this.#queue = this.#queue.filter(({ owner }) => owner !== h);
      h.sockets.forEach((socket) => { socket.isClosed = true; socket.onmessage = socket.onclose = null; });
    };
    h.environment.locks.request = ((request) => (name, options, hold) => {
      this.owner = h;
      return request(name, options, hold);
    })(locks.request);
    return h;
  }

  #next() {
    if (this.#held || this.#queue.length === 0) return;
    this.#grant(this.#queue.shift());
  }

  #grant(entry) {
    entry.owner ??= this.owner;
    this.#held = entry;
    Promise.resolve(entry.hold({})).then((value) => {
      entry.resolve(value);
      this.#release(entry);
    });
  }

  #release(entry) {
    if (this.#held !== entry) return;
    this.#held = undefined;
    this.#next();
  }
}

async function twoTabs() {
  const browser = new Browser();
  const first = browser.tab();
  first.session.start();
  await first.reachOpening();
  first.answer('session.open', { result: first.opened() });
  first.event('call.incoming', incoming(first));
  const second = browser.tab();
  second.session.start();
  await settle();
  return { browser, first, second };
}

test('one tab has the session; the others are told where the call is', async () => {
  const { first, second } = await twoTabs();
  assert.deepEqual([first.session.state, second.session.state], ['open', 'elsewhere']);
  assert.deepEqual(second.session.callsElsewhere, [{ id: CALL, state: 'ringing', role: 'callee', peer: 'bob' }]);
  await assert.rejects(second.session.invite('bob'), { code: 'elsewhere' });
  await assert.rejects(second.session.opened(), { code: 'elsewhere' });
  first.event('call.ended', { call_id: CALL, reason: 'cancelled', at: 1, callkit_reason: 'remoteEnded' });
  await settle();
  assert.deepEqual(second.session.callsElsewhere, []);
  assert.equal(second.tokens.length, 0);
});

test('a tab takes the session over, and the tab before it lets go', async () => {
  const { first, second } = await twoTabs();
  const [moved] = first.session.calls;
  Object.assign(first.session.env, BROWSER);
  first.event('call.state', changed('connected'));
  new Media(moved, { video: true }).mute().catch(() => {});
  await settle();
  let event;
  moved.addEventListener('moved', ({ type }) => { event = type; });
  second.session.takeOver();
  await settle();
  assert.deepEqual([event, first.session.calls, first.state, first.socket.isClosed], ['moved', [], 'idle', true]);
  assert.ok(!first.methods().includes('session.close'), 'the call goes on');
  await second.reachOpening();
  const by = { user: 'alice', device_id: second.session.deviceId };
  Object.assign(second.session.env, BROWSER);
  second.answer('session.open', { result: second.opened({ calls: [snapshot('callee', 'connected', { by })] }) });
  await settle();
  assert.deepEqual([second.session.state, first.session.state], ['open', 'elsewhere']);
  assert.deepEqual(first.session.callsElsewhere.map(({ state }) => state), ['connected']);
  const media = new Media(second.session.calls[0]);
  assert.deepEqual([media.isMuted, media.isOnHold], [true, false], 'a muted microphone stays muted');
  media.close();
});

test('a tab that is loaded again in a call keeps it, though another tab waits', async () => {
  const { browser, first, second } = await twoTabs();
  await settle();
  first.unload();
  await settle();
  const again = browser.tab(first.storage);
  again.session.start();
  await browser.clock.advance(300);
  await again.reachOpening();
  assert.equal(again.socket.sent.at(-1).params.resume.last_seq, 1);
  again.answer('session.open', { result: again.opened({ resumed: true, calls: [snapshot('callee', 'ringing')] }) });
  await browser.clock.advance(5_000);
  assert.deepEqual([again.session.state, second.session.state, second.tokens.length], ['open', 'elsewhere', 0]);
});

test('when the tab with the session is closed, the next one takes its place', async () => {
  const { browser, first, second } = await twoTabs();
  first.unload();
  await browser.clock.advance(2_900);
  assert.equal(second.tokens.length, 0, 'it might be loaded again');
  await browser.clock.advance(200);
  assert.equal(second.tokens.length, 1);
  await second.reachOpening();
  assert.equal(second.state, 'opening');
});

// Networks

/** A page, of which a test says what happens to it. */
class Page extends EventTarget {
  document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  online() { this.dispatchEvent(new Event('online')); }
  shown() { this.document.dispatchEvent(new Event('visibilitychange')); }
}

test('a new network is tried at once: by a new connection, or by a question over the old one', async () => {
  const page = new Page();
  const h = new Harness({ environment: { page } });
  await h.reopen();
  page.online();
  assert.equal(h.socket.sent.at(-1).method, 'session.state');
  page.shown();
  assert.equal(h.socket.sent.filter(({ method }) => method === 'session.state').length, 1, 'one question at a time');
  await h.clock.advance(999);
  assert.equal(h.state, 'open');
  await h.clock.advance(1);
  assert.notEqual(h.state, 'open');
  lostAttempts: for (let tries = 0; tries < 5; tries += 1) {
    await h.giveToken();
    if (h.state === 'connecting') break lostAttempts;
    await h.clock.advance(1_000);
  }
  const stuck = h.socket;
  page.online();
  assert.deepEqual([stuck.isClosed, h.state], [true, 'authorizing'], 'a connection over the old network comes to nothing');
  await h.giveToken();
  h.socket.breaks();
  h.socket.breaks();
  assert.equal(h.state, 'waiting');
  page.shown();
  assert.equal(h.state, 'authorizing');
});

test('an answer to the question keeps the connection', async () => {
  const page = new Page();
  const h = new Harness({ environment: { page } });
  await h.reopen();
  page.online();
  h.answer('session.state', { result: {} });
  await h.clock.advance(60_000);
  assert.deepEqual([h.state, h.sockets.length], ['open', 1]);
});

test('a silent server is asked after two and a half ping intervals, and found dead', async () => {
  const h = new Harness();
  const welcome = h.welcome();
  welcome.params.ping_interval_ms = 20_000;
  h.welcome = () => welcome;
  await h.reopen();
  await h.clock.advance(49_999);
  assert.deepEqual(h.methods(), ['session.open']);
  await h.clock.advance(1);
  assert.deepEqual(h.methods(), ['session.open', 'session.state']);
  await h.clock.advance(10_000);
  assert.notEqual(h.state, 'open');
});

test('in a call the next attempt is never far away', async () => {
  const h = new Harness();
  await h.reopen();
  h.event('call.incoming', incoming(h, { expires_at: 9_000_000, remaining_ms: 8_000_000 }));
  h.tokenMode = 'fail';
  lost(h);
  await h.clock.advance(60_000);
  const waits = h.changes.filter(({ state }) => state === 'down').map(({ retryIn }) => retryIn);
  assert.ok(waits.length > 20 && Math.max(...waits) <= 2_000, `${waits}`);
});

// TURN

test('TURN credentials are refreshed before they expire, with a token', async () => {
  const asked = [];
  const server = (username, remaining) => ({
    urls: ['turn:t'], username, credential: 'c', expires_at: 1, remaining_ms: remaining,
  });
  const fetch = async (url, { headers }) => {
    asked.push([url, headers.authorization]);
    if (asked.length === 1) throw new Error('no network');
    return { ok: true, json: async () => ({ ice_servers: [server('new', 1_000_000)] }) };
  };
  const h = new Harness({ environment: { fetch } });
  await h.reopen({ ice_servers: [server('old', 100_000)] });
  assert.deepEqual(await h.session.iceServers(), [{ urls: ['turn:t'], username: 'old', credential: 'c' }]);
  h.tokenMode = 'auto';
  await h.clock.advance(80_001);
  assert.deepEqual(asked, [['http://server.test/v1/turn', 'Bearer t']]);
  let told = 0;
  h.session.addEventListener('iceservers', () => { told += 1; });
  await h.clock.advance(30_000);
  assert.deepEqual([asked.length, told], [2, 1]);
  assert.equal((await h.session.iceServers())[0].username, 'new');
  await h.clock.advance(800_000);
  assert.equal(asked.length, 3);
});

test('ICE servers without a time, or with none left, make no loop of timers', async () => {
  for (const remaining of [undefined, 'x', 0, -1]) {
    const servers = [{ urls: ['turn:t'], username: 'u', credential: 'c', remaining_ms: remaining }];
    let asked = 0;
    const fetch = async () => {
      asked += 1;
      return { ok: true, json: async () => ({ ice_servers: servers }) };
    };
    const h = new Harness({ environment: { fetch } });
    await h.reopen({ ice_servers: servers });
    h.tokenMode = 'auto';
    await h.clock.advance(59_000);
    assert.ok(asked <= 1, `${remaining}: ${asked}`);
  }
});

// The connection alone

test('a connection works without a session: requests and events', async () => {
  const clock = new Clock();
  const h = new Harness({}, { clock });
  const connection = new Connection({
    url: 'wss://calls.test/base/', token: () => 't', device: { id: 'd', platform: 'web' }, environment: h.environment,
  });
  connection.start();
  await settle();
  const socket = h.socket;
  assert.deepEqual([socket.url, socket.protocol], ['wss://calls.test/base/v1/signal', 'reveille.v1']);
  socket.opens();
  socket.says(h.welcome());
  socket.says({ id: socket.sent.at(-1).id, result: h.opened() });
  const events = [];
  connection.addEventListener('event', ({ detail }) => events.push(detail.method));
  socket.says({ method: 'call.state', params: { seq: 1, ...changed('ringing') } });
  const page = connection.request('call.list', { limit: 1 });
  socket.says({ id: socket.sent.at(-1).id, result: { calls: [] } });
  assert.deepEqual([await page, events], [{ calls: [] }, ['call.state']]);
});

test('a wrong url and a token that is no function are refused with the right ones', () => {
  const token = () => 't';
  for (const kind of [Connection, Session]) {
    for (const url of ['https://calls.test', 'wss://calls.test/v1/signal', 'ws://calls.test/base/v1/signal/']) {
      assert.throws(() => new kind({ url, token }), { name: 'TypeError', message: `give url as wss://HOST, not ${url}` });
    }
    for (const given of [undefined, 'a.b.c', Promise.resolve('t')]) {
      const refused = { name: 'TypeError', message: 'give token as a function' };
      assert.throws(() => new kind({ url: 'wss://calls.test', token: given }), refused);
    }
  }
});

test('glare: the page is told which of the two calls remains', async () => {
  const h = new Harness();
  await h.reopen();
  h.session.invite('bob', { id: CALL }).catch(() => {});
  const merged = [];
  h.session.addEventListener('merged', ({ detail }) => merged.push([detail.loser, detail.winner]));
  h.answer('call.invite', { result: { call_id: CALL, state: 'ended', reason: 'glare' } });
  h.event('call.ended', { call_id: CALL, reason: 'glare', at: 1, callkit_reason: 'remoteEnded', merged_into: callID(1) });
  assert.deepEqual(merged, [[CALL, callID(1)]]);
});
