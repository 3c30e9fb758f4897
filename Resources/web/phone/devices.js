// Microphone, speaker and camera: which ones, and their names.

import { $, make, setText, show, store, stored } from './dom.js';
import { problem } from './words.js';

const NAME = 'reveille:phone:devices';
const KINDS = { audioinput: 'microphone', audiooutput: 'speaker', videoinput: 'camera' };

export class Devices extends EventTarget {
  #chosen = stored('localStorage', NAME) ?? {};
  #waiting = new Set();

  constructor() {
    super();
    navigator.mediaDevices?.addEventListener?.('devicechange', () => this.refresh());
  }

  get speaker() { return this.#chosen.speaker; }
  get camera() { return this.#chosen.camera; }

  /** A device that is no longer there does not fail a call: another takes its place. */
  get audio() { return this.#chosen.microphone ? { deviceId: { ideal: this.#chosen.microphone } } : true; }
  get video() { return this.#chosen.camera ? { deviceId: { ideal: this.#chosen.camera } } : true; }

  /** For the library: `mediaDevices` whose waiting questions to the user can be taken back. */
  get surroundings() {
    const real = navigator.mediaDevices;
    if (!real) return {};
    return {
      mediaDevices: {
        getUserMedia: (constraints) => this.#ask(real, constraints),
        enumerateDevices: () => real.enumerateDevices(),
        addEventListener: (...all) => real.addEventListener(...all),
        removeEventListener: (...all) => real.removeEventListener(...all),
      },
    };
  }

  #ask(real, constraints) {
    return new Promise((resolve, reject) => {
      this.#waiting.add(reject);
      real.getUserMedia(constraints).then((stream) => {
        if (this.#waiting.has(reject)) resolve(stream);
        else stream.getTracks().forEach((track) => track.stop());
        this.refresh();
      }, reject).finally(() => this.#waiting.delete(reject));
    });
  }

  /** Takes back what waits for the user's permission. */
  cancel() {
    for (const reject of this.#waiting) reject(new DOMException('taken back', 'AbortError'));
    this.#waiting.clear();
  }

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
