#!/usr/bin/env node
// A call whose phone changes the network: a page in Chromium runs in a network namespace with two links, of which one
// or none is up. First a page of the library alone, then the softphone. Prints a line for each check. Runs itself in a
// namespace of its own; needs root, or user namespaces.

import { execFileSync, spawn } from 'node:child_process';
import { readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Browser, serveFiles } from './browser.mjs';
import { finish, pause } from './checks.mjs';
import { repository } from './library.mjs';
import { Page } from './phone-page.mjs';
import { Pair, within } from './pair.mjs';
import { own, temporaryFolder } from './processes.mjs';
import { Server, until } from './server.mjs';

const INSIDE = 'reveille-network';
if (process.argv[2] !== INSIDE) {
  const user = process.getuid() === 0 ? [] : ['--map-root-user'];
  const program = [process.execPath, fileURLToPath(import.meta.url), INSIDE];
  const inside = own(spawn('unshare', [...user, '--net', ...program], { stdio: 'inherit' }), { signal: 'SIGTERM' });
  process.exit(await new Promise((resolve) => { inside.on('exit', (status) => resolve(status ?? 1)); }));
}

const HOME = '10.77.0.1';
const run = (command) => execFileSync('sh', ['-ec', command]);

/** The phone's namespace, which lives as long as a process in it. */
const holder = own(spawn('unshare', ['--net', 'sleep', 'infinity'], { stdio: 'ignore' }));
const inPhone = ['nsenter', `--net=/proc/${holder.pid}/ns/net`];
const phone = (command) => run(`${inPhone.join(' ')} ${command}`);

function up(link) {
  phone(`ip address add 10.77.${link}.2/24 dev p${link}`);
  phone(`ip link set p${link} up`);
  phone(`ip route replace default via 10.77.${link}.1 dev p${link} metric ${link}00`);
}

/** Without its address, too: it would be used over the other link. */
function down(link) {
  phone(`ip link set p${link} down`);
  phone(`ip address flush dev p${link}`);
}

function connectPhone() {
  run(`ip link set lo up; ip address add ${HOME}/32 dev lo`);
  phone('ip link set lo up');
  for (const link of [1, 2]) {
    run(`ip link add h${link} type veth peer name p${link} netns ${holder.pid}
      ip address add 10.77.${link}.1/24 dev h${link}; ip link set h${link} up`);
  }
  up(1);
}

/** Nothing passes: the namespace holds. */
const silence = () => until(async () => !await pair.heard(), 'silence');

/** Waits until both phones hear the other for a while. Returns when that began, in milliseconds from now. */
async function phonesHear(phones, duration) {
  const started = Date.now();
  let since;
  await until(async () => {
    const heard = await Promise.all(phones.map((page) => page.hears()));
    since = heard.every(Boolean) ? since ?? Date.now() : undefined;
    return since !== undefined && Date.now() - since >= duration;
  }, 'both phones hear each other', 30_000);
  return since - started;
}

/** The softphone: one switch, and what the page says of it. */
async function softphone() {
  const origin = server.url.replace(/^ws/, 'http');
  const [alice, bob] = await Promise.all(['alice', 'bob'].map((user, index) =>
    Page.open(browsers[index], `${origin}/phone/#token=${server.token(user)}`)));
  for (const page of [alice, bob]) await page.says('#status', /^online/);
  await pair.check('the softphone calls over the second network', async () => {
    await alice.dial('bob');
    await bob.answer();
    await Promise.all([alice.talks(), bob.talks()]);
  });
  await pair.check('the softphone moves to another network', async () => {
    up(1);
    await pause(4_000);
    down(2);
    const took = await phonesHear([alice, bob], 3_000);
    await alice.says('#status', /^online/);
    await Promise.all([alice.talks(), bob.talks()]);
    const rows = await alice.run(`[...document.querySelectorAll('#ladder tr')].map(({ cells }) =>
      [cells[2].textContent, cells[3].textContent].join(' '))`);
    for (const words of [/^alice connection lost/, /^alice came back/]) {
      if (!rows.some((row) => words.test(row))) throw new Error(`no ${words} in ${rows.join('; ')}`);
    }
    const faults = (await Promise.all([alice, bob].map((page) => page.run('faults')))).flat();
    if (faults.length > 0) throw new Error(faults.join('; '));
    // The library's own bound is that of the page above; here a loaded machine plays the sound with gaps.
    return within(took, 5_000, 'audio');
  });
}

// Until `unshare` has made the namespace, the process is in this one.
await until(() => readlinkSync(`/proc/${holder.pid}/ns/net`) !== readlinkSync('/proc/self/ns/net'), 'a namespace');
connectPhone();
const secret = 'of-the-test';
const folder = temporaryFolder('web-turn');
writeFileSync(join(folder, 'secret'), secret);
own(spawn('turnserver', ['-n', '--listening-ip', HOME, '--relay-ip', HOME, '--use-auth-secret',
  `--static-auth-secret=${secret}`, '--realm=reveille.test', '--no-tls', '--no-dtls', '--no-cli', '--pidfile',
  join(folder, 'pid'), '--userdb', join(folder, 'db')], { stdio: 'ignore' }));
process.env.REVEILLE_TURN_URLS = `turn:${HOME}:3478`;
process.env.REVEILLE_TURN_SECRET_FILE = join(folder, 'secret');
const server = await Server.start('--host', HOME, '--insecure', '--web-root', join(repository, 'Resources/web'));
const files = await serveFiles(server);
const origins = [files.url, server.url.replace(/^ws/, 'http')];
const flags = [`--unsafely-treat-insecure-origin-as-secure=${origins}`];
const browsers = [await Browser.start(440, { prefix: inPhone, flags }), await Browser.start(880, { flags })];
const pair = new Pair(await browsers[0].open(`${files.url}?user=ann`), await browsers[1].open(`${files.url}?user=ben`));

await pair.check('a call over the first network', () => pair.call());
await pair.check('the phone moves to another network', async () => {
  up(2);
  // Chromium lists a new network after two seconds or three.
  await pause(4_000);
  down(1);
  const took = await pair.bothHear(30_000, 3_000);
  return within(took, 3_000, 'audio');
});
await pair.check('no network for five seconds, then the first one', async () => {
  down(2);
  await silence();
  await pause(5_000);
  up(1);
  const took = await pair.bothHear(30_000, 3_000);
  return within(took, 3_000, 'audio');
});
await pair.check('no network for twenty seconds', async () => {
  down(1);
  await silence();
  await pause(20_000);
  up(2);
  return within(await pair.bothHear(30_000, 3_000), 3_000, 'audio');
});
await pair.check('the call was the same all the time', async () => {
  for (const tab of pair.tabs) await tab.until(`page.session.state === 'open' && page.media.call.state === 'connected'`);
  const problems = (await Promise.all(pair.tabs.map((tab) => tab.run('page.problems')))).flat();
  if (problems.length > 0) throw new Error(problems.join('; '));
  await pair.ann.run('page.media.call.hangup()');
});
await pair.check('a call over TURN, whose credentials the server gives', async () => {
  await pair.ann.send('Page.navigate', { url: `${files.url}?user=ann&relay` });
  await pair.ben.send('Page.navigate', { url: `${files.url}?user=ben&relay` });
  await pair.call();
  for (const tab of pair.tabs) await tab.until('page.media.quality?.isRelayed');
  return pair.ann.run('page.media.quality.text');
});
await softphone();
finish();
