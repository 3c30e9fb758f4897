// Chromium over the DevTools protocol, and a server of static files.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { repository } from './library.mjs';
import { WebSocket, until } from './server.mjs';

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

/** One tab. */
class Tab {
  #next = 1;
  #pending = new Map();

  constructor(socket, target) {
    this.socket = socket;
    this.target = target;
    socket.on('message', (data) => {
      const { id, result, error } = JSON.parse(data);
      const waiter = this.#pending.get(id);
      this.#pending.delete(id);
      if (error) waiter?.reject(new Error(error.message));
      else waiter?.resolve(result);
    });
    socket.on('close', () => {
      for (const { reject } of this.#pending.values()) reject(new Error('the tab is closed'));
      this.#pending.clear();
    });
  }

  send(method, params = {}) {
    return new Promise((resolve, reject) => {
      this.#pending.set(this.#next, { resolve, reject });
      this.socket.send(JSON.stringify({ id: this.#next++, method, params }));
    });
  }

  /** The value of an expression, or of its promise. */
  async run(expression) {
    const { result, exceptionDetails } = await this.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
    return result.value;
  }

  /** Waits until an expression is true; one that throws, as while the page loads, is not. */
  until(expression, timeout = 15_000) {
    return until(() => this.run(expression).catch(() => false), expression, timeout);
  }

  reload() { return this.send('Page.reload'); }
}

export class Browser {
  static async start(frequency) {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), 'reveille-web-browser-'));
    const file = join(browser.folder, 'tone.wav');
    writeFileSync(file, tone(frequency));
    const profile = join(browser.folder, 'profile');
    browser.child = spawn(program, ['--headless=new', '--no-sandbox', '--use-fake-ui-for-media-stream',
      '--use-fake-device-for-media-stream', `--use-file-for-fake-audio-capture=${file}`,
      '--autoplay-policy=no-user-gesture-required', '--disable-features=WebRtcHideLocalIpsWithMdns', '--disable-gpu',
      '--disable-dev-shm-usage', '--disable-background-timer-throttling', '--disable-renderer-backgrounding',
      '--remote-debugging-port=0', `--user-data-dir=${profile}`, 'about:blank'], { stdio: 'ignore', detached: true });
    const port = await until(() => {
      try {
        return readFileSync(join(profile, 'DevToolsActivePort'), 'utf8').split('\n')[0];
      } catch {
        return undefined;
      }
    }, 'chromium listens', 60_000);
    browser.base = `http://127.0.0.1:${port}`;
    return browser;
  }

  async open(url) {
    const target = await (await fetch(`${this.base}/json/new?${encodeURI(url)}`, { method: 'PUT' })).json();
    const socket = new WebSocket(target.webSocketDebuggerUrl, { perMessageDeflate: false });
    await new Promise((resolve, reject) => { socket.on('open', resolve).on('error', reject); });
    const tab = new Tab(socket, target);
    await tab.send('Page.enable');
    return tab;
  }

  close(tab) { return fetch(`${this.base}/json/close/${tab.target.id}`); }

  async stop() {
    const gone = new Promise((resolve) => { this.child.once('exit', resolve); });
    // Its process group: Chromium leaves children behind otherwise.
    process.kill(-this.child.pid, 'SIGKILL');
    await gone;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

/** The library, the test's page, and `/session`: the server's address and a token. */
export async function serveFiles(server) {
  const files = new Map([['/reveille.js', join(repository, 'Resources/web/reveille.js')], ['/', join(repository, 'Tests/Web/page.html')]]);
  const listener = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url, 'http://localhost');
    if (pathname === '/session') {
      response.setHeader('content-type', 'application/json');
      return response.end(JSON.stringify({ url: server.pageURL ?? server.url, token: server.token(searchParams.get('user')) }));
    }
    const file = files.get(pathname);
    if (!file) {
      response.statusCode = 404;
      return response.end();
    }
    response.setHeader('content-type', pathname === '/' ? 'text/html' : 'text/javascript');
    return response.end(readFileSync(file));
  });
  await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
  return { url: `http://127.0.0.1:${listener.address().port}/`, stop: () => listener.close() };
}
