#!/usr/bin/env node
// The softphone, /phone/, in Chromium against a real server, used as people use it: by its buttons, its keys and its
// words. Prints a line for each check. SCREENSHOTS names a folder for pictures of each screen.

import { join } from 'node:path';
import { Browser } from './browser.mjs';
import { check, finish } from './checks.mjs';
import { repository } from './library.mjs';
import { Page, SHOWN } from './phone-page.mjs';
import { Server, until } from './server.mjs';

const pages = [];
let server;

const start = (flags = []) => Browser.start(440, { flags });

async function open(browser, path = '', options = {}) {
  const fragment = options.origin || path.includes('secret') ? path : server.fragment(path.slice(1));
  const page = await Page.open(browser, `${options.origin ?? origin}/phone/${fragment}`, options);
  pages.push(page);
  return page;
}

let origin;
let alice;
let bob;

const reveille = (...words) => server.say(...words);

async function connect() {
  await alice.dial('bob');
  await bob.says('.ring h2', /^alice$/);
  await bob.answer();
  await Promise.all([alice.talks(), bob.talks()]);
}

async function hangUp() {
  await alice.click('#hang-up');
  await Promise.all([alice, bob].map((page) => page.until(`!shown('#controls')`)));
}

async function calls(browser) {
  await check('two tabs of one browser sign in by name, as alice and as bob', async () => {
    const started = Date.now();
    alice = await open(browser);
    await alice.picture('sign-in');
    await alice.fits('the sign-in');
    await alice.signIn('alice');
    await alice.picture('ready');
    await alice.fits('the phone');
    const link = await alice.run(`shown('#try-link').href`);
    bob = await open(browser, new URL(link).hash);
    await bob.says('#status', /^online/);
    if (await bob.text('#user') !== 'bob') throw new Error(`signed in as ${await bob.text('#user')}`);
    return `${Math.round((Date.now() - started) / 1000)} s`;
  });
  await check('a call rings, is answered, and both hear each other', async () => {
    await alice.dial('bob');
    await bob.says('.ring .state', /^calls you$/);
    await alice.says('#state', /^It rings/);
    await bob.picture('incoming');
    await alice.picture('outgoing');
    await bob.answer();
    await Promise.all([alice.talks(), bob.talks()]);
    return alice.text('#quality');
  });
  await check('mute and hold are told to the other side in words', async () => {
    await alice.click('#mute');
    await bob.says('#state', /^alice has muted the microphone$/);
    await alice.until(`shown('#mute use').getAttribute('href') === '#i-mic-off'`);
    await alice.click('#mute');
    await bob.says('#state', /^Connected$/);
    await alice.until(`shown('#mute use').getAttribute('href') === '#i-mic'`);
    await bob.click('#hold');
    await alice.says('#state', /^bob has put you on hold$/);
    await bob.says('#state', /^On hold$/);
    await bob.click('#hold');
    await Promise.all([alice.talks(), bob.talks()]);
  });
  await check('the keypad sends tones', async () => {
    await alice.click('#keypad-button');
    for (const index of [1, 2, 12]) await alice.click(`#keypad button:nth-of-type(${index})`);
    await alice.says('#tones', /^12#$/);
    await alice.fits('a call with its keypad');
    await alice.picture('keypad');
    await alice.click('#keypad-button');
  });
  await check('the buttons of a call stay in one row, also beside the list of calls', async () => {
    for (const width of [560, 700, 895, 900, 1000, 1600]) {
      await alice.tab.size(width, 700);
      const tops = await alice.run(`[...document.querySelectorAll('#controls button')].map((one) => one.getBoundingClientRect().top)`);
      const overflow = await alice.run('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      if (new Set(tops).size !== 1 || overflow > 0) throw new Error(`${width} pixels: ${tops}, ${overflow} too wide`);
    }
    await alice.tab.send('Emulation.clearDeviceMetricsOverride');
  });
  await check('the camera goes on, is seen, and goes off', async () => {
    await alice.click('#camera');
    await bob.until(`shown('#their-picture')?.videoWidth > 0`);
    await bob.picture('video');
    await alice.until(`shown('#own-picture')?.videoWidth > 0`);
    await alice.click('#camera');
    await bob.until(`!shown('#their-picture')`);
  });
  await check('the devices are listed by name, and another microphone is taken', async () => {
    await alice.click('#open-devices');
    await alice.until(`document.querySelectorAll('#microphone option').length > 2`);
    await alice.says('#microphone', /The system’s choice .*Fake/);
    await alice.picture('devices');
    await alice.run(`Object.assign(shown('#microphone'), { selectedIndex: 2 }).dispatchEvent(new Event('change'))`);
    await alice.click('#close-devices');
    await bob.talks();
  });
  await check('a page that is loaded again goes on with the call', async () => {
    await alice.reload();
    await Promise.all([alice.talks(), bob.talks()]);
    await bob.reload();
    await Promise.all([alice.talks(), bob.talks()]);
  });
  await check('three times more, at once and one after the other', async () => {
    await Promise.all([alice.reload(), bob.reload()]);
    await Promise.all([alice.talks(), bob.talks()]);
    await alice.reload();
    await bob.reload();
    await Promise.all([alice.talks(), bob.talks()]);
  });
  await check('a muted microphone stays muted when the page is loaded again', async () => {
    await alice.click('#mute');
    await alice.reload();
    await alice.says('#state', /^Connected$/);
    await alice.until(`shown('#mute').getAttribute('aria-pressed') === 'true'`);
    await alice.click('#mute');
    await bob.talks();
  });
  await check('a call on hold stays on hold when either page is loaded again', async () => {
    await alice.click('#hold');
    await bob.says('#state', /^alice has put you on hold$/);
    for (const page of [alice, bob]) await page.reload();
    await alice.says('#state', /^On hold$/);
    await bob.says('#state', /^alice has put you on hold$/);
    await alice.click('#hold');
    await Promise.all([alice.talks(), bob.talks()]);
  });
  await check('a call that waits for the microphone is given up, and rings nobody', async () => {
    const dave = await open(browser, '#user=dave', {
      script: 'navigator.mediaDevices.getUserMedia = () => new Promise(() => {});',
    });
    await dave.says('#status', /^online/);
    await dave.dial('bob');
    await dave.says('#state', /^Taking the microphone/);
    await dave.click('#hang-up');
    await dave.until(`!shown('#controls')`);
    await browser.close(dave.tab);
    pages.splice(pages.indexOf(dave), 1);
    if (await bob.text('.ring')) throw new Error('bob is rung');
  });
  await check('another tab says where the phone is, and takes it over with the call', async () => {
    const token = await alice.run(`JSON.parse(sessionStorage['reveille:phone:sign-in']).token`);
    const second = await open(browser, `#token=${token}`);
    await second.says('#elsewhere', /open in another tab It is talking to bob/);
    if (await second.run('location.hash')) throw new Error('the token stays in the address');
    await second.picture('elsewhere');
    await second.click('#take-over');
    await alice.says('#elsewhere', /open in another tab/);
    const first = alice;
    alice = second;
    await Promise.all([alice.talks(), bob.talks()]);
    await browser.close(first.tab);
    pages.splice(pages.indexOf(first), 1);
  });
  await check('the server is killed in a call: the page says so, and the call goes on', async () => {
    await server.kill();
    await alice.says('.me', /no connection: the server does not answer; trying again/);
    await alice.until(`document.getElementById('ready-title').textContent === 'Not ready'`);
    await alice.picture('server-away');
    await server.run();
    await Promise.all([alice, bob].map((page) => page.says('#status', /^online/)));
    await Promise.all([alice.talks(), bob.talks()]);
  });
  await check('the ladder has the words of “reveille calls show”', async () => {
    await alice.click('#happened > summary');
    await hangUp();
    await alice.says('#state', /^bob answered after .+ s\. alice hung up after .+ of talk\.$/);
    await alice.picture('ended');
    const command = await alice.text('#show-command');
    const shown = reveille(...command.split(' ').slice(1));
    const rows = await alice.run(`[...document.querySelectorAll('#ladder tr')].map((row) => row.cells[3].innerText)`);
    const words = ['invited', 'ringing', 'answered', 'caller has media', 'connected', 'ended (hangup)'];
    for (const word of [...words, 'connection lost', 'came back']) {
      if (!rows.includes(word)) throw new Error(`the page has no “${word}”: ${rows}`);
      // A restart of the server is no loss of a connection in its own record.
      if (words.includes(word) && !shown.includes(word)) throw new Error(`${command} has no “${word}”`);
    }
    const sentence = (await alice.text('#state')).split('. ')[1].replace(/ after .*/, '');
    if (!shown.includes(sentence)) throw new Error(`${command} does not say “${sentence}”`);
    return `${rows.length} rows`;
  });
}

async function otherEnds(browser) {
  let carol;
  await check('a second call waits, is answered, and the first is on hold; switching; hanging up', async () => {
    await connect();
    carol = await open(browser, '#user=carol');
    await carol.says('#status', /^online/);
    await carol.dial('alice');
    await alice.says('.ring .state', /^calls you\. Your present call is put on hold if you answer\.$/);
    await alice.picture('call-waiting');
    await alice.answer();
    await bob.says('#state', /^alice has put you on hold$/);
    await Promise.all([alice.talks(), carol.talks()]);
    await alice.says('.other', /^B? ?bob On hold Switch/);
    await alice.picture('two-calls');
    await alice.click('.other .switch');
    await carol.says('#state', /^alice has put you on hold$/);
    await Promise.all([alice.talks(), bob.talks()]);
    await alice.click('#hang-up');
    await alice.says('#peer', /^carol$/);
    await alice.says('#state', /^On hold$/);
    await alice.click('#hold');
    await Promise.all([alice.talks(), carol.talks()]);
    await alice.click('#hang-up');
    await carol.until(`!shown('#controls')`);
  });
  await check('a call that is placed during another puts that one on hold', async () => {
    await connect();
    await alice.dial('carol');
    await bob.says('#state', /^alice has put you on hold$/);
    await carol.click('.ring .decline');
    await alice.says('.notice', /^carol declined after/);
    await alice.click('#hold');
    await Promise.all([alice.talks(), bob.talks()]);
    await hangUp();
  });
  await check('a declined call says so', async () => {
    await alice.dial('bob');
    await bob.click('.ring .decline');
    await alice.says('#state', /^bob declined after .+ s\.$/);
    await bob.until(`!shown('.ring')`);
  });
  await check('a call that is given up is missed, and the mark goes when it is seen', async () => {
    await alice.dial('bob');
    await bob.says('.ring h2', /^alice$/);
    await alice.click('#hang-up');
    await bob.says('#missed-count', /^1 missed call$/);
    await alice.says('#state', /^alice gave up after .+ s\.$/);
    await bob.reload();
    await bob.says('#missed-count', /^1 missed call$/);
    await bob.run(`shown('#history summary').click()`);
    await bob.says('.story', /^alice gave up after/);
    await bob.fits('the history');
    await bob.picture('missed');
    await bob.click('#seen');
    await bob.until(`!shown('#missed-count')`);
    await bob.reload();
    await bob.says('#status', /^online/);
    await bob.says('#history', /missed, seen/);
    if (await bob.text('#missed-count')) throw new Error('missed again');
  });
  await check('a name of any length leaves the buttons in sight, and the page as wide as it is', async () => {
    const caller = await open(browser, `#user=${'a-very-long-name-'.repeat(7)}`);
    await caller.says('#status', /^online/);
    await caller.dial('bob');
    await bob.says('.ring .state', /^calls you$/);
    await bob.tab.size(380, 800);
    const bottom = await bob.run(`shown('.ring .plain').getBoundingClientRect().bottom`);
    if (bottom > 800) throw new Error(`the button is ${bottom - 800} pixels below the screen`);
    await bob.fits('a long name that rings');
    await bob.click('.ring .decline');
    await caller.says('#state', /^bob declined/);
    await bob.fits('a long name in the history');
    await browser.close(caller.tab);
    pages.splice(pages.indexOf(caller), 1);
  });
  await check('nobody of this name, oneself, and a name with a space', async () => {
    await alice.dial('nobody-at-all');
    await alice.says('#state', /^nobody is known as nobody-at-all\.$/i);
    await alice.dial('alice');
    await alice.says('#state', /^One cannot call oneself: alice has no other device that is online/);
    await alice.dial('two words');
    await alice.says('#dial-fault', /has a space/);
  });
  await check('a video call that is answered with video', async () => {
    await alice.run(`shown('#number').value = 'bob'`);
    await alice.click('#dial-video');
    await bob.says('.ring .state', /^calls you, with video$/);
    await bob.picture('incoming-video');
    await bob.click('.ring .video');
    for (const page of [alice, bob]) {
      await page.until(`shown('#their-picture')?.videoWidth > 0 && shown('#own-picture')?.videoWidth > 0`);
    }
    await Promise.all([alice.talks(), bob.talks()]);
    await alice.picture('two-pictures');
    await hangUp();
  });
  await check('both pages are loaded again while it rings, and the call is answered', async () => {
    await alice.dial('bob');
    await bob.says('.ring h2', /^alice$/);
    await bob.reload();
    await bob.says('.ring h2', /^alice$/);
    await alice.reload();
    await alice.says('#state', /^It rings/);
    await bob.answer();
    await Promise.all([alice.talks(), bob.talks()]);
    await hangUp();
  });
  await check('a group rings everybody; who is too late reads who answered', async () => {
    reveille('groups', 'set', 'sales', 'bob', 'carol');
    await alice.dial('group sales');
    for (const page of [bob, carol]) await page.says('.ring .state', /^calls you \(group sales\)$/);
    await bob.answer();
    await carol.until(`!shown('.ring')`);
    await carol.says('#history', /alice incoming, bob answered/);
    await Promise.all([alice.talks(), bob.talks()]);
    await hangUp();
    await alice.says('#state', /^bob answered after/);
  });
  await check('a call back from the history', async () => {
    await bob.click('#history .back[aria-label="Call alice"]');
    await alice.says('.ring h2', /^bob$/);
    await alice.answer();
    await Promise.all([alice.talks(), bob.talks()]);
    await hangUp();
  });
  await check('a link that calls asks first, and then calls', async () => {
    await carol.go(`${origin}/phone/?again#call=bob`);
    await carol.says('#ask-title', /^Call bob\?$/);
    await carol.picture('link');
    await carol.until(`document.activeElement.id === 'ask-call'`);
    await carol.key('Enter');
    await bob.answer();
    await Promise.all([carol.talks(), bob.talks()]);
    await carol.click('#hang-up');
    await bob.until(`!shown('#controls')`);
  });
}

async function around(browser) {
  await check('a hidden page shows a call as a notification', async () => {
    const script = `window.notes = [];
      window.Notification = class extends Notification {
        constructor(title, more) { super(title, more); notes.push(title); }
      };
      Object.defineProperty(document, 'hidden', { get: () => true });`;
    await browser.send('Browser.grantPermissions', { origin, permissions: ['notifications'] });
    const fred = await open(browser, '#user=fred', { script });
    await fred.says('#status', /^online/);
    await alice.dial('fred');
    await fred.until(`notes[0] === 'alice calls' && document.title === '☎ alice calls – Reveille'`);
    await alice.click('#hang-up');
    await fred.until(`document.title === '(1) fred – Reveille phone'`);
  });
  await check('a token by name that the server no longer takes is renewed', async () => {
    const page = await open(browser, '#user=kim');
    await page.says('#status', /^online/);
    await page.run(`(() => { const name = 'reveille:phone:sign-in'; const signIn = JSON.parse(sessionStorage[name]);
      sessionStorage[name] = JSON.stringify({ ...signIn, token: signIn.token.replace(/[^.]+$/, 'AAAA') });
      for (const name of Object.keys(sessionStorage)) if (name.includes('ws:')) delete sessionStorage[name]; })()`);
    await page.reload();
    await page.says('#status', /^online/);
  });
  await check('signing out ends the call, and leaves nothing of the user behind', async () => {
    await connect();
    await alice.click('#sign-out');
    await alice.until(`shown('#name')`);
    await bob.says('#state', /^bob answered after .+ s\. alice hung up after/);
    await alice.until(`![...Object.keys(sessionStorage)].some((name) => name.includes('ws:'))`);
    const left = await alice.run(`[...Object.keys(sessionStorage), ...Object.keys(localStorage)]
      .filter((name) => !['reveille:phone:devices', 'reveille:phone:secret'].includes(name) && !name.startsWith('reveille:phone:device:'))
      .filter((name) => !/call:(?!alice)/.test(name))`);
    if (left.length > 0) throw new Error(left.join(', '));
    await alice.signIn('alice');
  });
}

async function keyboard(browser) {
  await check('keyboard only: sign in, call, answer, mute, keypad, hang up', async () => {
    const dora = await open(browser);
    const emil = await open(browser);
    for (const [page, name] of [[dora, 'dora'], [emil, 'emil']]) {
      await page.until(`document.activeElement.id === 'name'`);
      await page.type(name);
      await page.key('Enter');
      await page.says('#status', /^online/);
    }
    await dora.tabTo('#number');
    await dora.type('emil');
    await dora.key('Enter');
    await emil.says('.ring h2', /^dora$/);
    await emil.until(`/dora calls you/.test(document.getElementById('alarm').textContent)`);
    await emil.alt('a');
    await Promise.all([dora.talks(), emil.talks()]);
    await emil.until(`/Connected/.test(document.getElementById('announce').textContent)`);
    await dora.tabTo('#mute');
    await dora.key(' ');
    await emil.says('#state', /muted/);
    await dora.alt('m');
    await emil.says('#state', /^Connected$/);
    await dora.alt('k');
    await dora.until(`shown('#keypad')`);
    await dora.alt('h');
    await emil.says('#state', /hold/);
    await dora.alt('h');
    await emil.talks();
    await emil.tabTo('#hang-up');
    await emil.key('Enter');
    await dora.until(`!shown('#controls')`);
    await dora.tabTo('#again');
    await dora.key('Enter');
    await emil.says('.ring h2', /^dora$/);
    await emil.tabTo('.ring .decline');
    await emil.key('Enter');
    await dora.says('#state', /^emil declined/);
  });
  await check('every control has a name, and no two elements share an id', async () => {
    const nameless = await alice.run(`[...document.querySelectorAll('button, input, select, textarea, summary')]
      .filter((element) => element.checkVisibility())
      .filter((element) => !element.ariaLabel && !element.innerText.trim() && !element.labels?.length)
      .map(({ outerHTML }) => outerHTML.slice(0, 80))`);
    if (nameless.length > 0) throw new Error(nameless.join('; '));
    const twice = await alice.run(`(() => { const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
      return ids.filter((id, index) => ids.indexOf(id) !== index); })()`);
    if (twice.length > 0) throw new Error(twice.join(', '));
  });
}

/** The words of the card that a link shows, after its address is seen as tidy. */
async function offered(page) {
  const words = await page.says('#link', /^Sign in as /);
  if (await page.run('location.hash')) throw new Error('the link stays in the address');
  return words;
}

async function links(browser) {
  await check('a link that signs in asks first, and “Not now” leaves nobody signed in', async () => {
    for (const words of ['user=mallory', `token=${server.token('mallory')}`]) {
      // Not `open`, which agrees.
      const page = new Page();
      page.tab = await browser.open('about:blank', { script: SHOWN });
      pages.push(page);
      await page.go(`${origin}/phone/${server.fragment(words)}`);
      const found = await offered(page);
      if (!/^Sign in as mallory\?/.test(found)) throw new Error(found);
      await page.picture('link');
      if (await page.run(`sessionStorage['reveille:phone:sign-in'] ?? ''`)) throw new Error('it has signed in');
      await page.click('#link-no');
      await page.until(`shown('#sign-in') && !shown('#link')`);
      if (await page.run(`sessionStorage['reveille:phone:sign-in'] ?? ''`)) throw new Error('it has signed in');
    }
  });
  await check('a link takes no page from its user unless the user agrees, and a call goes on', async () => {
    await connect();
    const link = (words) => alice.run(`location.hash = '${words}'`);
    await link('user=mallory');
    const words = await offered(alice);
    if (!/alice is signed out then, and calls end/.test(words)) throw new Error(words);
    await Promise.all([alice.talks(), bob.talks()]);
    await alice.click('#link-no');
    await alice.until(`!shown('#link')`);
    await link(`token=${server.token('mallory')}`);
    await offered(alice);
    await alice.click('#link-no');
    await Promise.all([alice.talks(), bob.talks()]);
    if (await alice.text('#user') !== 'alice') throw new Error(`signed in as ${await alice.text('#user')}`);
    await hangUp();
    const page = await open(browser, '#user=nell');
    await page.says('#status', /^online/);
    await page.run(`location.hash = 'user=oscar'`);
    await offered(page);
    await page.click('#link-yes');
    await page.says('#user', /^oscar$/);
    await page.says('#status', /^online/);
    await page.run(`location.hash = 'user=oscar'`);
    await page.until(`location.hash === ''`);
    if (await page.text('#link')) throw new Error('it asks about the user who is signed in');
  });
  await check('without the secret nobody signs in by name, and the page says where it is', async () => {
    const page = await open(browser, '', { origin });
    await page.says('#name-hint', /start the server with --sign-in-by-name, and open the address that it logs/);
    await page.run(`shown('#name').value = 'pat'`);
    await page.click('#by-name button');
    await page.says('#sign-in-fault', /the address that its start has logged/);
    const wrong = await open(browser, '#secret=wrong&user=pat', { origin });
    await wrong.says('#sign-in-fault', /the address that its start has logged/);
    await page.run(`location.hash = '${server.fragment('user=pat').slice(1)}'`);
    await offered(page);
    await page.click('#link-yes');
    await page.says('#user', /^pat$/);
    await page.says('#status', /^online/);
  });
}

async function faults(browser) {
  await check('a wrong token: what is wrong, and what to do', async () => {
    const page = await open(browser, '#token=nonsense');
    await page.says('#sign-in-fault', /three parts with dots/);
    const forged = server.token('mallory').replace(/\.[^.]+$/, '.AAAA');
    await page.run(`shown('#token').value = ${JSON.stringify(forged)}`);
    await page.click('#by-token button');
    await page.says('#sign-in-fault', /^The server refused the token: .+ Get a new token, then sign in again\.$/);
    await page.picture('wrong-token');
  });
  await check('no microphone: what to do', async () => {
    const deaf = await start(['--use-fake-ui-for-media-stream=deny']);
    const page = await open(deaf, '#user=gina');
    await page.says('#status', /^online/);
    await page.dial('bob');
    await page.says('#state', /^The browser does not let this page use the microphone\. Press the symbol/);
    await page.picture('no-microphone');
    await alice.dial('gina');
    await page.click('.ring .plain');
    await page.says('.notice', /does not let this page use the microphone/);
    await page.says('.ring h2', /^alice$/);
    await page.click('.ring .decline');
    await alice.says('#state', /^gina declined/);
  });
  await check('plain http from another machine: no microphone, and no sign-in by name', async () => {
    const port = new URL(origin).port;
    const far = await start(['--host-resolver-rules=MAP phone.test 127.0.0.1']);
    const page = await open(far, '', { origin: `http://phone.test:${port}` });
    await page.says('.notice', /plain http from another machine.*Open https:\/\/phone\.test/);
    await page.until(`shown('#token') && !shown('#name')`);
    await page.run(`shown('#token').value = ${JSON.stringify(server.token('ina'))}`);
    await page.click('#by-token button');
    await page.says('#status', /^online/);
    await page.dial('bob');
    await page.says('#state', /Open this page over https/);
    await page.picture('insecure');
  });
  await check('a browser without WebRTC is told so', async () => {
    const page = await open(browser, '', { script: 'delete window.RTCPeerConnection;' });
    await page.says('#boot', /cannot make calls: it has no RTCPeerConnection\. Use a current Chrome/);
    await page.picture('unsupported');
  });
  await check('the server is away at the sign-in', async () => {
    const page = await open(browser);
    await page.until(`shown('#name')`);
    await server.kill();
    await page.run(`shown('#name').value = 'hans'`);
    await page.click('#by-name button');
    await page.says('#sign-in-fault', /does not answer\. Start it \(reveille serve\), then try again/);
    await server.run();
    await page.click('#by-name button');
    await page.says('#status', /^online/);
  });
}

server = await Server.start('--sign-in-by-name', '--web-root', join(repository, 'Resources/web'));
origin = server.url.replace(/^ws/, 'http');
const browser = await start();
await calls(browser);
if (!alice) alice = await open(browser, '#user=alice');
if (!bob) bob = await open(browser, '#user=bob');
await otherEnds(browser);
await around(browser);
await keyboard(browser);
await links(browser);
await faults(browser);
await check('no page has an error, an unhandled rejection, or breaks its policy', async () => {
  const found = (await Promise.all(pages.map((page) => page.run('window.faults ?? []')))).flat();
  if (found.length > 0) throw new Error(found.join('; '));
});
finish();
