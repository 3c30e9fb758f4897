// A real `reveille serve`, which a test may kill and start again, and a proxy that breaks connections.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { connect as connectHTTP2 } from 'node:http2';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { Session, repository } from './library.mjs';
import { kill, own, remove, temporaryFolder } from './processes.mjs';

export const { WebSocket, WebSocketServer } = createRequire(import.meta.url)('/usr/share/nodejs/ws');
export const program = process.env.REVEILLE
  ?? ['release', 'debug'].map((kind) => join(repository, '.build', kind, 'reveille')).find(existsSync);

export async function until(condition, what, timeout = 15_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`timed out waiting for: ${what ?? condition}`);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
  }
}

/** Linux gives outgoing connections ports from 32,768 up: one of those could be taken while a server is started again. */
export async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const isFree = await new Promise((resolve) => {
      const probe = createServer().on('error', () => resolve(false)).listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

/** Runs the server's program, and waits for a text in its output. */
export async function start(words, text, { environment = {}, timeout = 15_000 } = {}) {
  const child = own(spawn(program, words, { env: { ...process.env, ...environment } }));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { output += data; });
  await until(() => output.includes(text) || child.exitCode !== null, `${words.join(' ')}: ${text}`, timeout);
  if (child.exitCode !== null) throw new Error(output);
  return child;
}

export class Server {
  #tokens = new Map();

  host = '127.0.0.1';

  static async start(...options) {
    const server = await this.prepare(...options);
    await server.run();
    return server;
  }

  /** Not yet started. */
  static async prepare(...options) {
    const server = new this();
    const host = options.indexOf('--host');
    if (host >= 0) server.host = options[host + 1];
    server.data = temporaryFolder('web-server');
    server.port = await freePort();
    server.options = options;
    return server;
  }

  get url() { return `ws://${this.host}:${this.port}`; }

  /** The fragment of the softphone's address with more words, for a server that signs in by name. It has started once. */
  fragment(words = '') {
    const secret = readFileSync(join(this.data, 'sign-in.key'), 'utf8').trim();
    return `#secret=${secret}${words && `&${words}`}`;
  }

  get words() { return ['serve', '--data', this.data, '--port', String(this.port), ...this.options]; }

  async run() { this.child = await start(this.words, '"listening"'); }

  kill() { return kill(this.child); }

  /** The output of a command about this server. */
  say(...words) {
    return execFileSync(program, [...words, '--data', this.data], { encoding: 'utf8', maxBuffer: 1 << 28 });
  }

  /** The same, parsed. */
  ask(...words) { return JSON.parse(this.say(...words, '--output', 'json')); }

  token(user) {
    if (!this.#tokens.has(user)) this.#tokens.set(user, this.say('token', user).trim());
    return this.#tokens.get(user);
  }

  async stop() {
    await this.kill();
    remove(this.data);
  }
}

/** A server with an admin listener, for the board. */
export class BoardServer extends Server {
  tokens = { full: 'a-token-that-may-change', reading: 'a-token-that-may-only-look' };

  static async prepare(...options) {
    const server = await super.prepare(...options);
    for (const [name, token] of Object.entries(server.tokens)) writeFileSync(join(server.data, `${name}-token`), token);
    server.admin = await freePort();
    return server;
  }

  get board() { return `http://${this.host}:${this.admin}/board/`; }

  get words() {
    return [...super.words, '--admin-listen', `${this.host}:${this.admin}`, '--admin-token-file', join(this.data, 'full-token')];
  }

  /** `endpoints` is the content of the file of webhooks. */
  async run({ endpoints } = {}) {
    const environment = { REVEILLE_ADMIN_READ_TOKEN_FILE: join(this.data, 'reading-token') };
    if (endpoints !== undefined) writeFileSync(join(this.data, 'webhooks'), endpoints);
    if (existsSync(join(this.data, 'webhooks'))) environment.REVEILLE_WEBHOOKS_FILE = join(this.data, 'webhooks');
    this.child = await start(this.words, '"the admin API is listening"', { environment, timeout: 60_000 });
  }

  /** A busy machine's server refuses some of the standing calls as overloaded: the load is begun again. */
  async load(scenario, ...options) {
    const simulator = join(this.data, 'push-sim');
    const words = ['load', scenario, '--target', this.url, '--data', this.data, '--duration', '3000',
      ...(existsSync(simulator) ? ['--push-sim-data', simulator] : []), ...options];
    for (let tries = 1; ; tries += 1) {
      try {
        return await start(words, 'measuring', { timeout: 300_000 });
      } catch (error) {
        if (tries === 5 || !error.message.includes('overloaded')) throw error;
        await new Promise((resolve) => { setTimeout(resolve, 2_000); });
      }
    }
  }
}

const sessions = [];

/** Closes the sessions of a test that has failed: Node.js would run on for them. */
export const closeSessions = () => Promise.all(sessions.splice(0).map((open) => open.close()));

/** The push simulator as a Web Push service. `reveille serve --push-sim` finds it by its folder. */
export class PushSimulator {
  static async start(data) {
    const simulator = new PushSimulator();
    const ports = ['--port', '--sandbox-port', '--fcm-port', '--webpush-port'].flatMap((name) => [name, '0']);
    simulator.child = await start(['push-sim', 'run', '--data', data, ...ports], 'ready: start the server');
    const path = (name) => join(data, 'push-sim', name);
    const { webpush: { host, port }, ca_file: ca } = JSON.parse(readFileSync(path('push-sim.json'), 'utf8'));
    simulator.http = connectHTTP2(`https://${host}:${port}`, { ca: readFileSync(path(ca)) });
    return simulator;
  }

  /**
   * A browser's subscription for a server's key: `{ token, end }`, of which the first is what `device.update` takes.
   * `onPush` gets each push as the browser decrypts it: `{ content, show }`. `show` tells the simulator of the
   * notification, and returns its verdict: a browser that shows nothing for three pushes loses the subscription.
   */
  async subscribe(key, name, onPush) {
    const [{ token }] = await this.#ask('POST', 'phones', { body: { provider: 'webpush', topic: key, name } });
    const path = `phones/${token.split('#')[0].split('/').at(-1)}`;
    const show = async (id, notification) => {
      const [{ verdict }] = await this.#ask('POST', `${path}/reported`, { body: { push_id: id, ...notification } });
      return verdict;
    };
    await new Promise((resolve, reject) => {
      const onLine = ({ attached, headers, push }) => {
        if (attached) resolve();
        if (headers) onPush({ content: push, show: (notification) => show(headers['webpush-id'], notification) });
      };
      this.#ask('GET', path, { onLine }).catch(reject);
    });
    return {
      token: { provider: 'webpush', kind: 'data', environment: 'production', topic: key, token },
      end: () => this.#ask('DELETE', path),
    };
  }

  /** PushSimulatorSnapshot.Counts */
  async counts() {
    const [{ counts }] = await this.#ask('GET', 'state');
    return counts;
  }

  /** The lines of an answer, each JSON. */
  #ask(method, path, { body, onLine = () => {} } = {}) {
    return new Promise((resolve, reject) => {
      const stream = this.http.request({ ':path': `/simulator/v1/${path}`, ':method': method });
      const lines = [];
      let status;
      let text = '';
      const take = (line) => {
        lines.push(JSON.parse(line));
        onLine(lines.at(-1));
      };
      stream.on('response', (fields) => { status = fields[':status']; });
      stream.setEncoding('utf8').on('data', (data) => {
        text += data;
        const whole = text.split('\n');
        text = whole.pop();
        whole.filter(Boolean).forEach(take);
      });
      stream.on('error', reject).on('end', () => {
        if (status >= 300) return reject(new Error(`the push simulator answers ${method} ${path} with ${status} ${text}`));
        if (text) take(text);
        return resolve(lines);
      });
      stream.end(body && JSON.stringify(body));
    });
  }

  async stop() {
    this.http.destroy();
    await kill(this.child);
  }
}

/** A session in Node.js. */
export function session(server, user, options = {}) {
  const made = new Session({
    url: server.url, deviceId: crypto.randomUUID(), token: () => server.token(user), tabs: false, ...options,
    environment: { WebSocket, sessionStorage: undefined, ...options.environment },
  });
  made.start();
  sessions.push(made);
  return made;
}

/** Passes bytes on, breaks the connection after a number of bytes of a direction, once, or holds everything back. */
export class Proxy {
  #isHalfOpen = false;
  cutUp = Infinity;
  cutDown = Infinity;
  bytes = { up: 0, down: 0 };
  #sockets = new Set();

  static async start(port) {
    const proxy = new Proxy();
    proxy.listener = createServer((client) => proxy.#take(client, port));
    await new Promise((resolve) => { proxy.listener.listen(0, '127.0.0.1', resolve); });
    proxy.url = `ws://127.0.0.1:${proxy.listener.address().port}`;
    return proxy;
  }

  #take(client, port) {
    const server = connect(port, '127.0.0.1');
    const both = [client, server];
    const end = () => both.forEach((socket) => { socket.destroy(); this.#sockets.delete(socket); });
    for (const socket of both) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', end).on('close', end);
      if (this.#isHalfOpen) setImmediate(() => socket.pause());
    }
    const pass = (from, to, direction, limit) => from.on('data', (data) => {
      const left = this[limit] - this.bytes[direction];
      this.bytes[direction] += data.length;
      if (data.length <= left) return void to.write(data);
      this[limit] = Infinity;
      to.write(data.subarray(0, Math.max(0, left)), end);
    });
    pass(client, server, 'up', 'cutUp');
    pass(server, client, 'down', 'cutDown');
  }

  /** Connections stay, new ones are taken, and no byte passes. */
  set isHalfOpen(isHalfOpen) {
    this.#isHalfOpen = isHalfOpen;
    for (const socket of this.#sockets) {
      if (isHalfOpen) socket.pause();
      else socket.resume();
    }
  }

  breakAll() { for (const socket of this.#sockets) socket.destroy(); }

  stop() {
    this.breakAll();
    this.listener.close();
  }
}
