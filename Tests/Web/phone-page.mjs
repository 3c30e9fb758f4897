// The softphone, /phone/, in a tab of Chromium, used as people use it: by its buttons, its keys and its words.

import { pause } from './checks.mjs';
import { until } from './server.mjs';

export const SHOWN = `window.shown = (selector) => [...document.querySelectorAll(selector)].find((found) => found.checkVisibility());`;

/** Agrees to a link that signs in. It does not ask about the user who is signed in already, nor with a broken token. */
export async function acceptLink(tab, url) {
  if (!/[#&](user|token)=/.test(url)) return;
  await tab.until(`['#link-yes', '#sign-in', '#top'].some((selector) => shown(selector))`);
  await tab.run(`shown('#link-yes')?.click()`);
}

/** A page with the phone. Texts are those that are shown. */
export class Page {
  static async open(browser, url, { script = '', functions = {} } = {}) {
    const page = new Page();
    const source = `window.faults = [];
      for (const type of ['error', 'unhandledrejection', 'securitypolicyviolation']) {
        addEventListener(type, (event) => faults.push(type + ': '
          + (event.message ?? event.reason?.stack ?? event.violatedDirective + ' ' + event.blockedURI)));
      }
      ${SHOWN}
      ${script}`;
    page.tab = await browser.open(url, { script: source, functions });
    await acceptLink(page.tab, url);
    return page;
  }

  go(url) { return this.tab.go(url); }
  run(expression) { return this.tab.run(expression); }
  until(expression, timeout) { return this.tab.until(expression, timeout); }

  async text(selector) {
    return (await this.run(`shown(${JSON.stringify(selector)})?.innerText ?? ''`)).replace(/\s+/g, ' ').trim();
  }

  async everything() { return (await this.text('body')).slice(0, 700); }

  /** Waits until a shown element has a text. */
  async says(selector, pattern, timeout) {
    let text;
    return until(async () => {
      text = await this.text(selector).catch(() => '');
      return pattern.test(text) && text;
    }, '', timeout).catch(async () => {
      throw new Error(`${selector} says “${text}”, not ${pattern}; the page says: ${await this.everything()}`);
    });
  }

  async click(selector) {
    const button = `shown(${JSON.stringify(selector)})`;
    await this.until(`${button} && !${button}.disabled`).catch(async () => {
      throw new Error(`no button ${selector}; the page says: ${await this.everything()}`);
    });
    await this.run(`${button}.click()`);
  }

  key(key, modifiers) { return this.tab.key(key, modifiers); }
  alt(key) { return this.key(key, 1); }
  type(text) { return this.tab.send('Input.insertText', { text }); }

  /** Presses the tabulator until an element has the focus. */
  async tabTo(selector) {
    for (let presses = 0; presses < 40; presses += 1) {
      if (await this.run(`document.activeElement.matches(${JSON.stringify(selector)})`)) return;
      await this.key('Tab');
    }
    throw new Error(`the tabulator does not reach ${selector}`);
  }

  async signIn(name) {
    await this.until(`shown('#name')`);
    await this.run(`shown('#name').value = ${JSON.stringify(name)}`);
    await this.click('#by-name button');
    await this.says('#status', /^online/);
  }

  async dial(name) {
    await this.run(`shown('#number').value = ${JSON.stringify(name)}`);
    await this.click('#dial-call');
  }

  answer() { return this.click('.ring .plain'); }

  /** Whether sound arrives, by the level that an AnalyserNode finds. */
  hears() {
    return this.run(`(() => {
      window.context ??= new AudioContext();
      window.analysers ??= new Map();
      const streams = [...document.querySelectorAll('audio')].map(({ srcObject }) => srcObject).filter(Boolean);
      const tracks = streams.flatMap((stream) => stream.getAudioTracks());
      return tracks.filter(({ readyState }) => readyState === 'live').some((track) => {
        if (!analysers.has(track)) {
          analysers.set(track, context.createAnalyser());
          context.createMediaStreamSource(new MediaStream([track])).connect(analysers.get(track));
        }
        const samples = new Float32Array(analysers.get(track).fftSize);
        analysers.get(track).getFloatTimeDomainData(samples);
        return Math.max(...samples.map(Math.abs)) > 0.001;
      });
    })()`);
  }

  async reload() {
    const before = await this.run('performance.timeOrigin');
    await this.tab.reload();
    await this.until(`performance.timeOrigin !== ${before}`);
  }

  async talks() {
    await this.says('#state', /^Connected$/);
    await this.says('#quality', /^Good connection: \d+ ms, no loss, direct$/);
    await until(() => this.hears(), 'sound arrives');
  }

  /** No screen is wider than its window, with text of 200 % too. */
  async fits(name) {
    for (const width of [380, 600, 900, 1280]) {
      await this.tab.size(width, 800);
      for (const text of ['100%', '200%']) {
        const overflow = await this.run(`(() => {
          document.documentElement.style.fontSize = '${text}';
          const found = document.documentElement.scrollWidth - document.documentElement.clientWidth;
          document.documentElement.style.fontSize = '';
          return found;
        })()`);
        if (overflow > 0) throw new Error(`${name}: ${overflow} pixels too wide at ${width} with text of ${text}`);
      }
    }
    await this.tab.send('Emulation.clearDeviceMetricsOverride');
  }

  /** Saves the screen in two widths and both themes. */
  async picture(name) {
    if (!process.env.SCREENSHOTS) return;
    for (const [kind, width, height] of [['narrow', 380, 800], ['wide', 1600, 900]]) {
      await this.tab.size(width, height);
      for (const theme of ['light', 'dark']) {
        await this.tab.theme(theme);
        await pause(250);
        await this.tab.save(`${name}-${kind}-${theme}`);
      }
      const overflow = await this.run('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      if (overflow > 0) throw new Error(`${name}: ${overflow} pixels too wide at ${width}`);
    }
    await this.tab.send('Emulation.clearDeviceMetricsOverride');
    await this.tab.theme(undefined);
  }
}
