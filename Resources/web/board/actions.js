// Changes: each is asked twice in a dialog that names the thing.

import { byID, h } from './page.js';
import { clock, shortID, target } from './text.js';

/** The time limit of `reveille drain`. */
const drainMinutes = 10;

/** Whether the person confirms both questions. `extra` stands below the first one. */
function ask(title, thing, { first, second, warning, extra }) {
  const dialog = byID('ask');
  return new Promise((resolve) => {
    const show = (words, button, next) => {
      const leave = h('button', { type: 'button', autofocus: true, onclick: () => dialog.close() }, 'Leave it');
      const go = h('button', { type: 'button', class: 'danger', onclick: next }, button);
      dialog.replaceChildren(h('h2', { id: 'ask-title' }, title), h('p', { class: 'thing' }, thing), ...words,
        h('p', { class: 'tools' }, leave, go));
      leave.focus();
    };
    let isSure = false;
    dialog.addEventListener('close', () => resolve(isSure), { once: true });
    show(extra ? [extra] : [], first, () => show([h('p', {}, warning)], second, () => {
      isSure = true;
      dialog.close();
    }));
    dialog.showModal();
  });
}

export class Actions {
  constructor(app) { this.app = app; }

  get #refusal() { return this.app.refusal; }

  async #perform(name, method, params) {
    try {
      await this.app.link.ask(method, params);
      this.app.tell(name.done);
    } catch (error) {
      this.app.tell(`${name.failed}: ${error.message}`, 'failure');
    }
    this.app.changed();
  }

  async end(call) {
    if (this.#refusal) return void this.app.tell(`not ended: ${this.#refusal}`, 'failure');
    if (call.state === 'ended') return void this.app.tell('that call is over');
    const name = `${call.from} to ${target(call.to)}`;
    const age = clock(this.app.now() - call.created_at.ms);
    const isSure = await ask('End this call for everybody?', `${name} (${call.state}, ${age}), call ${call.call_id}`, {
      first: 'End the call…', second: 'Yes, end it',
      warning: `The call from ${name} ends for all its devices, with the reason admin. This cannot be undone.`,
    });
    if (!isSure) return void this.app.tell('not ended');
    await this.#perform({ done: `ended the call from ${name}`, failed: `the call from ${name} was not ended` }, 'call.end',
      { call_id: call.call_id });
  }

  async resume(device) {
    if (this.#refusal) return void this.app.tell(`not resumed: ${this.#refusal}`, 'failure');
    const name = `device ${shortID(device.device_id)} of ${device.user}`;
    const what = [device.name ?? device.app, device.platform, `${device.unreported_streak} unreported in a row`].filter(Boolean);
    const isSure = await ask('End the suspension of this device?', `${device.user}, device ${device.device_id} (${what.join(', ')})`, {
      first: 'Resume the device…', second: 'Yes, resume it',
      warning: `Calls send ${name} VoIP pushes again. A device that still does not report is suspended again.`,
    });
    if (!isSure) return void this.app.tell('not resumed');
    await this.#perform({ done: `${name} resumed`, failed: `${name} was not resumed` }, 'device.resume',
      { user: device.user, device_id: device.device_id });
  }

  async drain() {
    if (this.#refusal) return void this.app.tell(`not drained: ${this.#refusal}`, 'failure');
    const { info, stats } = this.app;
    const minutes = h('input', { type: 'number', id: 'drain-minutes', min: 1, max: 1440, value: drainMinutes, required: true });
    const extra = h('p', {}, h('label', { for: 'drain-minutes' }, 'Minutes until the server means to stop '), minutes);
    const live = Object.values(stats?.calls.live ?? {}).reduce((sum, number) => sum + number, 0);
    const name = `server ${info.node} at ${info.address}`;
    const isSure = await ask('Drain this server?', `${name} (${live} live)`, {
      first: 'Drain the server…', second: 'Yes, take no new calls', extra,
      warning: `The ${name} refuses new calls; live calls go on. Only a restart ends the draining.`,
    });
    if (!isSure) return void this.app.tell('not drained');
    const time = Math.min(1440, Math.max(1, minutes.valueAsNumber || drainMinutes));
    await this.#perform({ done: `the ${name} takes no new calls`, failed: `the ${name} was not drained` }, 'server.drain',
      { deadline_ms: Math.round(time * 60_000) });
  }
}
