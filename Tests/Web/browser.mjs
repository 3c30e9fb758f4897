// Chromium over the DevTools protocol, and a server of static files.

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { repository } from './library.mjs';
import { own, remove, temporaryFolder } from './processes.mjs';
import { until } from './server.mjs';

const program = process.env.CHROMIUM ?? 'chromium';

/** A tone of ten seconds, which Chromium repeats: 16 bits, one channel, whole periods. */
function tone(frequency) {
  const rate = 48_000;
  const samples = rate * 10;
  const wav = Buffer.alloc(44 + samples * 2);
  wav.write('RIFF', 0);
  wav.writeUInt32LE(36 + samples * 2, 4);
  wav.write('WAVEfmt ', 8);
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(rate, 24);
  wav.writeUInt32LE(rate * 2, 28);
  wav.writeUInt16LE(2, 32);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36);
  wav.writeUInt32LE(samples * 2, 40);
  for (let index = 0; index < samples; index += 1) {
    wav.writeInt16LE(Math.round(12_000 * Math.sin((2 * Math.PI * frequency * index) / rate)), 44 + index * 2);
  }
  return wav;
}

const KEYS = {
  Enter: { code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' }, Tab: { code: 'Tab', windowsVirtualKeyCode: 9 },
  Escape: { code: 'Escape', windowsVirtualKeyCode: 27 }, ' ': { code: 'Space', windowsVirtualKeyCode: 32, text: ' ' },
  End: { code: 'End', windowsVirtualKeyCode: 35 }, Home: { code: 'Home', windowsVirtualKeyCode: 36 },
  ArrowUp: { code: 'ArrowUp', windowsVirtualKeyCode: 38 }, ArrowDown: { code: 'ArrowDown', windowsVirtualKeyCode: 40 },
};

/** One tab. */
class Tab {
  constructor(browser, target, session) {
    Object.assign(this, { browser, target, session });
  }

  send(method, params) { return this.browser.send(method, params, this.session); }

  /** The value of an expression, or of its promise. */
  async run(expression) {
    const params = { expression, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails: failed } = await this.send('Runtime.evaluate', params);
    if (failed) throw new Error(`${expression}: ${failed.exception?.description ?? failed.text}`);
    return result.value;
  }

  /** Waits until an expression is true; one that throws, as while the page loads, is not. */
  until(expression, timeout = 15_000) {
    return until(() => this.run(expression).catch(() => false), expression, timeout);
  }

  /** Gives pages a function that runs here. Its argument and its result are JSON. */
  async expose(name, act) {
    this.browser.on('Runtime.bindingCalled', async ({ name: called, payload }, session) => {
      if (session !== this.session || called !== name) return;
      const { id, argument } = JSON.parse(payload);
      const outcome = await act(argument).then((result) => ({ result }), (error) => ({ fault: error.message }));
      // The page that asked may be gone.
      await this.run(`${name}.answer('${id}', ${JSON.stringify(outcome)})`).catch(() => {});
    });
    // A context that is made later gets the binding only from an enabled domain.
    await this.send('Runtime.enable');
    await this.send('Runtime.addBinding', { name });
    await this.before(`{
      const ask = window.${name};
      const asked = new Map();
      window.${name} = (argument) => new Promise((resolve, reject) => {
        const id = crypto.randomUUID();
        asked.set(id, ({ result, fault }) => (fault ? reject(new Error(fault)) : resolve(result)));
        ask(JSON.stringify({ id, argument }));
      });
      window.${name}.answer = (id, outcome) => asked.get(id)?.(outcome);
    }`);
  }

  text(selector) { return this.run(`document.querySelector(${JSON.stringify(selector)})?.innerText ?? ''`); }

  go(url) { return this.send('Page.navigate', { url }); }
  reload() { return this.send('Page.reload'); }
  close() { return this.browser.send('Target.closeTarget', { targetId: this.target }); }

  /** Runs a script before those of each page. */
  before(source) { return this.send('Page.addScriptToEvaluateOnNewDocument', { source }); }

  size(width, height) {
    return this.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  }

  /** `light`, `dark`, or undefined for the browser's own. */
  theme(value) {
    const features = value ? [{ name: 'prefers-color-scheme', value }] : [];
    return this.send('Emulation.setEmulatedMedia', { features });
  }

  async key(key, modifiers = 0) {
    const letter = key.toUpperCase();
    const isLetter = /^[A-Z]$/.test(letter);
    const given = KEYS[key] ?? (isLetter ? { code: `Key${letter}`, windowsVirtualKeyCode: letter.charCodeAt(0) } : {});
    // With Alt or Ctrl a letter is a command.
    const text = given.text ?? (key.length === 1 && modifiers === 0 ? key : undefined);
    const event = { key, modifiers, ...given, text };
    await this.send('Input.dispatchKeyEvent', { type: text ? 'keyDown' : 'rawKeyDown', ...event });
    await this.send('Input.dispatchKeyEvent', { type: 'keyUp', key, modifiers, code: given.code });
  }

  async type(text) { for (const letter of text) await this.key(letter); }

  /** A PNG file as a Buffer. */
  async picture() {
    return Buffer.from((await this.send('Page.captureScreenshot', { format: 'png' })).data, 'base64');
  }

  /** Saves the picture in the folder SCREENSHOTS, if there is one. */
  async save(name) {
    const folder = process.env.SCREENSHOTS;
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, `${name}.png`), await this.picture());
  }
}

export class Browser {
  #next = 1;
  #pending = new Map();
  /** Exceptions and errors of watched tabs, such as violations of the content security policy. */
  faults = [];
  #handlers = new Map();

  /**
   * The microphone hears a tone of `frequency`. `prefix` is a command that runs Chromium in another place. The protocol
   * goes over pipes, so any place will do.
   */
  static async start(frequency = 440, { prefix = [], flags = [] } = {}) {
    const browser = new Browser();
    browser.folder = temporaryFolder('web-browser');
    const file = join(browser.folder, 'tone.wav');
    writeFileSync(file, tone(frequency));
    const [command, ...rest] = [...prefix, program, '--headless=new', '--no-sandbox', '--use-fake-ui-for-media-stream',
      '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${file}`,
      '--autoplay-policy=no-user-gesture-required', '--disable-features=WebRtcHideLocalIpsWithMdns', '--disable-gpu',
      '--disable-dev-shm-usage', '--disable-background-timer-throttling', '--disable-renderer-backgrounding',
      '--remote-debugging-pipe', `--user-data-dir=${join(browser.folder, 'profile')}`, ...flags, 'about:blank'];
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'];
    // Its process group: Chromium leaves children behind otherwise.
    browser.child = own(spawn(command, rest, { stdio, detached: true }), { isGroup: true });
    browser.child.on('exit', () => browser.#fail(new Error('chromium has ended')));
    browser.child.stdio[3].on('error', () => {});
    let buffer = '';
    browser.child.stdio[4].setEncoding('utf8').on('data', (data) => {
      buffer += data;
      const messages = buffer.split('\0');
      buffer = messages.pop();
      for (const message of messages) browser.#receive(JSON.parse(message));
    });
    await browser.send('Browser.getVersion');
    return browser;
  }

  /** Hears an event of the protocol. */
  on(method, handler) { this.#handlers.set(method, [...this.#handlers.get(method) ?? [], handler]); }

  #receive({ id, result, error, method, params, sessionId }) {
    for (const handler of this.#handlers.get(method) ?? []) handler(params, sessionId);
    if (method === 'Runtime.exceptionThrown') {
      this.faults.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
    }
    // A lost connection and a refused token are logged by the network itself.
    if (method === 'Log.entryAdded' && params.entry.level === 'error' && params.entry.source !== 'network'
      && !params.entry.text.startsWith('WebSocket connection')) this.faults.push(params.entry.text);
    const waiter = this.#pending.get(id);
    this.#pending.delete(id);
    clearTimeout(waiter?.timer);
    if (error) waiter?.reject(new Error(error.message));
    else waiter?.resolve(result);
  }

  #fail(error) {
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  send(method, params = {}, sessionId = undefined) {
    return new Promise((resolve, reject) => {
      const silent = () => reject(new Error(`Chromium does not answer ${method} ${JSON.stringify(params).slice(0, 200)}`));
      this.#pending.set(this.#next, { resolve, reject, timer: setTimeout(silent, 60_000) });
      this.child.stdio[3].write(`${JSON.stringify({ id: this.#next++, method, params, sessionId })}\0`);
    });
  }

  /**
   * `isApart`: with storage of its own. `isWatched`: its errors are in `faults`. `script` runs before those of the page, and
   * may call the `functions`, which run here.
   */
  async open(url, { isApart = false, isWatched = false, script = '', functions = {}, size = undefined } = {}) {
    const { browserContextId } = isApart ? await this.send('Target.createBrowserContext') : {};
    const { targetId } = await this.send('Target.createTarget', { url: 'about:blank', browserContextId });
    const tab = await this.attach(targetId);
    await tab.send('Page.enable');
    if (isWatched) for (const domain of ['Runtime', 'Log', 'Accessibility']) await tab.send(`${domain}.enable`);
    for (const [name, act] of Object.entries(functions)) await tab.expose(name, act);
    if (script) await tab.before(script);
    if (size) await tab.size(...size);
    if (url !== 'about:blank') await tab.go(url);
    return tab;
  }

  /** To a tab, or to a service worker. */
  async attach(targetId) {
    const { sessionId } = await this.send('Target.attachToTarget', { targetId, flatten: true });
    return new Tab(this, targetId, sessionId);
  }

  async targets(type) { return (await this.send('Target.getTargets')).targetInfos.filter((target) => target.type === type); }

  close(tab) { return tab.close(); }

  async stop() {
    const gone = new Promise((resolve) => { this.child.once('exit', resolve); });
    process.kill(-this.child.pid, 'SIGKILL');
    await gone;
    remove(this.folder);
  }
}

/** The first page of the article BuildForTheWeb for a server: `html`, and its script, `js`. */
function example(server) {
  const article = readFileSync(join(repository, 'Sources/SignalProtocol/SignalProtocol.docc/BuildForTheWeb.md'), 'utf8');
  const [, html, js] = article.match(/```html\n(.*?)```.*?```js\n(.*?)```/s);
  return { html, js: js.replace('wss://calls.example.com', server.url) };
}

/** What a backend answers to the user of a cookie, as text that ends with a new line. Nobody has an error page. */
function callToken(server, { headers: { cookie } }, response) {
  const user = cookie.split('=')[1];
  response.statusCode = user === 'nobody' ? 404 : 200;
  response.end(user === 'nobody' ? '<h1>Not found</h1>' : `${user === 'mallory' ? 'no.to.ken' : server.token(user)}\n`);
}

/**
 * The library, the test's page, and `/session`: the server's address and a token. `/example` is the page of the article
 * under the server's policy for scripts; `/call-token` knows its user by a cookie, as a backend does. `url` is the server's
 * address, or a proxy's.
 */
export async function serveFiles(server, url = server.url) {
  const files = new Map([
    ['/reveille.js', join(repository, 'Resources/web/reveille.js')], ['/', join(repository, 'Tests/Web/page.html')],
  ]);
  const listener = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    if (pathname === '/session') {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ url, token: server.token(searchParams.get('user')) }));
    }
    if (pathname === '/call-token') return callToken(server, request, response);
    if (pathname === '/page.js') {
      response.setHeader('content-type', 'text/javascript');
      return response.end(example(server).js);
    }
    if (pathname === '/example') {
      response.setHeader('content-type', 'text/html; charset=utf-8');
      response.setHeader('set-cookie', `user=${searchParams.get('user')}`);
      response.setHeader('content-security-policy', "script-src 'self'");
      return response.end(example(server).html);
    }
    const file = files.get(pathname);
    if (!file) {
      response.statusCode = 404;
      return response.end();
    }
    response.setHeader('content-type', pathname === '/' ? 'text/html' : 'text/javascript');
    return response.end(readFileSync(file));
  });
  await new Promise((resolve) => { listener.listen(0, server.host, resolve); });
  return { url: `http://${server.host}:${listener.address().port}/`, stop: () => listener.close() };
}
