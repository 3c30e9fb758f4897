// The board's files and an admin API that always says the same, looks-board.json, as if it had been asked just now: for
// pictures that do not change. What the real server says is checked in board.mjs.

import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json, repository } from './library.mjs';
import { WebSocketServer } from './server.mjs';

const KINDS = { html: 'text/html', css: 'text/css', js: 'text/javascript' };
/** Columns of the histograms that have samples. */
const COLUMNS = 40;
const COLUMN_TIME = 5_000;

/** Moves all times by a duration. */
function moved(value, by) {
  if (Array.isArray(value)) return value.map((each) => moved(each, by));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) =>
    [key, key === 'ms' && typeof each === 'number' ? each + by : moved(each, by)]));
}

/** A call in each state, and something wrong of each kind. */
function arranged(answers) {
  const { calls } = answers['call.subscribe'];
  const states = ['connected', 'answered', 'ringing', 'waking', 'routing', 'connected'];
  calls.forEach((call, index) => {
    const state = states[index];
    const created = answers.recordedAt - 12_000 - index * 7_000;
    const at = (offset, ...of) => (of.includes(state) ? { ms: created + offset } : undefined);
    Object.assign(call, {
      state, from: `caller-${index}`, to: `callee-${index}`, answered_by: at(0, 'answered', 'connected') && `callee-${index}`,
      created_at: { ms: created }, ringing_at: at(900, 'ringing', 'answered', 'connected'),
      answered_at: at(3_000, 'answered', 'connected'), connected_at: at(3_400, 'connected'),
    });
  });
  const { stats } = answers['stats.subscribe'];
  stats.pushes.devices_suspended = 1;
  Object.assign(stats.push_pools[0], { is_circuit_open: true, queued: 12, oldest_queued_ms: 4_200 });
  Object.assign(stats.queues[0], { capacity: 100, depth: 80 });
  const { provider, environment, credential } = stats.push_pools[0];
  stats.problems = [
    {
      code: 'credential_refused', severity: 'critical', is_unready: true, subject: 'apns',
      words: `push: ${provider} ${environment} ${credential}: circuit open, 12 queued`,
    },
    { code: 'core_behind', severity: 'critical', is_unready: false, words: `overload: queue ${stats.queues[0].name} 80/100` },
    { code: 'devices_suspended', severity: 'warning', is_unready: false, words: '1 device suspended: VoIP pushes were left unreported' },
  ];
  return JSON.parse(JSON.stringify(answers));
}

export async function serveFixed() {
  const answers = arranged(json('Tests/Web/looks-board.json'));
  const { stats } = answers['stats.subscribe'];
  const folder = join(repository, 'Resources/web/board');
  const listener = createServer((request, response) => {
    const { pathname } = new URL(request.url, 'http://localhost');
    const file = join(folder, pathname.replace(/^\/board\//, '') || 'index.html');
    if (!pathname.startsWith('/board/') || pathname.includes('..') || !existsSync(file)) return response.writeHead(404).end();
    return response.setHeader('content-type', KINDS[file.split('.').pop()]).end(readFileSync(file));
  });
  const sockets = new WebSocketServer({ server: listener, handleProtocols: () => 'reveille.admin.v1' });
  sockets.on('connection', (socket) => {
    const timers = [];
    socket.on('close', () => timers.forEach(clearInterval));
    socket.on('message', (data) => {
      const { id, method } = JSON.parse(data);
      const say = (message) => socket.readyState === socket.OPEN && socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
      const answer = () => moved(answers[method], Date.now() - answers.recordedAt);
      if (!answers[method]) return say({ id, error: { code: -32601, message: 'no such method', data: { code: 'method_not_found' } } });
      if (!method.endsWith('.subscribe')) return say({ id, result: answer() });
      say({ id, result: { subscription: method } });
      const tell = (params) => say({ method, params: { subscription: method, ...params } });
      if (method === 'call.subscribe') return tell(answer());
      const statsAt = (age) => {
        const share = 1 - age / (COLUMNS * COLUMN_TIME);
        const stages = stats.stages.map((stage) =>
          ({ ...stage, buckets: stage.buckets?.map((count) => Math.floor(count * share)) }));
        return { stats: { ...answer().stats, stages, at: { ms: Date.now() - age } } };
      };
      for (let column = COLUMNS; column > 0; column -= 1) tell(statsAt(column * COLUMN_TIME));
      tell(statsAt(0));
      return timers.push(setInterval(() => tell(statsAt(0)), 1_000));
    });
  });
  await new Promise((resolve) => { listener.listen(0, '127.0.0.1', resolve); });
  return { url: `http://127.0.0.1:${listener.address().port}/board/`, answers };
}
