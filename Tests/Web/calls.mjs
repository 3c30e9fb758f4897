#!/usr/bin/env node
// Two pages in Chromium talk through a real server: 440 Hz one way, 880 Hz the other. The server is killed, a page is
// loaded again, the call moves to another tab, each in mid-call. Prints a line for each check.

import { Browser, serveFiles } from './browser.mjs';
import { finish, same } from './checks.mjs';
import { Pair, silent, within } from './pair.mjs';
import { Server, until } from './server.mjs';

const server = await Server.start();
const files = await serveFiles(server);
const browsers = [await Browser.start(440), await Browser.start(880)];
let ann = await browsers[0].open(`${files.url}?user=ann`);
const ben = await browsers[1].open(`${files.url}?user=ben`);
const pair = new Pair(ann, ben);
const check = pair.check.bind(pair);
const bothHear = pair.bothHear.bind(pair);

await check('a call rings, is answered, and 440 Hz and 880 Hz are heard', () => pair.call());
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
  const frames = `page.media.remoteStream.getVideoTracks().some(({ readyState, muted }) => readyState === 'live' && !muted)`;
  await ann.run('page.media.setVideo(true)');
  await ben.until(frames);
  await ann.run('page.media.setVideo(false)');
  await ben.until(`!(${frames})`);
  await bothHear();
});
await check('tones are sent, those of a second request behind those of the first', async () => {
  const sent = await ann.run(`(async () => {
    const { dtmf } = page.media.peerConnection.getSenders().find(({ track }) => track?.kind === 'audio');
    let sent = '';
    dtmf.addEventListener('tonechange', ({ tone }) => { sent += tone; });
    await Promise.all([page.media.dtmf('12#'), page.media.dtmf('34')]);
    return sent;
  })()`);
  if (sent !== '12#34') throw new Error(`sent ${sent}`);
});
await check('devices are listed, and another microphone is taken', async () => {
  const microphones = `page.media.devices().then((all) => all.filter(({ kind }) => kind === 'audioinput'))`;
  const count = await ann.run(`${microphones}.then(({ length }) => length)`);
  if (!(count > 1)) throw new Error(`${count} microphones`);
  for (const index of [-1, 0]) {
    await ann.run(`${microphones}.then((all) => page.media.setMicrophone(all.at(${index}).deviceId))`);
  }
  await bothHear();
  return `${count} microphones`;
});
await check('the server is killed and started again: the audio never stops, and both are back within 3 s', async () => {
  await server.kill();
  await new Promise((resolve) => { setTimeout(resolve, 700); });
  if (!await pair.heard()) throw new Error('silence without a server');
  await server.run();
  const started = Date.now();
  for (const tab of [ann, ben]) await tab.until(`page.session.state === 'open'`, 5_000);
  const took = Date.now() - started;
  await bothHear();
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
await check('hold, mute and camera outlive a reload of either page, and the other side is told again', async () => {
  await ann.run('Promise.all([page.media.mute(), page.media.setVideo(true)])');
  await ben.run('page.media.hold()');
  for (const tab of [ann, ben]) {
    await tab.reload();
    await tab.until(`page.session.state === 'open' && page.media?.peerConnection?.connectionState === 'connected'`);
    const other = tab === ann ? 'hold' : 'mute';
    await tab.until(`page.events.some(([type, kind]) => type === 'peer' && kind === '${other}')`);
  }
  const state = '[page.media.isMuted, page.media.isOnHold, page.media.isCameraOn].join()';
  const found = await Promise.all([ann, ben].map((tab) => tab.run(state)));
  if (found.join(' ') !== 'true,false,true false,true,false') throw new Error(found.join(' '));
  const directions = `page.media.peerConnection.getTransceivers().map(({ currentDirection }) => currentDirection)`;
  for (const tab of [ann, ben]) {
    await tab.until(`${directions}.every((direction) => direction === 'inactive')`).catch(async () => {
      throw new Error(`media on hold flows: ${await tab.run(directions)}`);
    });
  }
  await ben.run('page.media.hold(false)');
  await until(async () => await ann.run('page.hears()') > 0, 'ben is heard');
  await silent(ben);
  await ben.until(`page.media.remoteStream.getVideoTracks().some(({ readyState, muted }) => readyState === 'live' && !muted)`);
  await ann.run('Promise.all([page.media.mute(false), page.media.setVideo(false)])');
  await bothHear();
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
  pair.ann = second;
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
for (const [name, tab] of [['caller', () => ann], ['callee', () => ben]]) {
  await check(`the ${name}'s page is loaded again while it rings: the call is answered all the same`, async () => {
    await ann.run('page.media = undefined');
    await ben.run('page.media = undefined');
    await ann.run(`page.dial('ben')`);
    await ben.until(`page.media?.call.state === 'ringing'`);
    await tab().reload();
    await tab().until(`page.session.state === 'open' && page.media?.call.state === 'ringing'`);
    await ben.run('page.answer()');
    await bothHear();
    await ben.run('page.media.call.hangup()');
    await ann.until('page.session.calls.length === 0');
  });
}
await check('to answer again, at once and later, while the server is away and after it, is to answer once', async () => {
  for (const tab of [ann, ben]) await tab.run('page.media = undefined');
  await ann.run(`page.dial('ben')`);
  await ben.until(`page.media?.call.state === 'ringing'`);
  await server.kill();
  await ben.until(`page.session.state !== 'open'`);
  await ben.run(`void (window.answers = Promise.all([page.answer(), page.answer()]))`);
  await ben.until(`page.media.peerConnection.signalingState === 'stable'`);
  await ben.run(`void (window.third = page.answer())`);
  await server.run();
  await ben.run('answers');
  await ben.run('third');
  await bothHear();
  await ben.run('page.answer()');
  same(await ben.run('page.media.peerConnection.signalingState'), 'stable', 'the signaling state');
  await bothHear();
  await ben.run('page.media.call.hangup()');
  await ann.until('page.session.calls.length === 0');
});
await check("the article's first call rings, is answered, and ends", async () => {
  const carol = await browsers[0].open(`${files.url}example?user=carol`);
  const bob = await browsers[1].open(`${files.url}example?user=bob`);
  const pages = [carol, bob];
  // The session of the test's own page is another tab's.
  for (const tab of [ann, ben]) await tab.run('page.session.close()');
  await bob.until(`document.readyState === 'complete'`);
  await until(async () => {
    await carol.run('call.click()');
    await new Promise((resolve) => { setTimeout(resolve, 1_000); });
    return await bob.run('line.textContent') === 'carol';
  }, 'it rings');
  await bob.run('answer.click()');
  for (const tab of pages) await tab.until(`line.textContent.startsWith('good: ')`);
  const second = await browsers[0].open(`${files.url}example?user=carol`);
  await second.until(`line.textContent.startsWith('elsewhere: ')`);
  await second.run(`void (window.onerror = (message) => { line.textContent = message; })`);
  for (const button of ['answer', 'end']) await second.run(`${button}.click()`);
  same(await second.run('line.textContent'), 'elsewhere: another tab has the session', 'a second tab');
  await browsers[0].close(second);
  await bob.run('end.click()');
  for (const tab of pages) await tab.until(`line.textContent === 'hangup'`);
  for (const [index, tab] of pages.entries()) await browsers[index].close(tab);
});
await check("the article's page says why it has no session: no token, and one that the server refuses", async () => {
  const lines = [];
  for (const [user, pattern] of [['nobody', /^down: .*\/call-token: status 404$/], ['mallory', /^gone: .+: Sign in again/]]) {
    const tab = await browsers[0].open(`${files.url}example?user=${user}`, { isApart: true });
    await tab.until(`${pattern}.test(line.textContent)`).catch(async () => {
      throw new Error(`${user}: ${await tab.run('line.textContent')}`);
    });
    lines.push(await tab.run('line.textContent'));
    await browsers[0].close(tab);
  }
  return lines.join('; ');
});
await check('nothing went wrong on the way', async () => {
  const problems = (await Promise.all([ann, ben].map((tab) => tab.run('page.problems')))).flat();
  if (problems.length > 0) throw new Error(problems.join('; '));
});
finish();
