// Calls while no page of the phone is open: the switch in the settings, and what the service worker says.

import { WebPush } from '../webpush.js';
import { $, setText, show } from './dom.js';
import { full } from './words.js';

const NOTES = {
  unsupported: 'This browser cannot do that. On an iPhone or iPad, put this page on the home screen first.',
  unavailable: 'This server cannot do that. Its operator can switch it on: the setting is push.webpush.subject.',
  blocked: 'The browser blocks the notifications of this page. Allow them in its settings for this page.',
  off: 'Now this page rings only while it is open.',
  on: 'On. A notification shows each call, as long as the browser runs. You stay signed in on this browser.',
};

const OPTIONS = { worker: 'worker.js' };

export class Push {
  #push;
  #isBusy = false;
  #fault = '';

  constructor(phone) {
    this.phone = phone;
    $('push').addEventListener('click', () => this.#switch($('push').getAttribute('aria-checked') !== 'true'));
    navigator.serviceWorker?.addEventListener('message', ({ data, ports }) => this.#told(data, ports));
  }

  use(session) {
    this.#push?.close();
    this.#fault = '';
    this.#isBusy = false;
    const push = this.#push = session && new WebPush(session, OPTIONS);
    push?.addEventListener('change', () => this.phone.changed());
    push?.addEventListener('problem', ({ detail: { error } }) => push === this.#push && this.#failed(error));
  }

  /** Removes the registration. Waits at most 2 s. */
  async leave() {
    const { session, signIn } = this.phone;
    const push = this.#push ?? new WebPush(session, OPTIONS);
    const canTell = this.#push && session.state !== 'gone';
    const left = (canTell ? push.switchOff() : push.forget()).catch(() => {});
    await Promise.race([left, new Promise((resolve) => { setTimeout(resolve, 2_000); })]);
    if (push !== this.#push) push.close();
    signIn.remember(false);
  }

  async #switch(isOn) {
    const { signIn } = this.phone;
    const push = this.#push;
    if (this.#isBusy || !push) return;
    this.#isBusy = true;
    this.#fault = '';
    this.phone.changed();
    try {
      await (isOn ? push.switchOn() : push.switchOff());
    } catch (error) {
      // The user may have signed out meanwhile.
      if (push !== this.#push) return;
      this.#isBusy = false;
      this.#failed(error);
    } finally {
      if (push === this.#push) {
        this.#isBusy = false;
        signIn.remember(push.state === 'on');
        this.phone.changed();
      }
    }
  }

  #failed(error) {
    if (this.#push.state !== 'blocked') this.#fault = `${full(`That failed: ${error.message}`)} ${error.whatToDo ?? ''}`.trim();
    if (!this.#push.isWanted) this.phone.signIn.remember(false);
    this.phone.render();
    // In a low window it is below the edge of the dialog.
    $('push-fault').scrollIntoView({ block: 'nearest' });
  }

  #told({ reveille: kind, call, isAnswer } = {}, [port] = []) {
    const { session } = this.phone;
    const isHere = this.#push?.isWanted && ['open', 'connecting'].includes(session?.state);
    if (kind === 'has') port?.postMessage(Boolean(isHere));
    if (kind === 'open') this.phone.openCall(call, isAnswer);
  }

  render() {
    const state = this.#push?.state ?? 'unavailable';
    const isOn = state === 'on';
    if ($('push').getAttribute('aria-checked') !== String(isOn)) $('push').setAttribute('aria-checked', String(isOn));
    $('push').disabled = state !== 'on' && state !== 'off';
    // A disabled switch would lose the keyboard's focus.
    $('push').setAttribute('aria-disabled', String(this.#isBusy));
    const isInsecure = state === 'unsupported' && !globalThis.isSecureContext;
    const note = isInsecure ? 'Browsers do that only for pages that come over https, or from localhost.'
      : state === 'unavailable' ? this.#unavailable() : NOTES[state];
    setText($('push-note'), this.#isBusy ? 'One moment…' : note);
    show($('push-fault'), Boolean(this.#fault));
    setText($('push-fault'), this.#fault);
    const { isOpen } = this.phone;
    setText($('ready-title'), isOpen ? 'Ready' : 'Not ready');
    const lead = !isOpen ? 'This page does not ring until it is connected to the server.'
      : this.phone.signIn?.isWoken ? 'A notification signed you in for one call. Sign out, and in again, to be called.'
        : isOn ? 'This page rings when somebody calls you. While it is closed, a notification tells you.'
          : 'This page rings when somebody calls you. Leave it open.';
    setText($('ready-lead'), lead);
  }

  #unavailable() {
    if (this.phone.signIn?.isWoken) return 'A notification signed you in for one call. Sign out, and in again, first.';
    if (this.phone.session?.state === 'elsewhere') return 'The phone is open in another tab. Use the switch there.';
    return this.phone.isOpen ? NOTES.unavailable : 'Connecting…';
  }

  /** What the click on a call's notification asks for, `{ wake, isAnswer }`; undefined if nobody clicked on it. */
  static async clicked(id) {
    const registration = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
    if (!registration?.active) return undefined;
    const { port1, port2 } = new MessageChannel();
    return new Promise((resolve) => {
      port1.onmessage = ({ data }) => resolve(data);
      setTimeout(resolve, 2_000);
      registration.active.postMessage({ reveille: 'clicked', call: id }, [port2]);
    });
  }

  /** A call is answered or over: its notification goes. */
  static async close(id) {
    const registration = await navigator.serviceWorker?.getRegistration().catch(() => undefined);
    for (const shown of await registration?.getNotifications({ tag: id }) ?? []) shown.close();
  }
}
