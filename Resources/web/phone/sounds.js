// Tones made by the browser itself: the ring, what a caller hears, and keys.

const KEYS = {
  1: [697, 1209], 2: [697, 1336], 3: [697, 1477], 4: [770, 1209], 5: [770, 1336], 6: [770, 1477],
  7: [852, 1209], 8: [852, 1336], 9: [852, 1477], '*': [941, 1209], 0: [941, 1336], '#': [941, 1477],
};

/** A bugle's notes: frequency in Hz, start and length in seconds. */
const CALL = [[392, 0, 0.16], [523.25, 0.18, 0.16], [659.25, 0.36, 0.16], [523.25, 0.54, 0.16], [783.99, 0.72, 0.5]];

/** What sounds how: notes, their volume, and the seconds until they are repeated. */
const TUNES = {
  ring: { notes: CALL, volume: 0.22, every: 2.6, wave: 'triangle' },
  waiting: { notes: [[659.25, 0, 0.12], [659.25, 0.2, 0.12]], volume: 0.1, every: 4, wave: 'sine' },
  ringback: { notes: [[425, 0, 1]], volume: 0.06, every: 5, wave: 'sine' },
  busy: { notes: [[425, 0, 0.3], [425, 0.6, 0.3], [425, 1.2, 0.3]], volume: 0.08, wave: 'sine' },
  over: { notes: [[523.25, 0, 0.12], [392, 0.14, 0.22]], volume: 0.1, wave: 'triangle' },
  test: { notes: CALL, volume: 0.22, wave: 'triangle' },
};

/** Seconds that are scheduled ahead: a browser slows the timers of hidden pages, but not its audio clock. */
const AHEAD = 60;

export class Sounds extends EventTarget {
  #context;
  #playing;
  #output;
  #again;

  /** Browsers make no sound before the user has touched the page. Called at each touch. */
  unlock() {
    try {
      if (!this.#context) {
        this.#context = new AudioContext();
        this.#context.addEventListener('statechange', () => this.dispatchEvent(new Event('change')));
      }
      if (this.#context.state === 'suspended') this.#context.resume();
    } catch { /* A browser without Web Audio stays silent. */ }
  }

  /** Whether the ring would be silent. */
  get isLocked() { return this.#context?.state === 'suspended'; }

  /** Goes on with a tune until another is asked for; `undefined` is silence. */
  loop(name) {
    if (name === this.#playing) return;
    this.#playing = name;
    this.#output?.disconnect();
    this.#output = undefined;
    clearTimeout(this.#again);
    if (name === undefined) return;
    this.unlock();
    if (!this.#context) return;
    this.#output = this.#context.createGain();
    this.#output.connect(this.#context.destination);
    this.#schedule(name, this.#output, AHEAD);
  }

  #schedule(name, output, ahead) {
    const { every } = TUNES[name];
    const times = Math.ceil(ahead / every);
    for (let index = 0; index < times; index += 1) this.#play(TUNES[name], output, index * every);
    this.#again = setTimeout(() => this.#schedule(name, output, ahead), times * every * 1000);
  }

  once(name) {
    this.unlock();
    if (this.#context) this.#play(TUNES[name], this.#context.destination, 0);
  }

  key(tone) {
    this.unlock();
    if (!this.#context || !KEYS[tone]) return;
    const notes = KEYS[tone].map((frequency) => [frequency, 0, 0.12]);
    this.#play({ notes, volume: 0.05, wave: 'sine' }, this.#context.destination, 0);
  }

  #play({ notes, volume, wave }, output, delay) {
    const context = this.#context;
    for (const [frequency, start, duration] of notes) {
      const at = context.currentTime + delay + start;
      const oscillator = context.createOscillator();
      const gain = context.createGain();
      oscillator.type = wave;
      oscillator.frequency.value = frequency;
      gain.gain.setValueAtTime(0, at);
      gain.gain.linearRampToValueAtTime(volume, at + 0.015);
      gain.gain.setValueAtTime(volume, at + duration - 0.03);
      gain.gain.linearRampToValueAtTime(0, at + duration);
      oscillator.connect(gain).connect(output);
      oscillator.start(at);
      oscillator.stop(at + duration + 0.02);
    }
  }
}
