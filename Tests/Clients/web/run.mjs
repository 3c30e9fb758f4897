#!/usr/bin/env node
// Runs Resources/clients/web/reveille.js in Node.js against a scripted server. The WebSocket is that of the package ws
// (Debian: node-ws).

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { WebSocket, WebSocketServer } = createRequire(import.meta.url)('/usr/share/nodejs/ws');
globalThis.WebSocket = WebSocket;

const folder = mkdtempSync(join(tmpdir(), 'reveille-web-'));
process.on('exit', () => rmSync(folder, { recursive: true }));
const source = join(dirname(fileURLToPath(import.meta.url)), '../../../Resources/clients/web/reveille.js');
copyFileSync(source, join(folder, 'reveille.mjs'));
const { ReveilleError, ReveilleSession } = await import(join(folder, 'reveille.mjs'));

const opened = { session_id: 's1', user: 'alice', resume: { token: 't1' }, resumed: false, calls: [], missed: [] };

/** Keeps what it gets; `answers` has a function or a value by method. */
class Server {
  received = [];
  sockets = [];
  answers = { 'session.open': { result: opened } };

  constructor() {
    this.server = new WebSocketServer({ port: 0, host: '127.0.0.1', path: '/v1/signal' });
    this.server.on('connection', (socket, request) => {
      this.sockets.push(socket);
      assert.equal(socket.protocol, 'reveille.v1');
      assert.equal(request.url, '/v1/signal');
      socket.on('message', (data) => this.#take(socket, JSON.parse(data)));
      this.event('welcome', { protocol: 1 });
    });
  }

  #take(socket, message) {
    assert.equal(message.jsonrpc, '2.0');
    this.received.push(message);
    const answer = this.answers[message.method];
    if (!message.id || !answer) return;
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...answer }));
  }

  get url() { return `ws://127.0.0.1:${this.server.address().port}`; }
  get socket() { return this.sockets.at(-1); }
  event(method, params) { this.socket.send(JSON.stringify({ jsonrpc: '2.0', method, params })); }
  all(method) { return this.received.filter((message) => message.method === method).map(({ params }) => params); }
}

async function until(condition) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`in vain: ${condition}`);
}

async function connect(server) {
  const heard = { events: [], opens: [], downs: [] };
  const session = new ReveilleSession(server.url, {
    token: async () => 'eyJ', deviceId: '6f1c',
    onEvent: (method, params) => heard.events.push([method, params]),
    onOpen: (result) => heard.opens.push(result.resumed),
    onDown: (isFinal, reason) => heard.downs.push([isFinal, reason]),
  });
  session.connect();
  return { session, heard };
}

const tests = {
  'opens a session, acknowledges events and answers requests': async (server) => {
    server.answers['call.invite'] = { result: { state: 'waking' } };
    const { session, heard } = await connect(server);
    await until(() => heard.opens.length === 1);
    assert.deepEqual(server.all('session.open'), [{ token: 'eyJ', device: { id: '6f1c', platform: 'web' } }]);
    assert.deepEqual(await session.request('call.invite', { call_id: 'c', to: 'bob' }), { state: 'waking' });
    server.event('call.state', { seq: 1, call_id: 'c', state: 'ringing' });
    await until(() => server.all('session.ack').length === 1);
    assert.deepEqual(server.all('session.ack'), [{ seq: 1 }]);
    assert.equal(heard.events[0][0], 'call.state');
    session.notify('call.candidates', { call_id: 'c', candidates: [] });
    await until(() => server.all('call.candidates').length === 1);
    session.close();
    await until(() => heard.downs.length === 1);
    assert.equal(heard.downs[0][0], true);
  },
  'a refusal has the code of the protocol': async (server) => {
    server.answers['call.answer'] = { error: { code: -32005, message: 'no', data: { code: 'already_answered' } } };
    const { session, heard } = await connect(server);
    await until(() => heard.opens.length === 1);
    await assert.rejects(session.request('call.answer', { call_id: 'c' }), (error) => {
      return error instanceof ReveilleError && error.code === 'already_answered';
    });
  },
  'a lost connection is resumed from the last event': async (server) => {
    const { session, heard } = await connect(server);
    await until(() => heard.opens.length === 1);
    server.event('call.incoming', { seq: 4, call_id: 'c' });
    await until(() => heard.events.length === 1);
    const lost = session.request('call.get', { call_id: 'c' });
    server.answers['session.open'] = { result: { ...opened, resumed: true, resume: { token: 't2' } } };
    server.socket.terminate();
    await assert.rejects(lost, /lost/);
    await until(() => heard.opens.length === 2);
    assert.deepEqual(server.all('session.open')[1].resume, { session_id: 's1', token: 't1', last_seq: 4 });
    assert.deepEqual(heard.opens, [false, true]);
    assert.equal(heard.downs[0][0], false);
  },
  'a final close code, or a bad token, ends the session': async (server) => {
    const first = await connect(server);
    await until(() => first.heard.opens.length === 1);
    server.socket.close(3503, 'replaced');
    await until(() => first.heard.downs.length === 1);
    assert.deepEqual(first.heard.downs[0], [true, 'replaced']);
    server.answers['session.open'] = { error: { code: -32001, message: 'exp', data: { code: 'unauthenticated' } } };
    const second = await connect(server);
    await until(() => second.heard.downs.length === 1);
    assert.deepEqual(second.heard.downs[0], [true, 'exp']);
    await assert.rejects(second.session.request('call.get'), /not connected/);
  },
  'a server that drains is tried again': async (server) => {
    server.answers['session.open'] = { error: { code: -32012, message: 'stops', data: { code: 'draining' } } };
    const { heard } = await connect(server);
    await until(() => heard.downs.length === 1);
    server.answers['session.open'] = { result: opened };
    await until(() => heard.opens.length === 1);
    assert.equal(heard.downs[0][0], false);
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  const server = new Server();
  try {
    await once(server.server, 'listening');
    await test(server);
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.stack}`);
  }
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
