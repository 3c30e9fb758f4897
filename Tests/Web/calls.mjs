#!/usr/bin/env node
// Two pages in Chromium talk through a real server: 440 Hz one way, 880 Hz the other. The server is killed, a page is
// loaded again, the call moves to another tab, each in mid-call. Prints a line for each check.

import { Browser, serveFiles } from './browser.mjs';
import { Proxy, Server, until } from './server.mjs';

let failed = 0;
let server;
let files;
let proxy;
const browsers = [];
const near = (frequency, wanted) => Math.abs(frequency - wanted) < 25;

async function check(name, body) {
  const started = Date.now();
  try {
    const note = await body();
    console.log(`ok      ${name}${note ? `: ${note}` : ''} (${Date.now() - started} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.message}`);
    for (const tab of [ann, ben].filter(Boolean)) {
      const state = await tab.run(`JSON.stringify({
        state: page.session.state, calls: page.session.calls.map(({ state }) => state), problems: page.problems,
        pc: page.media?.peerConnection?.connectionState, signaling: page.media?.peerConnection?.signalingState,
        heard: page.hears(), events: page.events.slice(-14) })`).catch((problem) => problem.message);
      console.log(`        ${state}`);
    }
  }
}

/** Both hear each other, again and again for a moment. Returns how long that took. */
async function bothHear(limit) {
  const started = Date.now();
  let inARow = 0;
  await until(async () => {
    const heard = await Promise.all([ann, ben].map((tab) => tab.run('page.hears()').catch(() => 0)));
    inARow = near(heard[0], 880) && near(heard[1], 440) ? inARow + 1 : 0;
    if (inARow === 1) bothHear.since = Date.now() - started;
    return inARow >= 20;
  }, 'both hear each other', limit ?? 15_000);
  return bothHear.since;
}

const silent = (tab) => until(async () => (await tab.run('page.hears()')) === 0, 'silence');
const within = (took, limit, what) => {
  if (took > limit) throw new Error(`${what} after ${took} ms, more than ${limit} ms`);
  return `${what} after ${took} ms`;
};

let ann;
let ben;
try {
  server = await Server.start();
  proxy = await Proxy.start(server.port);
  files = await serveFiles(server);
  for (const frequency of [440, 880]) browsers.push(await Browser.start(frequency));
  ann = await browsers[0].open(`${files.url}?user=ann`);
  ben = await browsers[1].open(`${files.url}?user=ben`);

  await check('both pages have a session', async () => {
    await ann.until(`page.session.state === 'open'`, 30_000);
    await ben.until(`page.session.state === 'open'`, 30_000);
  });
  await check('a call rings, is answered, and 440 Hz and 880 Hz are heard', async () => {
    await ann.run(`page.dial('ben')`);
    await ben.until(`page.media?.call.state === 'ringing'`);
    const answered = Date.now();
    await ben.run('page.answer()');
    await bothHear();
    await ann.until(`page.media.call.state === 'connected'`);
    await ben.until(`page.media.call.state === 'connected'`);
    return `audio ${Date.now() - answered} ms after the answer`;
  });
  await check('the quality is told in words', async () => {
    await ann.until(`page.media.quality?.level === 'good'`);
    return ann.run('page.media.quality.text');
  });
  await check('mute is silence on the other side, and is told', async () => {
    await ann.run('page.media.mute()');
    await silent(ben);
    await ben.until(`page.events.some(([type, kind]) => type === 'peer' && kind === 'mute')`);
    await ann.run('page.media.mute(false)');
    await bothHear();
  });
  await check('hold is silence on both sides, and its end brings the audio back', async () => {
    await ben.run('page.media.hold()');
    await silent(ann);
    await silent(ben);
    await ben.run('page.media.hold(false)');
    await bothHear();
  });
  await check('both hold and end it at once: the offers collide, and the audio is back', async () => {
    for (const isOn of [true, false]) await Promise.all([ann, ben].map((tab) => tab.run(`page.media.hold(${isOn})`)));
    await bothHear();
  });
  await check('video is switched on and off', async () => {
    const frames = `[...page.media.remoteStream.getVideoTracks()].some((track) => track.readyState === 'live' && !track.muted)`;
    await ann.run('page.media.setVideo(true)');
    await ben.until(frames);
    await ann.run('page.media.setVideo(false)');
    await ben.until(`!(${frames})`);
    await bothHear();
  });
  await check('tones are sent', () => ann.run(`page.media.dtmf('12#')`));
  await check('devices are listed, and another microphone is taken', async () => {
    const microphones = `page.media.devices().then((all) => all.filter(({ kind }) => kind === 'audioinput'))`;
    const count = await ann.run(`${microphones}.then(({ length }) => length)`);
    if (!(count > 1)) throw new Error(`${count} microphones`);
    for (const index of [-1, 0]) await ann.run(`${microphones}.then((all) => page.media.setMicrophone(all.at(${index}).deviceId))`);
    await bothHear();
    return `${count} microphones`;
  });
  await check('the server is killed and started again: the audio never stops, and both are back within 3 s', async () => {
    await server.kill();
    const before = await Promise.all([ann, ben].map((tab) => tab.run('page.hears()')));
    await new Promise((resolve) => { setTimeout(resolve, 700); });
    await server.run();
    const started = Date.now();
    for (const tab of [ann, ben]) await tab.until(`page.session.state === 'open'`, 5_000);
    const took = Date.now() - started;
    await bothHear();
    if (!near(before[0], 880) || !near(before[1], 440)) throw new Error(`heard ${before} without a server`);
    for (const tab of [ann, ben]) await tab.until(`page.media.call.state === 'connected'`);
    return within(took, 3_000, 'sessions');
  });
  for (const [name, tab, other] of [['caller', ann, ben], ['callee', ben, ann]]) {
    await check(`the ${name}'s page is loaded again: the call goes on`, async () => {
      const id = await other.run('page.media.call.id');
      await tab.reload();
      await tab.until(`page.session.state === 'open'`);
      const took = await bothHear();
      if (await tab.run('page.media.call.id') !== id) throw new Error('another call');
      return within(took, 3_000, 'audio');
    });
  }
  await check('both pages are loaded again at once', async () => {
    await Promise.all([ann.reload(), ben.reload()]);
    await Promise.all([ann, ben].map((tab) => tab.until(`page.session.state === 'open'`)));
    return within(await bothHear(), 3_000, 'audio');
  });
  await check('the server is killed while a page is loaded again', async () => {
    await ben.reload();
    await server.kill();
    await server.run();
    const started = Date.now();
    await bothHear();
    return within(Date.now() - started, 4_500, 'audio');
  });
  await check('a second tab is told where the call is, and takes it over', async () => {
    const second = await browsers[0].open(`${files.url}?user=ann`);
    await second.until(`page.session.state === 'elsewhere' && page.session.callsElsewhere[0]?.state === 'connected'`);
    await second.run('page.session.takeOver()');
    const first = ann;
    ann = second;
    await second.until(`page.session.state === 'open'`);
    const took = await bothHear();
    await first.until(`page.session.state === 'elsewhere' && page.session.calls.length === 0`);
    await browsers[0].close(first);
    return within(took, 3_000, 'audio');
  });
  await check('a hang-up ends the call on both sides, and the microphones are released', async () => {
    await ann.run('page.media.call.hangup()');
    for (const tab of [ann, ben]) {
      await tab.until(`page.session.calls.length === 0 && page.media.isClosed
        && page.media.localStream.getTracks().every(({ readyState }) => readyState === 'ended')`);
    }
  });
  await check('nothing went wrong on the way', async () => {
    const problems = (await Promise.all([ann, ben].map((tab) => tab.run('page.problems')))).flat();
    if (problems.length > 0) throw new Error(problems.join('; '));
  });
} finally {
  for (const browser of browsers) await browser.stop();
  proxy?.stop();
  files?.stop();
  await server?.stop();
}
console.log(failed === 0 ? 'all passed' : `${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
