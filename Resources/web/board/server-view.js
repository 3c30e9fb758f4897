// The figures of the server, as `reveille top` shows them.

import { facts, h, refill, table } from './page.js';
import { bytes, clock, coarse, full, milliseconds, rate, reasonWeight, short } from './text.js';

export class ServerView {
  #drawnAt;
  #isShown = false;
  #cpu;
  #last;

  constructor(app) {
    this.app = app;
    this.element = h('div', { class: 'server-view' });
  }

  show() {
    this.#isShown = true;
    this.#drawnAt = undefined;
  }

  hide() { this.#isShown = false; }

  /** CPU use between two updates. */
  take(stats) {
    const last = this.#last;
    this.#last = stats;
    if (!last) return;
    const seconds = (stats.at.ms - last.at.ms) / 1000;
    const spent = stats.process.cpu_seconds - last.process.cpu_seconds;
    const isSame = last.server.started_at.ms === stats.server.started_at.ms;
    this.#cpu = isSame && seconds > 0 && spent >= 0 ? spent / seconds : undefined;
  }

  draw(now) {
    const { stats, webhooks } = this.app;
    if (!this.#isShown || !stats || this.#drawnAt === stats.at.ms) return;
    this.#drawnAt = stats.at.ms;
    refill(
      this.element, section('Calls', this.#calls(stats)), section('Ended in the last minute', ended(stats)),
      section('Push providers', pools(stats)), section('Webhooks', endpoints(webhooks, now)),
      section('Queues', queues(stats)), section('Limits hit since the start', limits(stats)),
      section('Server', this.#process(stats, now)));
  }

  #calls({ calls }) {
    return facts([
      ['rate', `${rate(calls.invited_per_second)} new/s, ${rate(calls.ended_per_second)} ended/s`],
      ['since the start', `invited ${short(calls.invited)}, answered ${short(calls.answered)}, connected ${short(calls.connected)}`],
    ]);
  }

  #process({ process, server, sessions, store }, now) {
    const cpu = this.#cpu === undefined ? '' : `, CPU ${Math.round(this.#cpu * 100)} %`;
    return facts([
      ['version', server.version], ['node', server.node], ['address', server.address], ['data', server.data],
      ['started', full(server.started_at.ms, now)],
      ['process', `up ${clock(process.uptime_seconds * 1000)}${cpu}, ${bytes(process.resident_bytes)}, `
        + `${short(process.open_files)}/${short(process.max_files)} files`],
      ['sessions', `${sessions.online} online, ${sessions.away} away, ${sessions.connections} sockets, ${short(sessions.resumed)} resumed`],
      ['store', `${short(store.commits)} commits, ${short(store.rows)} rows, p50 ${milliseconds(store.p50_ms)} p99 `
        + `${milliseconds(store.p99_ms)} ms, ${store.waiting} waiting`],
      server.realm && ['realm', `home, epoch ${server.realm.epoch}; `
        + (server.realm.standbys.length ? `standing by: ${server.realm.standbys.join(', ')}` : 'no server stands by'),
      server.realm.standbys.length ? undefined : 'failure'],
      store.failures > 0 && ['failures', String(store.failures), 'failure'],
    ]);
  }
}

const section = (title, content) => h('section', {}, h('h2', {}, title), content);
const none = (text) => h('p', { class: 'empty' }, text);

function ended({ calls }) {
  const reasons = Object.entries(calls.ended_last_minute).filter(([, number]) => number > 0)
    .sort(([x, a], [y, b]) => b - a || (x < y ? -1 : 1));
  if (!reasons.length) return none('none');
  return h('ul', { class: 'bars' }, reasons.map(([reason, number]) => {
    const bar = h('span', { class: `bar ${reasonWeight(reason)}`, 'aria-hidden': 'true' });
    bar.style.width = `${(100 * number) / reasons[0][1]}%`;
    return h('li', {}, h('span', { class: 'name' }, reason), h('b', {}, short(number)), h('span', { class: 'track' }, bar));
  }));
}

function pools({ push_pools: found }) {
  if (!found.length) return none('no push provider');
  const columns = [{ title: 'POOL' }, ...['QUEUE', 'OLDEST', 'OPEN', 'CONN', 'OK', 'BAD', '?'].map(
    (title, index) => ({ title, isRight: true, rank: [1, 2, 3].includes(index) ? 2 : undefined })), { title: 'CIRCUIT' }];
  return table('Push providers', columns, found.map((pool) => [
    `${pool.provider} ${pool.environment} ${pool.credential}`, short(pool.queued),
    pool.queued ? `${milliseconds(pool.oldest_queued_ms)}${pool.oldest_queued_ms < 10_000 ? 'ms' : ''}` : '-',
    short(pool.in_flight), short(pool.connections), short(pool.accepted), short(pool.rejected), short(pool.unknown),
    pool.is_circuit_open ? { text: 'open', weight: 'failure' } : 'closed']));
}

function endpoints(webhooks, now) {
  if (!webhooks?.length) return none('no endpoints; webhooks.file names them');
  const columns = [{ title: 'ENDPOINT' }, { title: 'STATE' }, { title: 'BACKLOG', isRight: true },
    { title: 'OLDEST', isRight: true, rank: 1 }, { title: 'TAKEN', isRight: true, rank: 2 }, { title: 'LAST FAILURE', rank: 1 }];
  return table('Webhooks', columns, webhooks.map((endpoint) => [
    endpoint.name,
    { text: endpoint.state, weight: { active: '', paused: 'quiet' }[endpoint.state] ?? 'failure' }, String(endpoint.backlog),
    endpoint.oldest_at ? coarse(now - endpoint.oldest_at.ms) : '-', String(endpoint.taken), endpoint.last_failure ?? '-']));
}

function queues(stats) {
  const sorted = [...stats.queues].sort((a, b) => b.depth - a.depth || (a.name < b.name ? -1 : 1));
  return h('ul', { class: 'words' }, sorted.map(({ name, depth, capacity }) =>
    h('li', { class: capacity && depth * 2 >= capacity ? 'failure' : undefined },
      `${name} ${short(depth)}${capacity ? `/${short(capacity)}` : ''}`)));
}

function limits(stats) {
  if (!stats.limits.length) return none('none');
  const sorted = [...stats.limits].sort((a, b) => b.hits - a.hits || (a.name < b.name ? -1 : 1));
  return h('ul', { class: 'words' }, sorted.map(({ name, hits }) => h('li', { class: 'suspect' }, `${name} ${short(hits)}`)));
}
