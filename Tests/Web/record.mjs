// Records what a real server answers to the board, for the pictures of looks.mjs: looks-board.json. To be run, with
// node, when the admin API has changed.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pause } from './checks.mjs';
import { repository } from './library.mjs';
import { BoardServer, WebSocket, freePort, start } from './server.mjs';

const server = await BoardServer.prepare('--push-sim');
await start(['push-sim', '--port', '0', '--sandbox-port', '0', '--fcm-port', '0', '--data', server.data], 'ready: start the server');
await server.run({ endpoints: `- name: billing\n  url: http://127.0.0.1:${await freePort()}/\n`
  + '  secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]\n' });
server.say('push-sim', 'fault', 'refuse', '--reason', 'BadDeviceToken', '--count', '2');
await server.load('mixed', '--weights', 'online=40,wake=50,fanout=10', '--rate', '4', '--hold', '5', '--standing', '20', '--faults');
await pause(20_000);

const bearer = `bearer.${Buffer.from(server.tokens.full).toString('base64url')}`;
const socket = new WebSocket(`ws://127.0.0.1:${server.admin}/v1/admin`, ['reveille.admin.v1', bearer]);
await new Promise((resolve) => { socket.on('open', resolve); });
const waiting = new Map();
const told = new Map();
socket.on('message', (data) => {
  const { id, result, params } = JSON.parse(data);
  if (id !== undefined) waiting.get(id)?.(result);
  else told.set(params.subscription, params);
});
let next = 1;
const ask = (method, params = {}) => new Promise((resolve) => {
  waiting.set(next, resolve);
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: next++, method, params }));
});
const subscribed = async (method) => {
  const { subscription } = await ask(method);
  while (!told.has(subscription)) await pause(20);
  return told.get(subscription);
};

const { calls } = await subscribed('call.subscribe');
const { stats } = await subscribed('stats.subscribe');
const first = (items, count) => items.slice(0, count);
const ofState = (state, count) => first(calls.filter((call) => call.state === state), count);
const pushes = (await ask('push.list', { limit: 50 })).items;
const reported = (await ask('push.list', { report: 'reported', purpose: 'call', limit: 50 })).items;
let story;
for (const { call_id: id } of reported) {
  story = await ask('call.get', { call_id: id });
  if (story.call.state === 'ended' && story.timeline.length > 9) break;
}
const devices = (await ask('device.list', { limit: 12 })).items;
const answers = {
  recordedAt: Date.now(),
  'server.info': await ask('server.info'),
  'call.subscribe': { calls: ['connected', 'ringing', 'waking', 'answered', 'routing'].flatMap((state) => ofState(state, 6)), gone: [], complete: true },
  'stats.subscribe': { stats },
  'webhook.list': await ask('webhook.list'),
  'push.audit': await ask('push.audit'),
  'push.list': { items: first(pushes, 12) },
  'call.get': story,
  'device.list': { items: devices },
  'session.list': { items: first((await ask('session.list', { limit: 12 })).items, 12) },
};
// The board reads only the milliseconds of a time.
const short = (key, value) => (key === 'rfc3339' ? undefined : value);
const lines = Object.entries(answers).map(([method, answer]) => `${JSON.stringify(method)}: ${JSON.stringify(answer, short)}`);
writeFileSync(join(repository, 'Tests/Web/looks-board.json'), `{\n${lines.join(',\n')}\n}\n`);
process.exit(0);
