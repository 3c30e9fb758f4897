// What is wrong, worst first: what `top` shows in red and yellow, and endpoints and devices that need somebody.

import { h, say } from './page.js';
import { trouble } from './calls.js';
import { count, short, wall } from './text.js';

/** How long a limit that was hit stays a problem. */
const limitTime = 60_000;

/** Remembers when limits were hit: the figures count since the start of the server. */
export class LimitWatch {
  #last;
  #hitAt = new Map();

  take(stats) {
    const isSame = this.#last?.startedAt === stats.server.started_at.ms;
    for (const { name, hits } of stats.limits) {
      if (isSame && hits > (this.#last.hits.get(name) ?? 0)) this.#hitAt.set(name, stats.at.ms);
    }
    const hits = new Map(stats.limits.map((limit) => [limit.name, limit.hits]));
    this.#last = { startedAt: stats.server.started_at.ms, hits };
  }

  recent(now) { return [...this.#hitAt].filter(([, at]) => now - at < limitTime).map(([name]) => name); }
}

/** `{ weight, text, href, link }` each. */
export function problems({ stats, webhooks, limits, board, now }) {
  if (!stats) return [];
  const found = [];
  const bad = (text, href, link) => found.push({ weight: 'failure', text, href, link });
  const odd = (text, href, link) => found.push({ weight: 'suspect', text, href, link });
  for (const problem of stats.problems) {
    if (problem.startsWith('draining')) {
      const until = stats.server.drains_until;
      odd(`${problem}${until ? `, until ${wall(until.ms)}` : ''}; only a restart ends it`);
    } else {
      bad(problem, problem.startsWith('ledger') ? '#pushes' : undefined, 'ledger');
    }
  }
  for (const law of stats.pushes.violations) {
    if (!stats.problems.includes(`ledger: ${law}`)) bad(`BROKEN: ${law}`, '#pushes', 'ledger');
  }
  for (const pool of stats.push_pools) {
    const name = `${pool.provider} ${pool.environment} ${pool.credential}`;
    if (pool.is_circuit_open) bad(`push: ${name}: circuit open, ${pool.queued} queued`, '#server', 'pools');
  }
  if (stats.store.failures > 0) bad(`store: ${count(stats.store.failures, 'failure')} since the start`, '#server', 'store');
  for (const { name, state, backlog, last_failure: failure } of webhooks ?? []) {
    const words = `webhook ${name} is ${state}, backlog ${backlog}${failure ? `: ${failure}` : ''}`;
    if (state === 'failing' || state === 'disabled') bad(words, '#server', 'webhooks');
    else if (state === 'paused') odd(words, '#server', 'webhooks');
  }
  for (const { name, depth, capacity } of stats.queues) {
    if (capacity && depth * 2 >= capacity) bad(`overload: queue ${name} ${short(depth)}/${short(capacity)}`, '#server', 'queues');
  }
  const { open_files: open, max_files: most } = stats.process;
  if (open * 10 >= most * 9) bad(`process: ${short(open)}/${short(most)} files`, '#server', 'process');
  for (const name of limits.recent(now)) odd(`limit ${name} was hit in the last minute`, '#server', 'limits');
  const suspended = stats.pushes.devices_suspended;
  if (suspended > 0) {
    odd(`${count(suspended, 'device')} suspended: VoIP pushes were left unreported`, '#devices?suspended=true', 'devices');
  }
  const words = new Map();
  for (const { call } of board.entries.values()) {
    const wrong = trouble(call, now);
    if (wrong) words.set(wrong.words, (words.get(wrong.words) ?? 0) + 1);
  }
  for (const [what, number] of words) odd(`${count(number, 'call')}: ${what}`, '#calls?show=trouble', 'calls');
  return found.sort((a, b) => (a.weight > b.weight) - (a.weight < b.weight));
}

/** What stands where no problem does. Figures of a server that is gone say nothing about it. */
export function readiness(stats, isOld) {
  if (!stats) return { weight: 'quiet', text: 'loading…' };
  return isOld ? { weight: 'quiet', text: 'not known whether it is ready' } : { weight: 'good', text: 'ready' };
}

/** Shows the problems. A line changes in place: the focus stays, and a screen reader does not repeat the rest. */
export class ProblemList {
  #said = new Set();
  #list = h('ul', {});
  #none = h('p', {});

  /** news: where new problems are said to screen readers. */
  constructor(element, news) {
    this.news = news;
    element.replaceChildren(this.#none, this.#list);
  }

  /** otherwise: what to say without a problem, as `readiness` has it. */
  draw(found, otherwise) {
    say(this.#none, found.length ? '' : otherwise.text);
    if (this.#none.className !== otherwise.weight) this.#none.className = otherwise.weight;
    while (this.#list.children.length > found.length) this.#list.lastChild.remove();
    while (this.#list.children.length < found.length) {
      this.#list.append(h('li', {}, h('span', {}), ' ', h('a', {})));
    }
    found.forEach(({ weight, text, href, link }, index) => {
      const line = this.#list.children[index];
      const [words, anchor] = [line.firstChild, line.lastChild];
      if (line.className !== weight) line.className = weight;
      say(words, text);
      say(anchor, href ? `See ${link}` : '');
      if (href && anchor.getAttribute('href') !== href) anchor.setAttribute('href', href);
      if (!href) anchor.removeAttribute('href');
    });
    // A problem with other figures is no new one.
    const name = ({ text }) => text.replaceAll(/\d+/g, '#');
    const isNew = found.filter((problem) => !this.#said.has(name(problem)));
    this.#said = new Set(found.map(name));
    if (isNew.length) say(this.news, `Problem: ${isNew.map(({ text }) => text).join('; ')}`);
  }
}
