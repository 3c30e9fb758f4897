#!/usr/bin/env node
// Random faults in Chromium, in calls between two pages: the server is killed and started again, a page is loaded again,
// connections break, the network is slow or away, the microphone is denied, and either side hangs up at any step. After
// each call every promise of the library has settled, both pages and the server have the same end, and no event was lost
// or told twice. Prints a line for each call with its seed. SEED repeats one call; SEEDS is a number of calls, instead
// of as many as fit in 70 seconds.

import { Browser, serveFiles } from './browser.mjs';
import { check, finish, holds, pause, same } from './checks.mjs';
import { seeded } from './harness.mjs';
import { Pair } from './pair.mjs';
import { Proxy, Server, until } from './server.mjs';

const TIME = 70_000;

/** Before the page's own scripts: a log that outlives the page, and what of the library has not yet settled. */
const WATCH = `(() => {
  const log = JSON.parse(sessionStorage.testLog ?? '[]');
  log.push = (entry) => {
    Array.prototype.push.call(log, entry);
    sessionStorage.testLog = JSON.stringify(log);
  };
  window.keptLog = log;
  const pending = new Map();
  let next = 1;
  const watch = (target, name, label) => {
    const real = target[name];
    target[name] = function (...given) {
      const result = real.apply(this, given);
      if (!(result instanceof Promise)) return result;
      const number = next++;
      pending.set(number, label);
      const isInfo = label === 'Call.update' && given[0] === 'info';
      result.then(() => isInfo && log.push({ type: 'accepted', id: this.id, number: given[1].custom.number }), (error) => {
        if (error?.name !== 'ReveilleError' || !error.whatToDo) log.push({ type: 'untyped', label, error: String(error?.stack ?? error) });
      }).finally(() => pending.delete(number));
      return result;
    };
  };
  window.watchLibrary = ({ Session, Call, Media }) => {
    watch(Media, 'dial', 'Media.dial');
    for (const [type, label] of [[Session, 'Session'], [Call, 'Call'], [Media, 'Media']]) {
      for (const name of Object.getOwnPropertyNames(type.prototype)) {
        const { value } = Object.getOwnPropertyDescriptor(type.prototype, name);
        if (typeof value === 'function' && name !== 'constructor' && !name.startsWith('_')) watch(type.prototype, name, label + '.' + name);
      }
    }
  };
  window.unsettled = () => [...pending.values()];
})();`;

const server = await Server.start();
const proxy = await Proxy.start(server.port);
const files = await serveFiles(server, proxy.url);
const origin = files.url.replace(/\/$/, '');

async function open(user, frequency) {
  const tab = await (await Browser.start(frequency)).open(`${files.url}?user=${user}`, { script: WATCH });
  await tab.send('Network.enable');
  return tab;
}

const ann = await open('ann', 440);
const ben = await open('ben', 880);
const pair = new Pair(ann, ben);
const CALL = 'page.session.calls[0]';
const quietly = (tab, expression) => tab.run(`void (${expression})`).catch(() => {});
const logOf = (tab) => tab.run(`JSON.parse(sessionStorage.testLog ?? '[]')`);
const stateOf = (tab) => tab.run(`${CALL}?.state`).catch(() => undefined);

// Faults

const setNetwork = (tab, conditions) => tab.send('Network.emulateNetworkConditions', {
  offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: -1, ...conditions,
});
const setMicrophone = (tab, setting) => tab.browser.send('Browser.setPermission', { permission: { name: 'microphone' }, setting, origin });

const turns = new Map();

/** One at a time of what a page does not outlive together: loaded while its network is away, it stays empty. */
function inTurn(tab, act) {
  const turn = (turns.get(tab) ?? Promise.resolve()).then(act);
  turns.set(tab, turn.catch(() => {}));
  return turn;
}

async function reload(tab) {
  await tab.run('window.isLeft = true');
  await tab.reload();
  await tab.until(`!window.isLeft && typeof page === 'object'`);
}

/** Each begins now; the promise is its end. */
const FAULTS = {
  async kill(random) {
    await server.kill();
    await pause(random() * 1_200);
    await server.run();
  },
  async reload(random) {
    const tab = random() < 0.5 ? ann : ben;
    await inTurn(tab, () => reload(tab));
  },
  async cut() { proxy.breakAll(); },
  async cutUp(random) { proxy.cutUp = proxy.bytes.up + Math.floor(random() * 3_000); },
  async cutDown(random) { proxy.cutDown = proxy.bytes.down + Math.floor(random() * 3_000); },
  async slow(random) {
    const tab = random() < 0.5 ? ann : ben;
    await setNetwork(tab, { latency: 300, downloadThroughput: 30_000, uploadThroughput: 30_000 });
    await pause(1_500);
    await setNetwork(tab, {});
  },
  async offline(random) {
    const tab = random() < 0.5 ? ann : ben;
    await inTurn(tab, async () => {
      await setNetwork(tab, { offline: true });
      // The browser tells the page, but keeps its sockets.
      proxy.breakAll();
      await pause(300 + random() * 1_200);
      await setNetwork(tab, {});
    });
  },
  async denied(random) {
    const tab = random() < 0.5 ? ann : ben;
    await setMicrophone(tab, 'denied');
    await pause(500 + random() * 1_000);
    await setMicrophone(tab, 'granted');
  },
  async hangup(random) { await quietly(random() < 0.5 ? ann : ben, `${CALL}?.hangup()`); },
};

/** Faults of one call, by their names, in order. */
class Trouble {
  names = [];
  #running = [];

  constructor(random) { this.random = random; }

  /** Perhaps begins a fault, a little later. */
  perhaps(share) {
    if (this.random() > share) return;
    const names = Object.keys(FAULTS);
    const name = names[Math.floor(this.random() * names.length)];
    // One server: it is killed once at a time.
    if (name === 'kill' && this.names.includes('kill')) return;
    this.names.push(name);
    const wait = this.random() * 300;
    const random = seeded(Math.floor(this.random() * 2 ** 32));
    this.#running.push(pause(wait).then(() => FAULTS[name](random)));
  }

  async over() {
    await Promise.all(this.#running);
    proxy.cutUp = proxy.cutDown = Infinity;
  }
}

// A call

/** The call may end at any step. */
async function callWithFaults(trouble) {
  const reached = (tab, states, timeout) => until(async () => states.includes(await stateOf(tab)), 'a state', timeout)
    .then(() => true, () => false);
  trouble.perhaps(0.5);
  await quietly(ann, `page.dial('ben').catch(() => {})`);
  trouble.perhaps(0.4);
  if (await reached(ben, ['ringing'], 5_000)) {
    trouble.perhaps(0.5);
    await quietly(ben, `page.answer().catch(() => {})`);
    trouble.perhaps(0.3);
    if (!await reached(ben, ['answered', 'connected'], 3_000)) await quietly(ben, `page.answer().catch(() => {})`);
  }
  await reached(ann, ['connected'], 3_000);
  for (let number = 1; number <= 6; number += 1) {
    for (const tab of pair.tabs) await quietly(tab, `${CALL}?.update('info', { custom: { number: ${number} } }).catch(() => {})`);
    if (number % 2 === 0) trouble.perhaps(0.5);
    await pause(trouble.random() * 250);
  }
  if (trouble.random() < 0.3) await quietly(trouble.random() < 0.5 ? ann : ben, `${CALL}?.hangup()`);
  await trouble.over();
}

async function waitUntilIdle() {
  for (const tab of pair.tabs) await tab.until(`page.session.state === 'open'`, 30_000);
  // A call that both still have works.
  await pause(300);
  const states = await Promise.all(pair.tabs.map(stateOf));
  const isTalk = states.every((state) => state === 'connected');
  if (isTalk) await pair.bothHear(15_000);
  for (const tab of pair.tabs) await quietly(tab, `${CALL}?.hangup().catch(() => {})`);
  for (const tab of pair.tabs) await tab.until('page.session.calls.length === 0', 20_000);
  await until(() => server.ask('calls', 'list', '--live').calls.length === 0, 'no live call at the server', 20_000);
  for (const tab of pair.tabs) {
    await tab.until('unsettled().length === 0', 20_000).catch(async () => {
      throw new Error(`promises that have not settled: ${await tab.run('unsettled().join()')}`);
    });
  }
  return isTalk;
}

// The invariants

const RANK = { routing: 0, waking: 1, ringing: 2, answered: 3, connected: 4, ended: 5 };

/** Of what one page has told about one call. */
function checkStory(entries, who) {
  const story = JSON.stringify(entries);
  const count = (type) => entries.filter((entry) => entry.type === type).length;
  holds(count('incoming') + count('outgoing') <= 1, `${who} was told twice of a call: ${story}`);
  holds(count('ended') <= 1, `${who} was told twice of its end: ${story}`);
  const last = entries.findLastIndex(({ type }) => type === 'ended');
  const later = entries.slice(last + 1).filter(({ type }) => type !== 'accepted' && type !== 'merged');
  holds(last < 0 || later.length === 0, `${who} was told more after the end: ${story}`);
  const ranks = entries.filter(({ type }) => type === 'state').map(({ state }) => RANK[state]);
  holds(ranks.every((rank, index) => index === 0 || rank >= ranks[index - 1]), `${who}: a state went back: ${story}`);
  const numbers = entries.filter(({ type, kind }) => type === 'update' && kind === 'info').map(({ custom }) => custom.number);
  holds(numbers.every((number, index) => index === 0 || number > numbers[index - 1]), `${who}: updates doubled or out of order: ${numbers}`);
  return { numbers, accepted: entries.filter(({ type }) => type === 'accepted').map(({ number }) => number), ended: entries[last] };
}

function checkAgreement(id, sides, wasKilled) {
  const told = Object.entries(sides).filter(([, { ended }]) => ended);
  let call;
  try {
    ({ call } = server.ask('calls', 'show', id));
  } catch (error) {
    // Never reached the server.
    holds(/no call|not_found|not found/i.test(`${error.stderr ?? error.message}`), `calls show ${id}: ${error.stderr ?? error.message}`);
    return;
  }
  same(call.state, 'ended', `the server's state of ${id}`);
  for (const [who, { ended }] of told) same(ended.reason, call.reason, `how call ${id} ended for ${who} and for the server`);
  // An update that the server took may be lost with the server.
  if (wasKilled || !sides.ann || !sides.ben) return;
  for (const [from, to] of [['ann', 'ben'], ['ben', 'ann']]) {
    const lost = sides[from].accepted.filter((number) => !sides[to].numbers.includes(number));
    same(lost, [], `accepted updates from ${from} that never came to ${to}`);
  }
}

async function checkInvariants(names) {
  const logs = { ann: await logOf(ann), ben: await logOf(ben) };
  const problems = (await Promise.all(pair.tabs.map((tab) => tab.run('page.problems')))).flat();
  same(problems.filter((text) => /unhandled|InvalidState|TypeError|ReferenceError/.test(text)), [], 'problems');
  same(Object.values(logs).flat().filter(({ type }) => type === 'untyped'), [], 'rejections without advice');
  const ids = new Set(Object.values(logs).flat().map(({ id }) => id).filter(Boolean));
  for (const id of ids) {
    const sides = {};
    for (const [who, log] of Object.entries(logs)) {
      const entries = log.filter((entry) => entry.id === id);
      if (entries.length > 0) sides[who] = checkStory(entries, who);
    }
    checkAgreement(id, sides, names.includes('kill'));
  }
}

async function run(seed) {
  const trouble = new Trouble(seeded(seed));
  await pair.check(`SEED=${seed}`, async () => {
    for (const tab of pair.tabs) await tab.run(`(() => { keptLog.length = 0; delete sessionStorage.testLog; page.problems.length = 0; page.media = undefined; })()`);
    let isTalk;
    try {
      await callWithFaults(trouble);
      isTalk = await waitUntilIdle();
      await checkInvariants(trouble.names);
    } catch (error) {
      throw new Error(`${error.message} (faults: ${trouble.names.join(', ') || 'none'})`);
    }
    return `${trouble.names.join(', ') || 'no fault'}${isTalk ? '; both talk' : ''}`;
  });
  await trouble.over();
}

for (const tab of pair.tabs) await tab.until(`page.session.state === 'open'`, 30_000);
await check('the watched library is the one that the page uses', async () => {
  same(await ann.run('unsettled()'), [], 'unsettled');
  const found = await ann.run(`(() => {
    const asked = page.session.request('call.list');
    const during = unsettled();
    return asked.then(() => during);
  })()`);
  same(found, ['Session.request'], 'while a request is under way');
  await ann.until('unsettled().length === 0');
});
if (process.env.SEED) {
  await run(Number(process.env.SEED));
} else {
  const first = Date.now() % 1_000_000;
  const end = Date.now() + TIME;
  const count = process.env.SEEDS ? Number(process.env.SEEDS) : Infinity;
  for (let index = 0; index < count && (process.env.SEEDS || Date.now() < end); index += 1) await run(first + index);
}
finish();
