// Microphone, speaker and camera: which ones, and their names.

import { $, make, setText, show, store, stored } from './dom.js';
import { problem } from './words.js';

const NAME = 'reveille:phone:devices';
const KINDS = { audioinput: 'microphone', audiooutput: 'speaker', videoinput: 'camera' };

export class Devices extends EventTarget {
  #chosen = stored('localStorage', NAME) ?? {};

  constructor() {
    super();
    navigator.mediaDevices?.addEventListener?.('devicechange', () => this.refresh());
  }

  get speaker() { return this.#chosen.speaker; }
  get camera() { return this.#chosen.camera; }

  /** A device that is no longer there does not fail a call: another takes its place. */
  get audio() { return this.#chosen.microphone ? { deviceId: { ideal: this.#chosen.microphone } } : true; }
  get video() { return this.#chosen.camera ? { deviceId: { ideal: this.#chosen.camera } } : true; }

  choose(what, id) {
    this.#chosen[what] = id || undefined;
    store('localStorage', NAME, this.#chosen);
    this.dispatchEvent(new CustomEvent('chosen', { detail: { what, id } }));
  }

  /** Fills the lists of the panel. */
  async refresh() {
    if (!$('devices').open) return;
    const all = await navigator.mediaDevices?.enumerateDevices().catch(() => []) ?? [];
    for (const [kind, what] of Object.entries(KINDS)) {
      const found = all.filter((device) => device.kind === kind && device.deviceId && device.deviceId !== 'default');
      const list = $(kind === 'videoinput' ? 'camera-list' : what);
      const names = found.map(({ label, deviceId }, index) =>
        make('option', { value: deviceId }, label || `${what} ${index + 1}`));
      list.replaceChildren(make('option', { value: '' }, 'The system’s choice'), ...names);
      list.value = found.some(({ deviceId }) => deviceId === this.#chosen[what]) ? this.#chosen[what] : '';
    }
    const canChoose = 'setSinkId' in HTMLMediaElement.prototype;
    $('speaker').disabled = !canChoose;
    show($('speaker-note'), !canChoose);
    show($('allow'), Boolean(navigator.mediaDevices) && !all.some(({ label }) => label));
  }

  /** Asks for the microphone, so that the browser tells the names of the devices. */
  async allow() {
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
      stream.getTracks().forEach((track) => track.stop());
      setText($('devices-problem'), '');
    } catch (error) {
      const codes = { NotAllowedError: 'media_denied', NotFoundError: 'media_missing', NotReadableError: 'media_busy' };
      const { what, todo } = problem({ code: codes[error.name] ?? 'media_failed' });
      setText($('devices-problem'), `${what} ${todo}`);
    }
    this.refresh();
  }
}
