#!/usr/bin/env node
// How the softphone and the board look, at 380 and 1,600 pixels, in both themes: compared with looks.json, which has the
// brightness and the contrast of each cell of 20 by 20 pixels. Other words, times and fonts pass; a part that moves,
// vanishes or cannot be read fails, with the path of the new picture. ACCEPT=1 makes the present looks the reference.

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { Browser } from './browser.mjs';
import { check, finish, holds, pause, same } from './checks.mjs';
import { serveFixed } from './fixed.mjs';
import { repository } from './library.mjs';
import { acceptLink } from './phone-page.mjs';
import { cells, decode } from './png.mjs';
import { BoardServer, Server, until } from './server.mjs';

const CELL = 20;
const SIZES = [[380, 800], [1600, 900]];
const file = join(repository, 'Tests/Web/looks.json');
const accepts = process.env.ACCEPT === '1';
const references = accepts ? {} : JSON.parse(readFileSync(file, 'utf8'));
const folder = process.env.SCREENSHOTS ?? join(tmpdir(), 'reveille-looks');
mkdirSync(folder, { recursive: true });

// The comparison

/** Of two cells: the greater difference in brightness and in contrast, in what counts as one. */
function difference(a, b) {
  const [light, contrast] = [Math.abs((a >> 4) - (b >> 4)), Math.abs((a & 15) - (b & 15))];
  return Math.max(light / 2.5, contrast / Math.max(2.5, 0.6 * Math.max(a & 15, b & 15)));
}

/** Cells of one picture that look like no cell nearby in the other one. */
function strange(one, other, columns) {
  const rows = one.length / columns;
  const found = [];
  for (let y = 0; y < rows; y += 1) {
    for (let x = 0; x < columns; x += 1) {
      let best = Infinity;
      for (let v = Math.max(0, y - 1); v <= Math.min(rows - 1, y + 1); v += 1) {
        for (let u = Math.max(0, x - 1); u <= Math.min(columns - 1, x + 1); u += 1) {
          best = Math.min(best, difference(one[y * columns + x], other[v * columns + u]));
        }
      }
      if (best > 1) found.push({ x, y });
    }
  }
  return found;
}

/** The places that differ, in words; none if the pictures look the same. */
function compare(reference, found, columns) {
  if (reference.length !== found.length) return ['the size of the picture'];
  const gone = strange(reference, found, columns);
  const added = strange(found, reference, columns);
  const place = (list) => {
    const [xs, ys] = [list.map(({ x }) => x), list.map(({ y }) => y)];
    const edge = (value, more) => (value + more) * CELL;
    return `${list.length} cells within x ${edge(Math.min(...xs), 0)} to ${edge(Math.max(...xs), 1)}, `
      + `y ${edge(Math.min(...ys), 0)} to ${edge(Math.max(...ys), 1)}`;
  };
  // A figure or a name that is a little longer.
  const isLittle = (list) => list.length < 3;
  return [...(isLittle(gone) ? [] : [`gone or unreadable: ${place(gone)}`]), ...(isLittle(added) ? [] : [`new: ${place(added)}`])];
}

/** All four looks of a screen. `tab` shows it; `steady` is called before each picture. */
async function look(tab, name, steady = async () => {}) {
  await check(name, async () => {
    const faults = [];
    // Pages behind another one are not drawn.
    await tab.send('Page.bringToFront');
    for (const [width, height] of SIZES) {
      await tab.size(width, height);
      for (const theme of ['light', 'dark']) {
        await tab.send('Emulation.setEmulatedMedia', { features: [
          { name: 'prefers-color-scheme', value: theme }, { name: 'prefers-reduced-motion', value: 'reduce' }] });
        const title = `${name} ${width} ${theme}`;
        const fault = await compareOne(tab, title, steady);
        if (fault) faults.push(fault);
      }
      const wide = await tab.run('document.documentElement.scrollWidth - innerWidth');
      if (wide > 0) faults.push(`${wide} pixels too wide at ${width}`);
    }
    await tab.size(1600, 900);
    if (faults.length > 0) throw new Error(`${faults.join('\n        ')}\n        If it is meant so: ACCEPT=1 node Tests/Web/looks.mjs`);
  });
}

const pathOf = (title) => join(folder, `${title.replaceAll(/[^a-z0-9]+/g, '-')}.png`);

async function compareOne(tab, title, steady) {
  let places;
  let picture;
  // What still moves, such as a focus that has just changed, is given time.
  for (let tries = 0; tries < 3; tries += 1) {
    await pause(tries === 0 ? 350 : 700);
    await steady();
    await tab.run('new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); })');
    picture = await tab.picture();
    if (process.env.SCREENSHOTS) writeFileSync(pathOf(title), picture);
    const { columns, found } = cells(decode(picture), CELL);
    if (accepts) {
      references[title] = deflateRawSync(found, { level: 9 }).toString('base64');
      return undefined;
    }
    if (!references[title]) places = ['there is no reference'];
    else places = compare(inflateRawSync(Buffer.from(references[title], 'base64')), found, columns);
    if (places.length === 0) return undefined;
  }
  writeFileSync(pathOf(title), picture);
  return `${title}: ${places.join('; ')}: see ${pathOf(title)}`;
}

// The softphone

const SHOWN = `window.shown = (selector) => [...document.querySelectorAll(selector)].find((found) => found.checkVisibility());`;

async function click(tab, selector) {
  const button = `shown(${JSON.stringify(selector)})`;
  await tab.until(`${button} && !${button}.disabled`);
  await tab.run(`${button}.click()`);
}

const says = (tab, selector, pattern) => tab.until(`${pattern}.test(shown(${JSON.stringify(selector)})?.innerText ?? '')`);

async function dial(tab, name) {
  await tab.run(`shown('#number').value = '${name}'`);
  await click(tab, '#dial-call');
}

async function softphone() {
  const server = await Server.start('--sign-in-by-name', '--web-root', join(repository, 'Resources/web'));
  const url = `${server.url.replace(/^ws/, 'http')}/phone/`;
  const browser = await Browser.start();
  const open = async (hash = '', other = browser) => {
    const tab = await other.open(url + server.fragment(hash.slice(1)), { script: SHOWN, size: [1600, 900] });
    await acceptLink(tab, hash);
    return tab;
  };
  const alice = await open();
  await alice.until(`shown('#name')`);
  await look(alice, 'softphone: sign-in');
  await alice.go(`${url}?wrong#token=nonsense`);
  await says(alice, '#sign-in-fault', '/three parts/');
  await look(alice, 'softphone: wrong token');
  await alice.go(`${url}?alice#user=alice`);
  await acceptLink(alice, '#user=alice');
  const bob = await open('#user=bob');
  for (const tab of [alice, bob]) await says(tab, '#status', '/^online/');
  await look(alice, 'softphone: ready');
  await dial(alice, 'bob');
  await says(bob, '.ring .state', '/^calls you$/');
  await look(bob, 'softphone: it rings');
  await click(bob, '.ring .plain');
  for (const tab of [alice, bob]) await says(tab, '#state', '/^Connected$/');
  await says(alice, '#quality', '/^Good/');
  await look(alice, 'softphone: in a call');
  await click(alice, '#hang-up');
  await bob.until(`!shown('#controls')`);
  await dial(alice, 'bob');
  await says(bob, '.ring .state', '/^calls you$/');
  await click(alice, '#hang-up');
  await says(bob, '#missed-count', '/^1 missed call$/');
  await until(async () => await bob.run(`document.querySelectorAll('#history > li').length`) === 2, 'two calls in the history');
  await bob.run(`shown('#history summary').click()`);
  await pause(1_800);
  // A notice of the missed call goes by itself.
  await bob.until(`!shown('.notice')`, 20_000);
  // The words about the call before may take one line or two.
  await click(bob, '#close-call');
  await look(bob, 'softphone: history');
  const deaf = await open('#user=gina', await Browser.start(440, { flags: ['--use-fake-ui-for-media-stream=deny'] }));
  await says(deaf, '#status', '/^online/');
  await dial(deaf, 'bob');
  await says(deaf, '#state', '/does not let this page use the microphone/');
  await look(deaf, 'softphone: no microphone');
  await deaf.browser.stop();
  await browser.stop();
  await server.stop();
}

// The board

async function checkFixed(answers) {
  await check('the fixed figures have the members of the real ones', async () => {
    const server = await BoardServer.start();
    const { stats } = answers['stats.subscribe'];
    const real = server.ask('stats');
    const lacking = (found, given, where) => Object.keys(given).filter((key) => !(key in found)).map((key) => `${where}${key}`);
    const parts = ['process', 'server', 'sessions', 'store', 'pushes', 'calls'];
    same([...lacking(stats, real, ''), ...parts.flatMap((part) => lacking(stats[part], real[part], `${part}.`))], [],
      'members that looks-board.json lacks; record it anew with Tests/Web/record.mjs');
    await server.stop();
  });
}

async function board() {
  const { url, answers } = await serveFixed();
  await checkFixed(answers);
  const browser = await Browser.start();
  const tab = await browser.open(url, { size: [1600, 900], isWatched: true });
  await tab.until(`document.activeElement.id === 'token'`);
  await look(tab, 'board: sign-in');
  await tab.type('a-token');
  await tab.key('Enter');
  await tab.until(`/^6 live/.test(document.querySelector('#calls-summary').textContent)`);
  // They come a moment later, and move what is below.
  await tab.until(`document.querySelectorAll('#problems li').length >= 5`);
  const views = [['calls', 'calls'], ['story', `calls/${answers['call.get'].call.call_id}`], ['pushes', 'pushes'],
    ['latencies', 'latencies'], ['devices', 'devices'], ['server', 'server']];
  for (const [name, hash] of views) {
    await tab.run(`location.hash = '${hash}'`);
    await tab.until(`document.querySelector('#view').textContent.length > 40`);
    await look(tab, `board: ${name}`);
  }
  await check('no exception, and no violation of the content security policy', () => same(browser.faults, [], 'faults'));
}

await softphone();
await board();
if (accepts) {
  const lines = Object.entries(references).map(([title, text]) => `${JSON.stringify(title)}: "${text}"`);
  writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`);
  console.log(`written: ${file}`);
}
await check('the references are small', () => {
  const size = readFileSync(file).length;
  holds(size <= 60_000, `${size} bytes`);
  return `${size} bytes`;
});
finish();
