// Two pages that talk, and checks that print a line each.

import { check } from './checks.mjs';
import { until } from './server.mjs';

const near = (frequency, wanted) => Math.abs(frequency - wanted) < 25;

export class Pair {
  /** `ann` sends 440 Hz, `ben` 880 Hz. */
  constructor(ann, ben) {
    Object.assign(this, { ann, ben });
  }

  get tabs() { return [this.ann, this.ben]; }

  /** A check that tells how both pages are when it fails. */
  check(name, body) {
    return check(name, body, async () => {
      for (const tab of this.tabs) {
        const state = await tab.run(`JSON.stringify({
          state: page.session.state, calls: page.session.calls.map(({ state }) => state), problems: page.problems,
          pc: page.media?.peerConnection?.connectionState, signaling: page.media?.peerConnection?.signalingState,
          heard: page.hears(), events: page.events.slice(-14),
          steps: page.media?.call.steps.slice(-24).map(({ at, name, from }) => [at % 100_000, from[0], name].join(' ')),
        })`).catch((problem) => problem.message);
        console.log(`        ${state}`);
      }
    });
  }

  async heard() {
    const heard = await Promise.all(this.tabs.map((tab) => tab.run('page.hears()').catch(() => 0)));
    return near(heard[0], 880) && near(heard[1], 440);
  }

  /** Waits until both hear each other for a while. Returns when that began, in milliseconds from now. */
  async bothHear(timeout, duration = 200) {
    const started = Date.now();
    let since;
    await until(async () => {
      since = await this.heard() ? since ?? Date.now() : undefined;
      return since !== undefined && Date.now() - since >= duration;
    }, 'both hear each other', timeout);
    return since - started;
  }

  async call() {
    for (const tab of this.tabs) await tab.until(`page.session.state === 'open'`, 30_000);
    await this.ann.run(`page.dial('ben')`);
    await this.ben.until(`page.media?.call.state === 'ringing'`);
    await this.ben.run('page.answer()');
    await this.bothHear();
    for (const tab of this.tabs) await tab.until(`page.media.call.state === 'connected'`);
  }
}

export const silent = (tab) => until(async () => (await tab.run('page.hears()')) === 0, 'silence');

export function within(took, limit, what) {
  if (took > limit) throw new Error(`${what} after ${took} ms, more than ${limit} ms`);
  return `${what} after ${took} ms`;
}
