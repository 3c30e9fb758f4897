// The session over a network that loses, delays, repeats and goes silent, and over one that breaks at each byte.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALL, Clock, Harness, callID, seeded, settle } from './harness.mjs';
import { ModelServer } from './model.mjs';

const SEEDS = Number(process.env.SEEDS ?? 300);

/** The client, the server, and the network between them. Each direction keeps its order. */
class World {
  clock = new Clock();
  problems = [];
  seen = { resumed: 0, up: 0, repeated: 0, merged: 0, rejected: 0 };
  up = [];
  down = [];
  isSilent = false;
  #open = new Map();
  #tickets = 0;
  #announced = new Set();
  #ended = new Set();
  #merged = new Set();
  #gathered = new Map();
  #drainings = 0;
  #lastDraining = 0;

  constructor(seed, options = {}) {
    this.random = seeded(seed * 2_654_435_761 + 1);
    this.server = new ModelServer(this.clock);
    this.harness = new Harness({ automaticRinging: true, ...options }, { seed, clock: this.clock });
    this.harness.tokenMode = 'auto';
    this.harness.onsocket = (socket) => this.#connect(socket);
    this.#watch();
    this.session = this.harness.session;
    this.session.start();
  }

  draw(bound) { return Math.floor(this.random() * bound); }
  pick(from) { return from[this.draw(from.length)]; }

  #connect(socket) {
    this.socket = socket;
    this.up = [];
    this.down = [];
    this.isSilent = this.isSilent && this.draw(2) === 0;
    socket.onsent = (message) => { if (socket === this.socket && !this.isSilent) this.up.push(message); };
    queueMicrotask(() => {
      socket.opens();
      this.say([this.harness.welcome()]);
    });
  }

  say(messages) {
    if (!this.socket || this.socket.isClosed || this.isSilent) return;
    for (const message of messages) {
      this.down.push(message);
      // A second copy of an event or an answer must have no effect.
      if (this.isRepeating && this.draw(6) === 0 && message.method !== 'welcome') {
        this.down.push(message);
        this.seen.repeated += 1;
      }
    }
  }

  deliverUp() { if (this.up.length > 0) this.say(this.server.receive(this.up.shift())); }
  deliverDown() { if (this.down.length > 0 && !this.socket.isClosed) this.socket.says(this.down.shift()); }

  lose() {
    if (!this.socket || this.socket.isClosed) return;
    this.up = [];
    this.down = [];
    this.socket.breaks();
  }

  async pass(duration) {
    await this.clock.advance(duration);
    this.say(this.server.expire());
  }

  // What the page does and hears

  watchPromise(promise, name) {
    const ticket = ++this.#tickets;
    this.#open.set(ticket, name);
    const done = (isGood) => {
      if (!isGood) this.seen.rejected += 1;
      if (!this.#open.delete(ticket)) this.problems.push(`${name} settled twice`);
    };
    promise.then(() => done(true), (error) => {
      if (error.name !== 'ReveilleError' || !error.whatToDo) this.problems.push(`${name}: ${error.stack}`);
      done(false);
    });
  }

  act() {
    const call = this.pick(this.session.calls);
    if (!call) return;
    const isCallee = call.role === 'callee';
    const acts = [
      ['hangup', () => call.hangup()], ['get', () => call.get()], ['connected', () => call.connected()],
      ['update', () => call.update('info', { custom: ++this.#tickets })],
      ...(isCallee ? [['decline', () => call.decline()], ['answer', () => call.answer({ sdp: 'a' })]] : []),
    ];
    const [name, act] = this.pick(acts);
    this.watchPromise(act(), `${name} ${call.id}`);
  }

  invite() {
    const id = callID(2_000 + this.server.count());
    this.watchPromise(this.session.invite('bob', { id }), `invite ${id}`);
  }

  gather() {
    const call = this.pick(this.session.calls);
    if (!call) return;
    const candidate = `candidate ${++this.#tickets}`;
    this.#gathered.set(call.id, [...(this.#gathered.get(call.id) ?? []), candidate]);
    call.sendCandidates([candidate]);
  }

  drain() { this.say(this.server.emit('server.draining', { deadline_ms: ++this.#drainings })); }

  #watch() {
    const { session } = this.harness;
    const on = (type, hear) => session.addEventListener(type, ({ detail }) => hear(detail));
    on('incoming', ({ call: { id } }) => {
      if (this.#announced.has(id)) this.problems.push(`announced twice: ${id}`);
      this.#announced.add(id);
      // A call given up by a guess may be offered anew.
      this.#ended.delete(id);
    });
    on('ended', ({ call }) => {
      this.#announced.delete(call.id);
      if (this.#ended.has(call.id)) this.problems.push(`ended twice: ${call.id}`);
      this.#ended.add(call.id);
      if (!call.reason) this.problems.push(`ended without a reason: ${call.id}`);
    });
    for (const type of ['state', 'offer', 'peer', 'candidates', 'update']) {
      on(type, ({ call }) => { if (this.#ended.has(call.id)) this.problems.push(`${type} after the end: ${call.id}`); });
    }
    on('merged', ({ loser }) => {
      if (this.#merged.has(loser)) this.problems.push(`merged twice: ${loser}`);
      this.#merged.add(loser);
      this.seen.merged += 1;
    });
    on('draining', ({ deadline }) => {
      if (deadline <= this.#lastDraining) this.problems.push(`told twice or out of order: ${deadline}`);
      this.#lastDraining = deadline;
    });
    on('connection', ({ state, reason }) => {
      if (state in this.seen) this.seen[state] += 1;
      if (state === 'gone') this.problems.push(`gone: ${reason}`);
    });
  }

  async step() {
    const live = this.pick(this.server.live);
    switch (this.draw(27)) {
      case 0: case 1: case 2: case 3: case 4: case 5: return this.deliverDown();
      case 6: case 7: case 8: case 9: case 10: case 11: return this.deliverUp();
      case 12: case 13: return this.pass(this.draw(1_500));
      case 14: return this.draw(3) === 0 ? this.lose() : undefined;
      case 15: if (this.draw(10) === 0) this.isSilent = true; return undefined;
      case 16: return this.say(this.server.offer()[1]);
      case 17: return live && this.say(this.server.end(live, 'cancelled'));
      case 18: case 19: return this.act();
      case 20: return this.invite();
      case 21: return live && this.say(this.server.glare(live));
      case 22: return this.drain();
      case 23: return this.gather();
      case 24:
        if (this.draw(8) !== 0) return undefined;
        this.server.restart();
        return this.lose();
      case 25: return this.session.connection.networkChanged(this.draw(2) === 0);
      default: return live && this.say(this.server.farAnswer(live));
    }
  }

  async drainNetwork() {
    for (let turns = 0; (this.up.length > 0 || this.down.length > 0) && turns < 10_000; turns += 1) {
      this.deliverUp();
      this.deliverDown();
      if (turns % 20 === 0) await settle();
    }
  }

  /** The network gets well, and everything comes to rest. */
  async heal() {
    if (this.isSilent) {
      this.isSilent = false;
      this.lose();
    }
    for (let round = 0; round < 150; round += 1) {
      await settle();
      await this.drainNetwork();
      await this.pass(1_000);
    }
    await this.drainNetwork();
    await settle();
  }

  check() {
    const { problems, session, server } = this;
    if (session.state !== 'open') problems.push(`not open: ${session.connection.state}`);
    if (this.#open.size > 0) problems.push(`never settled: ${[...this.#open.values()]}`);
    const left = session.connection.outbox.map(({ method }) => method);
    if (left.length > 0) problems.push(`left over: ${left}`);
    problems.push(...server.violations);
    const own = Object.fromEntries(session.calls.map(({ id, state }) => [id, state]));
    const theirs = Object.fromEntries(server.live.map(({ id, state }) => [id, state]));
    for (const [id, state] of Object.entries(theirs)) {
      if (own[id] !== state) problems.push(`the server has ${id} ${state}, the page ${own[id]}`);
    }
    for (const id of Object.keys(own)) if (!theirs[id]) problems.push(`only the page has ${id}`);
    for (const call of server.live) {
      const missing = (this.#gathered.get(call.id) ?? []).filter((candidate) => !call.candidates.has(candidate));
      if (missing.length > 0) problems.push(`${missing.length} candidates of ${call.id} are lost`);
    }
    if (new Set(server.updates).size !== server.updates.length) problems.push('an update was taken twice');
  }
}

test(`whatever the network does, every promise settles and nothing is lost or told twice (${SEEDS} seeds)`, async () => {
  const all = { resumed: 0, up: 0, repeated: 0, merged: 0, rejected: 0 };
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const world = new World(seed);
    world.isRepeating = seed % 2 === 0;
    for (let steps = 0; steps < 400; steps += 1) {
      await world.step();
      if (steps % 4 === 0) await settle();
    }
    await world.heal();
    world.check();
    assert.deepEqual(world.problems.slice(0, 3), [], `seed ${seed}`);
    for (const name of Object.keys(all)) all[name] += world.seen[name];
    world.session.connection.abandon();
  }
  // It reaches what it is meant to test.
  for (const name of Object.keys(all)) assert.ok(all[name] > SEEDS / 5, `${name}: ${all[name]}`);
});

// A dialogue over a pipe that breaks once, after a number of bytes

const length = (message) => Buffer.byteLength(JSON.stringify({ jsonrpc: '2.0', ...message }));

/** Rings, is answered with candidates, connects, is held, and ends. Returns the bytes of each direction. */
async function dialogue(cutUp = Infinity, cutDown = Infinity) {
  const world = new World(1, { times: { backoffBase: 1 } });
  const bytes = { up: 0, down: 0 };
  const isCut = { up: false, down: false };
  const carry = async () => {
    for (;;) {
      await settle();
      if (world.up.length > 0) {
        bytes.up += length(world.up[0]);
        if (!isCut.up && bytes.up > cutUp) {
          isCut.up = true;
          world.lose();
        } else {
          world.deliverUp();
        }
      } else if (world.down.length > 0) {
        bytes.down += length(world.down[0]);
        if (!isCut.down && bytes.down > cutDown) {
          isCut.down = true;
          world.lose();
        } else {
          world.deliverDown();
        }
      } else if (['waiting', 'authorizing', 'connecting'].includes(world.session.connection.state)) {
        await world.pass(2);
      } else {
        return;
      }
    }
  };
  await carry();
  const [theirs, offered] = world.server.offer();
  world.say(offered);
  await carry();
  const [call] = world.session.calls;
  world.watchPromise(call.answer({ sdp: 'answer' }), 'answer');
  call.sendCandidates(['a', 'b'], true);
  await carry();
  world.watchPromise(call.connected(), 'connected');
  world.drain();
  await carry();
  world.watchPromise(call.update('hold'), 'hold');
  world.drain();
  await carry();
  world.watchPromise(call.get(), 'get');
  await carry();
  const before = [...theirs.candidates].sort();
  world.watchPromise(call.hangup(), 'hangup');
  await carry();
  await world.pass(300);
  await carry();
  world.check();
  assert.deepEqual(world.problems, [], `cut after ${cutUp} up, ${cutDown} down`);
  assert.deepEqual([theirs.state, theirs.reason, call.state, call.reason], ['ended', 'hangup', 'ended', 'hangup']);
  assert.deepEqual(before, ['a', 'b'], `cut after ${cutUp} up, ${cutDown} down`);
  // A state is told again with its details: who answered, and when.
  const told = world.harness.told.filter((name, index, all) => name !== 'ringing' && name !== all[index - 1]);
  const expected = ['incoming', 'answered', 'connected', 'ended hangup here'];
  assert.deepEqual(told, expected, `cut after ${cutUp} up, ${cutDown} down`);
  assert.equal(world.session.connection.lastSeq, world.server.session.acked, 'all is acknowledged');
  world.session.connection.abandon();
  return bytes;
}

test('a dialogue comes to the same end wherever the connection breaks', async () => {
  const whole = await dialogue();
  assert.ok(whole.up > 800 && whole.down > 1_000, JSON.stringify(whole));
  for (let cut = 0; cut < whole.up; cut += 1) await dialogue(cut);
  for (let cut = 0; cut < whole.down; cut += 1) await dialogue(Infinity, cut);
});
