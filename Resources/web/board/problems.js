// What is wrong, worst first: the server's own list of problems, and calls that need somebody.

import { h, say } from './page.js';
import { trouble } from './calls.js';
import { count, wall } from './text.js';

/** The figures behind a problem: its code begins so. */
const places = [
  ['ledger', '#pushes', 'ledger'], ['pushes_', '#pushes', 'pushes'], ['devices_', '#devices?suspended=true', 'devices'],
  ['push_', '#server', 'pools'], ['credential_', '#server', 'pools'], ['tokens_', '#server', 'pools'],
  ['store_', '#server', 'store'], ['checkpoints_', '#server', 'store'], ['core_behind', '#server', 'queues'],
  ['webhook_', '#server', 'webhooks'], ['limits_', '#server', 'limits'], ['connections_', '#server', 'limits'],
  ['descriptors_', '#server', 'process'], ['ringing_', '#latencies', 'latencies'],
];

/** `{ weight, name, text, href, link }` each. Those of a server that is gone are what it had when it was last seen. */
export function problems({ stats, board, now, isOld }) {
  if (!stats) return [];
  const found = stats.problems.map(({ code, severity, words }) => {
    const [, href, link] = places.find(([begin]) => code.startsWith(begin)) ?? [];
    const until = code === 'draining' ? stats.server.drains_until : undefined;
    const end = code === 'draining' ? `${until ? `, until ${wall(until.ms)}` : ''}; only a restart ends it` : '';
    return { weight: severity === 'critical' ? 'failure' : 'suspect', text: words + end, href, link };
  });
  const words = new Map();
  for (const { call } of board.entries.values()) {
    const wrong = trouble(call, now);
    if (wrong) words.set(wrong.words, (words.get(wrong.words) ?? 0) + 1);
  }
  for (const [what, number] of words) {
    found.push({ weight: 'suspect', text: `${count(number, 'call')}: ${what}`, href: '#calls?show=trouble', link: 'calls' });
  }
  const sorted = found.sort((a, b) => (a.weight > b.weight) - (a.weight < b.weight));
  return sorted.map((problem) => ({
    ...problem, name: problem.text, ...(isOld && { weight: 'quiet', text: `when last seen: ${problem.text}` }),
  }));
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
    const kind = ({ name }) => name.replaceAll(/\d+/g, '#');
    const isNew = found.filter((problem) => !this.#said.has(kind(problem)));
    this.#said = new Set(found.map(kind));
    if (isNew.length) say(this.news, `Problem: ${isNew.map(({ text }) => text).join('; ')}`);
  }
}
