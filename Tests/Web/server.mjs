// A real `reveille serve`, which a test may kill and start again, and a proxy that breaks connections.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Session, repository } from './library.mjs';

export const { WebSocket, WebSocketServer } = createRequire(import.meta.url)('/usr/share/nodejs/ws');
export const program = process.env.REVEILLE
  ?? ['release', 'debug'].map((kind) => join(repository, '.build', kind, 'reveille')).find(existsSync);

export async function until(condition, what, timeout = 15_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`in vain: ${what ?? condition}`);
    await new Promise((resolve) => { setTimeout(resolve, 5); });
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

export class Server {
  #tokens = new Map();

  host = '127.0.0.1';

  static async start(...options) {
    const server = new Server();
    const host = options.indexOf('--host');
    if (host >= 0) server.host = options[host + 1];
    server.data = mkdtempSync(join(tmpdir(), 'reveille-web-server-'));
    server.port = await freePort();
    server.options = options;
    await server.run();
    return server;
  }

  get url() { return `ws://${this.host}:${this.port}`; }

  async run() {
    const child = spawn(program, ['serve', '--data', this.data, '--port', String(this.port), ...this.options]);
    this.child = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => { output += data; });
    await until(() => output.includes('"listening"') || child.exitCode !== null, 'the server listens');
    if (child.exitCode !== null) throw new Error(output);
  }

  async kill() {
    const gone = new Promise((resolve) => { this.child.once('exit', resolve); });
    this.child.kill('SIGKILL');
    await gone;
  }

  token(user) {
    if (!this.#tokens.has(user)) {
      this.#tokens.set(user, execFileSync(program, ['token', user, '--data', this.data], { encoding: 'utf8' }).trim());
    }
    return this.#tokens.get(user);
  }

  async stop() {
    await this.kill();
    rmSync(this.data, { recursive: true, force: true });
  }
}

/** A session in Node.js. */
export function session(server, user, options = {}) {
  const made = new Session({
    url: server.url, deviceId: crypto.randomUUID(), token: () => server.token(user), tabs: false, ...options,
    environment: { WebSocket, sessionStorage: undefined, ...options.environment },
  });
  made.start();
  return made;
}

/** Passes bytes on, and breaks the connection after a number of bytes of a direction, once. */
export class Proxy {
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

  breakAll() { for (const socket of this.#sockets) socket.destroy(); }

  stop() {
    this.breakAll();
    this.listener.close();
  }
}
