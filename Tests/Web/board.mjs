// Checks the board in Chromium against a real server with calls, a push simulator and faults. Prints a line a check.
// REVEILLE names the server's program; CHROMIUM the browser's; CALLS is the number of live calls for the frames (10000);
// SCREENSHOTS is a folder for pictures.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sentences } from '../../Resources/web/board/sentences.js';

const repository = join(dirname(fileURLToPath(import.meta.url)), '../..');
const program = process.env.REVEILLE ?? join(repository, '.build/debug/reveille');
const many = Number(process.env.CALLS ?? 10_000);
const pictures = process.env.SCREENSHOTS;
const tokens = { full: 'a-token-that-may-change', reading: 'a-token-that-may-only-look' };
const sleep = (milliseconds) => new Promise((resolve) => { setTimeout(resolve, milliseconds); });

async function until(condition, what, timeout = 30_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`in vain: ${what}`);
    await sleep(25);
  }
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

// MARK: Programs

const children = new Set();

/** Runs a program, and waits for a text in its output. */
async function run(arguments_, text, environment = {}) {
  const child = spawn(program, arguments_, { env: { ...process.env, ...environment } });
  children.add(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { output += data; });
  child.on('exit', () => children.delete(child));
  await until(() => output.includes(text) || child.exitCode !== null, `${arguments_.join(' ')}: ${text}`, 300_000);
  if (child.exitCode !== null) throw new Error(output);
  return child;
}

async function kill(child, signal = 'SIGKILL') {
  const gone = new Promise((resolve) => { child.once('exit', resolve); });
  child.kill(signal);
  await gone;
}

class Server {
  static async start(options = []) {
    const server = new Server();
    server.data = mkdtempSync(join(tmpdir(), 'reveille-board-'));
    for (const [name, token] of Object.entries(tokens)) writeFileSync(join(server.data, `${name}-token`), token);
    [server.port, server.admin, server.nobody] = [await freePort(), await freePort(), await freePort()];
    server.options = options;
    return server;
  }

  get url() { return `http://127.0.0.1:${this.admin}/board/`; }

  async run() {
    const arguments_ = ['serve', '--data', this.data, '--port', `${this.port}`, '--admin-listen', `127.0.0.1:${this.admin}`,
      '--admin-token-file', join(this.data, 'full-token'), ...this.options];
    // Nobody answers at the endpoint's port.
    writeFileSync(join(this.data, 'webhooks'), `- name: billing\n  url: http://127.0.0.1:${this.nobody}/\n`
      + '  secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]\n');
    this.child = await run(arguments_, '"the admin API is listening"', {
      REVEILLE_ADMIN_READ_TOKEN_FILE: join(this.data, 'reading-token'), REVEILLE_WEBHOOKS_FILE: join(this.data, 'webhooks'),
    });
  }

  /** The output of a command about this server, parsed. */
  ask(...command) {
    const text = execFileSync(program, [...command, '--data', this.data, '--output', 'json'], { encoding: 'utf8', maxBuffer: 1 << 28 });
    return JSON.parse(text);
  }

  /** A busy machine's server refuses some of the standing calls as overloaded: the load is begun again. */
  async load(scenario, ...options) {
    const simulator = join(this.data, 'push-sim');
    for (let tries = 1; ; tries += 1) {
      try {
        return await run(['load', scenario, '--target', `ws://127.0.0.1:${this.port}`, '--data', this.data, '--duration', '3000',
          ...(existsSync(simulator) ? ['--push-sim-data', simulator] : []), ...options], 'measuring');
      } catch (error) {
        if (tries === 5 || !error.message.includes('overloaded')) throw error;
      }
    }
  }
}

// MARK: Chromium

class Tab {
  constructor(browser, session) { Object.assign(this, { browser, session }); }

  send(method, params) { return this.browser.send(method, params, this.session); }

  async run(expression) {
    const params = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails: failed } = await this.send('Runtime.evaluate', params);
    if (failed) throw new Error(`${expression}: ${failed.exception?.description ?? failed.text}`);
    return result.value;
  }

  until(expression, timeout) { return until(() => this.run(expression).catch(() => false), expression, timeout); }

  text(selector) { return this.run(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`); }

  size(width, height) {
    return this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  }

  theme(value) { return this.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] }); }

  async key(key, modifiers = 0) {
    const isText = key.length === 1;
    const code = { Enter: 13, Escape: 27, Tab: 9, ArrowDown: 40, ArrowUp: 38, End: 35, Home: 36 }[key];
    const text = key === 'Enter' ? '\r' : isText ? key : undefined;
    await this.send('Input.dispatchKeyEvent', { type: 'keyDown', key, text, modifiers, windowsVirtualKeyCode: code });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, modifiers, windowsVirtualKeyCode: code });
  }

  async type(text) { for (const letter of text) await this.key(letter); }

  async picture(name) {
    if (!pictures) return;
    mkdirSync(pictures, { recursive: true });
    const { data } = await this.send('Page.captureScreenshot', { format: 'png' });
    writeFileSync(join(pictures, `${name}.png`), Buffer.from(data, 'base64'));
  }
}

class Browser {
  #next = 1;
  #pending = new Map();
  /** Exceptions and errors of all pages, such as violations of the content security policy. */
  faults = [];

  static async start() {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), 'reveille-board-browser-'));
    const flags = ['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--remote-debugging-pipe',
      '--disable-background-timer-throttling', '--disable-renderer-backgrounding', `--user-data-dir=${browser.folder}`];
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'];
    browser.child = spawn(process.env.CHROMIUM ?? 'chromium', [...flags, 'about:blank'], { stdio, detached: true });
    let buffer = '';
    browser.child.stdio[4].setEncoding('utf8').on('data', (data) => {
      buffer += data;
      const messages = buffer.split('\0');
      buffer = messages.pop();
      for (const message of messages) browser.#receive(JSON.parse(message));
    });
    return browser;
  }

  #receive({ id, result, error, method, params }) {
    if (method === 'Runtime.exceptionThrown') {
      this.faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    }
    // A lost connection and a refused token are logged by the network itself.
    if (method === 'Log.entryAdded' && params.entry.level === 'error' && params.entry.source !== 'network'
      && !params.entry.text.startsWith('WebSocket connection')) this.faults.push(params.entry.text);
    const waiter = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) waiter?.reject(new Error(error.message));
    else waiter?.resolve(result);
  }

  send(method, params = {}, sessionId = undefined) {
    return new Promise((resolve, reject) => {
      this.#pending.set(this.#next, { resolve, reject });
      this.child.stdio[3].write(`${JSON.stringify({ id: this.#next++, method, params, sessionId })}\0`);
    });
  }

  async open(url) {
    const { browserContextId } = await this.send('Target.createBrowserContext');
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    const tab = new Tab(this, sessionId);
    tab.close = () => this.send('Target.closeTarget', { targetId });
    for (const domain of ['Runtime', 'Log', 'Page', 'Accessibility']) await tab.send(`${domain}.enable`);
    await tab.size(1600, 900);
    await tab.send('Page.navigate', { url });
    return tab;
  }

  async stop() {
    const gone = new Promise((resolve) => { this.child.once('exit', resolve); });
    process.kill(-this.child.pid, 'SIGKILL');
    await gone;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

// MARK: Checks

let failures = 0;

async function check(name, body) {
  try {
    const detail = await body();
    console.log(`ok    ${name}${detail ? `: ${detail}` : ''}`);
  } catch (error) {
    failures += 1;
    console.log(`FAIL  ${name}: ${error.message}`);
  }
}

function same(found, expected, what) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)];
  if (a !== b) throw new Error(`${what}: found ${a.slice(0, 400)}, expected ${b.slice(0, 400)}`);
}

function holds(condition, what) { if (!condition) throw new Error(what); }

const shown = '[...document.querySelectorAll(".rows .call-row:not([hidden])")]';
const live = '(() => Number(document.querySelector("#calls-summary").textContent.match(/^(\\d+) live/)?.[1] ?? -1))()';

/** With the keyboard alone. */
async function signIn(tab, token) {
  await tab.until('!document.querySelector("#sign-in").hidden && document.activeElement.id === "token"');
  await tab.type(token);
  await tab.key('Enter');
}

async function signedIn(browser, server, token = tokens.full) {
  const tab = await browser.open(server.url);
  await signIn(tab, token);
  await tab.until(`${live} >= 0`);
  return tab;
}

const set = (selector, value, event) => `(() => { const e = document.querySelector(${JSON.stringify(selector)});
  e.value = ${JSON.stringify(value)}; e.dispatchEvent(new Event('${event}')); })()`;

async function checkSigningIn(browser, server) {
  await check('a wrong token is refused, says what to do, and is forgotten', async () => {
    const tab = await browser.open(server.url);
    await signIn(tab, 'a-token-of-another-server');
    await tab.until('document.querySelector("#sign-in-problem").textContent.includes("admin.token_file")');
    same(await tab.run('sessionStorage.length + localStorage.length'), 0, 'kept tokens');
    await tab.close();
  });
  await check('a token stays in sessionStorage only, and a reload keeps the board', async () => {
    const tab = await signedIn(browser, server);
    same(await tab.run('[sessionStorage.length, localStorage.length, document.cookie]'), [1, 0, ''], 'storage');
    holds(!(await tab.run('location.href')).includes(tokens.full), 'the token is in the address');
    await tab.send('Page.reload');
    await tab.until(`${live} >= 0`);
    await tab.run('document.querySelector("#sign-out").click()');
    same(await tab.run('sessionStorage.length'), 0, 'kept after signing out');
    await tab.close();
  });
}

async function checkCalls(tab, server) {
  await check('as many calls as `calls list --live` has', async () => {
    const counted = () => server.ask('calls', 'list', '--live', '--limit', '100000').calls.length;
    const found = await until(async () => {
      const before = counted();
      const board = await tab.run(live);
      return board === before && before > 0 && `${board}`;
    }, 'the numbers agree');
    return `${found} live`;
  });
  await check('only the visible rows exist', async () => {
    const [rows, all] = await tab.run(`[document.querySelectorAll('.rows .call-row').length,
      Number(document.querySelector('.calls-grid').getAttribute('aria-rowcount'))]`);
    holds(all > 200 && rows < 60, `${rows} rows of ${all}`);
    return `${rows} rows of ${all}`;
  });
  await check('the filter shows one state only, the search one user only', async () => {
    for (const state of ['ended', 'connected']) {
      await tab.run(set('#filter', state, 'change'));
      await tab.until(`${shown}.length > 0 && ${shown}.every((row) => row.children[0].textContent === '${state}')`);
    }
    await tab.run(set('#filter', 'all', 'change'));
    const user = await tab.run(`${shown}[0].children[2].textContent`);
    await tab.run(set('#search', user, 'input'));
    await tab.until(`${shown}.length > 0 && ${shown}.every((row) => [2, 3].some((cell) => row.children[cell].textContent.includes(${JSON.stringify(user)})))`);
    await tab.run(set('#search', '', 'input'));
  });
  await check('sorting by caller orders the rows, and reversing turns them', async () => {
    for (const isReversed of [false, true]) {
      await tab.run(set('#sort', 'from', 'change'));
      await tab.until(`(() => { const names = ${shown}.sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => row.children[2].textContent);
        return names.length > 5 && names.every((name, index) => index === 0 || (${isReversed} ? names[index - 1] >= name : names[index - 1] <= name)); })()`);
      if (!isReversed) await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    }
    await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    await tab.run(set('#sort', 'trouble', 'change'));
  });
}

async function checkStory(tab, server) {
  await check('the story of a call has the facts of `calls show --output json`', async () => {
    const { pushes } = server.ask('pushes', 'list', '--purpose', 'call', '--report', 'reported', '--limit', '50');
    const ids = pushes.map((push) => push.call_id);
    const id = ids.find((each) => server.ask('calls', 'show', each).call.state === 'ended');
    await tab.run(`location.hash = 'calls/${id}'`);
    await tab.until(`document.querySelector('#detail .timeline') && document.querySelector('#detail h2').textContent === 'call ${id}'`);
    const { call, legs, timeline } = server.ask('calls', 'show', id);
    const rows = await tab.run(`[...document.querySelectorAll('.timeline tbody tr')].map((row) =>
      [row.dataset.step, row.children[0].textContent, row.children[2].textContent.split('/')[0]])`);
    same(rows, timeline.map((entry) => [entry.step, `${(entry.offset_ms / 1000).toFixed(3)} s`, entry.user ?? '']), 'timeline');
    const facts = await tab.run(`Object.fromEntries([...document.querySelectorAll('#detail .facts dt')].map((name) =>
      [name.textContent, name.nextSibling.textContent]))`);
    same([facts.from.split('/')[0], facts.to], [call.from, call.to], 'parties');
    holds(facts.ended.includes(call.reason), facts.ended);
    same(await tab.run('document.querySelectorAll("#detail table")[0].tBodies[0].rows.length'), legs.length, 'devices');
    const frames = await tab.run('[...document.querySelectorAll(".ladder g text")].map((text) => text.textContent)');
    for (const name of ['call.invite', 'push', 'push.report', 'call.ringing']) holds(frames.includes(name), `${name} of ${frames}`);
    holds(frames.length === timeline.length, 'a step is not in the ladder');
    await tab.picture('story');
    await tab.key('Escape');
    await tab.until('document.querySelector("#detail").hidden');
    return `${timeline.length} steps`;
  });
}

/** The sentences of `calls show` as text: between the facts and the devices. */
function printedSentences(server, id) {
  const text = execFileSync(program, ['calls', 'show', id, '--data', server.data], { encoding: 'utf8' });
  return text.split('\n\n')[1].split('\n');
}

async function checkSentences(server) {
  await check('a story has the sentences that `calls show` prints', async () => {
    const byKind = new Map();
    for (const call of server.ask('calls', 'list', '--limit', '2000').calls.filter(({ state }) => state === 'ended')) {
      const kind = `${call.reason} ${call.answered_at !== undefined} ${call.ringing_at !== undefined}`;
      byKind.set(kind, [...(byKind.get(kind) ?? []), call.call_id].slice(0, 6));
    }
    const ids = [...byKind.values()].flat();
    for (const id of ids) {
      const printed = printedSentences(server, id);
      const own = sentences(server.ask('calls', 'show', id), Date.now());
      same(own, printed.slice(0, own.length), id);
      const advice = printed.slice(own.length).filter((line) => !/^A device that leaves|What to do:/.test(line));
      same(advice, [], `${id}: lines left out`);
    }
    return `${ids.length} calls of ${byKind.size} kinds`;
  });
}

async function checkPushes(tab, server) {
  await check('the ledger is that of `pushes audit`, and a leak leads to its pushes', async () => {
    const chips = `Object.fromEntries([...document.querySelectorAll('.chip')].map((chip) => {
      const [number, ...words] = chip.textContent.split(' '); return [words.join('_'), Number(number)]; }))`;
    await until(async () => {
      const { provider, report } = server.ask('pushes', 'audit');
      await tab.run('location.hash = "pushes"; location.hash = "pushes?open=true"; location.hash = "pushes"');
      await sleep(300);
      const found = await tab.run(chips);
      const pairs = [[found.accepted, provider.accepted], [found.rejected, provider.rejected], [found.unknown, provider.unknown],
        [found.reported, report.reported], [found.unreported, report.unreported]];
      return provider.rejected > 0 && pairs.every(([a, b]) => a === b);
    }, 'the counts agree');
    await tab.run(`[...document.querySelectorAll('a.chip')].find((chip) => chip.textContent.endsWith('rejected')).click()`);
    await tab.until(`(() => { const rows = [...document.querySelectorAll('#view tbody tr')];
      return rows.length > 0 && rows.every((row) => row.children[5].textContent === 'rejected'); })()`);
    await tab.picture('pushes');
    await tab.run('document.querySelector("#view tbody a").click()');
    await tab.until('document.querySelector("#detail .facts")?.textContent.includes("rejected")');
    const push = server.ask('pushes', 'show', (await tab.text('#detail h2')).split(' ')[1]).push;
    holds((await tab.text('#detail .facts')).includes(push.reason), 'the reason is not shown');
    return push.reason;
  });
}

async function checkEnding(tab, server) {
  await check('a call is ended with the keyboard alone, after two questions that name it', async () => {
    await tab.run('location.hash = "calls"');
    await tab.run(set('#filter', 'connected', 'change'));
    await tab.run(set('#sort', 'age', 'change'));
    await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    await tab.until(`document.querySelector('.call-row.selected.connected')`);
    await tab.run('document.querySelector(".calls-grid").focus()');
    await tab.key('ArrowDown');
    await tab.key('ArrowDown');
    await tab.run('new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); })');
    const id = await tab.run(`document.querySelector('.call-row.selected').dataset.call`);
    const from = await tab.run(`document.querySelector('.call-row.selected .from').textContent`);
    const question = async () => {
      await tab.key('e');
      await tab.until('document.querySelector("#ask").open');
      const words = await tab.text('#ask');
      holds(words.includes(id) && words.includes(from), words);
      await tab.key('Tab');
      await tab.key('Enter');
      await tab.until('document.querySelector("#ask").textContent.includes("cannot be undone")');
    };
    await question();
    await tab.picture('ask');
    // The second question's focus is on the answer that changes nothing.
    await tab.key('Enter');
    await tab.until('!document.querySelector("#ask").open');
    same(server.ask('calls', 'show', id).call.state, 'connected', 'after the answer no');
    await question();
    await tab.key('Tab');
    await tab.key('Enter');
    await tab.until('document.querySelector("#told").textContent.startsWith("ended the call from")');
    same(server.ask('calls', 'show', id).call.reason, 'admin', 'reason');
    await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    await tab.run(set('#filter', 'all', 'change'));
    await tab.run(set('#sort', 'trouble', 'change'));
  });
}

async function checkReading(browser, server) {
  await check('with a token for reading nothing can be changed, and each button says why', async () => {
    const tab = await signedIn(browser, server, tokens.reading);
    await tab.until('document.querySelector("#drain").disabled');
    holds((await tab.run('document.querySelector("#drain").title')).includes('admin.token_file'), 'no reason');
    const id = await tab.run(`${shown}.find((row) => row.classList.contains('connected')).dataset.call`);
    await tab.run(`location.hash = 'calls/${id}'`);
    await tab.until('document.querySelector("#detail .danger")?.disabled');
    await tab.key('e');
    await tab.until('document.querySelector("#told").textContent.includes("this token is for reading")');
    holds(!(await tab.run('document.querySelector("#ask").open')), 'the question was asked');
    await tab.close();
  });
}

async function checkLooks(tab) {
  const views = ['calls', 'pushes', 'latencies', 'sessions', 'devices', 'server'];
  await check('no view is wider than the screen, at 380 and 1,600 px, in both themes', async () => {
    for (const [width, height] of [[380, 800], [1600, 900]]) {
      await tab.size(width, height);
      for (const theme of ['light', 'dark']) {
        await tab.theme(theme);
        for (const view of views) {
          await tab.run(`location.hash = '${view}'`);
          await sleep(1200);
          await tab.picture(`${view}-${width}-${theme}`);
          const wide = await tab.run('document.documentElement.scrollWidth > innerWidth || document.querySelector("#view").scrollWidth > document.querySelector("#view").clientWidth');
          holds(!wide, `${view} at ${width} px`);
        }
      }
    }
    await tab.theme('light');
  });
  await check('every control and every region has a name for screen readers', async () => {
    const unnamed = [];
    for (const view of views) {
      await tab.run(`location.hash = '${view}'`);
      await sleep(300);
      const { nodes } = await tab.send('Accessibility.getFullAXTree');
      const roles = ['button', 'link', 'textbox', 'searchbox', 'combobox', 'spinbutton', 'grid', 'table', 'region', 'image', 'img', 'navigation'];
      for (const { role, name, ignored } of nodes) {
        if (!ignored && roles.includes(role?.value) && !name?.value) unnamed.push(`${role.value} in ${view}`);
      }
    }
    same(unnamed, [], 'without a name');
  });
}

async function checkReconnecting(tab, server) {
  await check('the server killed with -9: the board says so and how old it is, and comes back by itself', async () => {
    await tab.run('location.hash = "calls"');
    await kill(server.child);
    await tab.until('/server gone since .* is \\d+ s old/.test(document.querySelector("#link-text").textContent)');
    holds(await tab.run(`${shown}.length > 0`), 'the last picture is gone');
    holds(await tab.run('document.querySelector("#drain").disabled'), 'a change is offered');
    await tab.picture('gone');
    await sleep(3000);
    await server.run();
    const started = Date.now();
    await tab.until('document.querySelector("#link-text").textContent === "live"', 60_000);
    const time = Date.now() - started;
    await tab.until('/back after \\d+ s \\(restarted at/.test(document.querySelector("#told").textContent)');
    await until(async () => await tab.run(live) === server.ask('calls', 'list', '--live', '--limit', '100000').calls.length,
      'the calls of the new server');
    return `${time} ms after the server listened`;
  });
}

async function checkDraining(tab, server) {
  await check('a drain is asked twice, and is then a problem on top', async () => {
    for (const answer of ['Drain the server…', 'Yes, take no new calls']) {
      if (answer.startsWith('Drain')) await tab.run('document.querySelector("#drain").click()');
      await tab.run(`[...document.querySelectorAll('#ask button')].find((b) => b.textContent === ${JSON.stringify(answer)}).click()`);
    }
    await tab.until('document.querySelector("#problems").textContent.includes("draining")');
    await tab.picture('draining');
    same(server.ask('stats').server.is_draining, true, 'the server drains');
  });
}

// MARK: Devices and frames

async function checkDevices(tab, server) {
  await check('a suspended device is a problem with a link to why, and is resumed after two questions', async () => {
    await tab.until('document.querySelector("#problems").textContent.includes("suspended")', 120_000);
    await tab.run('document.querySelector("#problems a[href*=suspended]").click()');
    await tab.until('document.querySelector("#view tbody button")');
    await tab.picture('suspended');
    const before = server.ask('devices', 'list', '--suspended').devices.length;
    await tab.run('document.querySelector("#view tbody button").click()');
    await tab.until('document.querySelector("#ask").open');
    const words = await tab.text('#ask .thing');
    const device = words.match(/device ([0-9a-f-]{36})/)[1];
    for (const answer of ['Resume the device…', 'Yes, resume it']) {
      await tab.run(`[...document.querySelectorAll('#ask button')].find((b) => b.textContent === ${JSON.stringify(answer)}).click()`);
    }
    await tab.until('document.querySelector("#told").textContent.endsWith("resumed")');
    const left = server.ask('devices', 'list', '--suspended').devices;
    holds(!left.some(({ device_id: id }) => id === device), 'still suspended');
    return `${before} suspended before`;
  });
}

async function checkProblems(tab) {
  await check('a failing webhook is a problem on top, with a link to its figures', async () => {
    await tab.until('/webhook billing is failing, backlog \\d+: /.test(document.querySelector("#problems li.failure")?.textContent)');
    await tab.run('document.querySelector("#problems li.failure a").click()');
    await tab.until('[...document.querySelectorAll("#view td.failure")].some((cell) => cell.textContent === "failing")');
    const news = await tab.run('document.querySelector("#news").textContent');
    holds(news.includes('webhook billing is failing'), 'screen readers are not told');
    await sleep(2500);
    const later = await tab.run('document.querySelector("#news").textContent');
    holds(later === news || !later.includes('webhook'), 'the news is repeated');
    return tab.text('#problems li.failure span');
  });
}

/** Intervals of animation frames for a time, in ms. */
const intervals = (milliseconds) => `new Promise((resolve) => {
  const found = []; let last; const end = performance.now() + ${milliseconds};
  const step = (now) => { if (last !== undefined) found.push(now - last); last = now;
    if (now < end) requestAnimationFrame(step); else resolve(found); };
  requestAnimationFrame(step); })`;

const part = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

function frameFigures(found) {
  const sorted = [...found].sort((a, b) => a - b);
  const mean = found.reduce((sum, each) => sum + each, 0) / found.length;
  return { rate: 1000 / mean, p95: part(sorted, 0.95), p99: part(sorted, 0.99) };
}

async function checkFrames(browser) {
  const server = await Server.start();
  await server.run();
  const before = new Set(children);
  const steps = Math.ceil(many / 1000);
  for (let step = 0; step < steps; step += 1) {
    await server.load('online', '--standing', `${Math.ceil(many / steps)}`, '--rate', '2', '--hold', '5');
  }
  const empty = await browser.open(`${server.url}page.css`);
  await check(`${many} live calls at the frames of an empty page`, async () => {
    const tab = await signedIn(browser, server);
    await tab.until(`${live} >= ${many}`, 120_000);
    await tab.send('Page.bringToFront');
    const scrolled = `(() => { const rows = document.querySelector('.rows'); let y = 0;
      globalThis.scrolling = setInterval(() => { y = (y + 37) % (rows.scrollHeight - rows.clientHeight); rows.scrollTop = y; }, 16); })()`;
    const figures = {};
    figures.board = frameFigures(await tab.run(intervals(8000)));
    await tab.run(scrolled);
    figures.scrolled = frameFigures(await tab.run(intervals(8000)));
    await tab.run('clearInterval(globalThis.scrolling)');
    await tab.picture('many');
    await empty.send('Page.bringToFront');
    figures.empty = frameFigures(await empty.run(intervals(8000)));
    const words = Object.entries(figures).map(([name, { rate, p95, p99 }]) =>
      `${name} ${rate.toFixed(1)}/s p95 ${p95.toFixed(1)} p99 ${p99.toFixed(1)} ms`);
    const ratio = (name) => figures[name].rate / figures.empty.rate;
    const text = `${words.join('; ')}; ratio ${ratio('board').toFixed(2)}, scrolled ${ratio('scrolled').toFixed(2)}`;
    holds(ratio('board') > 0.8 && ratio('scrolled') > 0.7, text);
    return text;
  });
  for (const child of children) if (!before.has(child)) await kill(child);
  await kill(server.child);
  rmSync(server.data, { recursive: true, force: true });
}

async function main() {
  const browser = await Browser.start();
  const server = await Server.start(['--push-sim']);
  try {
    const ports = ['--port', '0', '--sandbox-port', '0', '--fcm-port', '0'];
    await run(['push-sim', ...ports, '--data', server.data], 'ready: start the server');
    await server.run();
    const fault = (...words) => execFileSync(program, ['push-sim', 'fault', ...words, '--data', server.data]);
    fault('refuse', '--reason', 'BadDeviceToken', '--count', '2');
    const load = await server.load('mixed', '--weights', 'online=40,wake=50,fanout=10', '--rate', '4', '--hold', '5', '--standing', '300',
      '--answer-ratio', '0.7', '--faults');
    await checkSigningIn(browser, server);
    const tab = await signedIn(browser, server);
    await checkProblems(tab);
    await tab.run('location.hash = "calls"');
    await checkCalls(tab, server);
    await checkStory(tab, server);
    await checkPushes(tab, server);
    await checkEnding(tab, server);
    await checkReading(browser, server);
    await checkSentences(server);
    fault('lose', '--count', '400');
    await checkDevices(tab, server);
    await checkLooks(tab);
    await checkSentences(server);
    await checkReconnecting(tab, server);
    await checkDraining(tab, server);
    await tab.close();
    await kill(load);
    await kill(server.child);
    if (many) await checkFrames(browser);
    await check('no exception, and no violation of the content security policy', () => same(browser.faults, [], 'faults'));
  } finally {
    await browser.stop();
    for (const child of children) await kill(child);
    rmSync(server.data, { recursive: true, force: true });
  }
  process.exitCode = failures ? 1 : 0;
}

await main();
