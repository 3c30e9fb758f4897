#!/usr/bin/env node
// Runs Resources/clients/react-native/reveille.js in Node.js: stand-ins for the plugins, which emit their events, and a
// local HTTP server for Reveille.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CALL = '3554fbe6-9e3d-44fc-aaea-8955b60bb83f';
const PUSH = '05a35c92-42f0-4f0e-b3c1-0c4d8a2f7e11';
const REPORT = `/v1/pushes/${PUSH}/report`;
const act = (verb) => `/v1/calls/${CALL}/${verb}`;

// The events that native code sent before a listener was there wait in `early`, and come as one event.
const EMITTER = `
  export class Plugin {
    constructor() { this.reset(); }
    reset() { this.listeners = {}; this.early = []; this.calls = []; }
    addEventListener(name, handler) {
      this.listeners[name] = handler;
      if (name === 'didLoadWithEvents' && this.early.length) setTimeout(() => handler(this.early), 5);
    }
    emit(name, data) { return this.listeners[name]?.(data); }
  }`;
const MODULES = {
  'react-native': `export const Platform = { OS: 'ios' };`,
  'react-native-callkeep': `${EMITTER}
    export const CONSTANTS = { END_CALL_REASONS: { FAILED: 1, REMOTE_ENDED: 2, UNANSWERED: 3, ANSWERED_ELSEWHERE: 4,
      DECLINED_ELSEWHERE: 5, MISSED: 6 } };
    class CallKeep extends Plugin {
      reportEndCallWithUUID(...values) { this.calls.push(['end', ...values]); }
      displayIncomingCall(...values) { this.calls.push(['display', ...values]); }
    }
    export default new CallKeep();`,
  'react-native-voip-push-notification': `${EMITTER}
    class VoipPush extends Plugin { registerVoipToken() { this.calls.push(['register']); } }
    export default new VoipPush();`,
};

const folder = mkdtempSync(join(tmpdir(), 'reveille-glue-'));
process.on('exit', () => rmSync(folder, { recursive: true }));
for (const [name, source] of Object.entries(MODULES)) {
  mkdirSync(join(folder, 'node_modules', name), { recursive: true });
  writeFileSync(join(folder, 'node_modules', name, 'package.json'), '{"type":"module","exports":"./index.js"}');
  writeFileSync(join(folder, 'node_modules', name, 'index.js'), source);
}
const clients = join(dirname(fileURLToPath(import.meta.url)), '../../../Resources/clients');
copyFileSync(join(clients, 'react-native/reveille.js'), join(folder, 'reveille.mjs'));
writeFileSync(
  join(folder, 'all.mjs'),
  `export { connectReveille } from './reveille.mjs';
   export { Platform } from 'react-native';
   export { default as callKeep } from 'react-native-callkeep';
   export { default as voip } from 'react-native-voip-push-notification';`,
);
const { connectReveille, Platform, callKeep, voip } = await import(join(folder, 'all.mjs'));

const requests = [];
let answers = {};
const http = createServer(async (request, response) => {
  let body = '';
  for await (const part of request) body += part;
  requests.push({ path: request.url, token: request.headers.authorization, body: JSON.parse(body) });
  const queue = answers[request.url] ?? [];
  const [status, answer] = (queue.length > 1 ? queue.shift() : queue[0]) ?? [200, { state: 'ringing' }];
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
});
await new Promise((resolve) => http.listen(0, '127.0.0.1', resolve));

const paths = () => requests.map((request) => request.path);
const push = (members = {}) => ({
  aps: {}, uuid: CALL, callerName: 'Alice', handle: 'alice', hasVideo: false, push_id: PUSH, wake_token: 'wake1.abc',
  expires_at: Date.now() + 45_000, expires_in: 45, ...members,
});
const data = (members) =>
  Object.fromEntries(Object.entries(push(members)).filter(([key]) => key !== 'aps').map(([k, v]) => [k, `${v}`]));

async function until(condition) {
  for (let tries = 0; tries < 300; tries += 1) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.fail(`in vain: ${condition}; ${JSON.stringify(requests)}`);
}

function connect(os = 'ios') {
  Platform.OS = os;
  const heard = { tokens: [], answered: [], ended: [] };
  const reveille = connectReveille({
    server: `http://127.0.0.1:${http.address().port}`,
    onToken: (token) => heard.tokens.push(token),
    onAnswered: (call) => heard.answered.push(call.wake_token),
    onEnded: (call) => heard.ended.push(call.uuid),
  });
  return { reveille, heard };
}

async function display(members = {}) {
  const connected = connect();
  voip.emit('notification', push(members));
  callKeep.emit('didDisplayIncomingCall', { callUUID: CALL, error: '', errorCode: '' });
  await until(() => paths().includes(REPORT));
  return connected;
}

const tests = {
  'a displayed call is reported with its wake token': async () => {
    await display();
    assert.deepEqual(requests[0].body, { call_id: CALL, result: 'reported' });
    assert.equal(requests[0].token, 'Bearer wake1.abc');
  },
  'what the system filtered, or refused, is in the report': async () => {
    for (const [errorCode, result] of [['FilteredByDoNotDisturb', 'filtered'], ['Unknown', 'failed']]) {
      requests.length = 0;
      const { heard } = connect();
      voip.emit('notification', push());
      callKeep.emit('didDisplayIncomingCall', { callUUID: CALL, error: 'no', errorCode });
      await until(() => heard.ended.length === 1);
      assert.equal(requests[0].body.result, result);
      assert.equal(requests[0].body.error, result === 'failed' ? 'Unknown: no' : undefined);
    }
  },
  'events from before JavaScript ran count, in any order of the plugins': async () => {
    callKeep.early = [
      { name: 'RNCallKeepDidDisplayIncomingCall', data: { callUUID: CALL.toUpperCase(), error: '', errorCode: '' } },
      { name: 'RNCallKeepPerformAnswerCallAction', data: { callUUID: CALL } },
    ];
    const { heard } = connect();
    await new Promise((resolve) => setTimeout(resolve, 20));
    voip.emit('didLoadWithEvents', [
      { name: 'RNVoipPushRemoteNotificationsRegisteredEvent', data: 'a0b1' },
      { name: 'RNVoipPushRemoteNotificationReceivedEvent', data: push() },
    ]);
    await until(() => heard.answered.length === 1);
    assert.deepEqual(paths().sort(), [REPORT, act('answer')].sort());
    assert.deepEqual(heard.tokens, ['a0b1']);
  },
  'an answer that wins starts media, and a hangup follows': async () => {
    const { heard } = await display();
    callKeep.emit('answerCall', { callUUID: CALL });
    await until(() => heard.answered.length === 1);
    callKeep.emit('endCall', { callUUID: CALL });
    await until(() => paths().includes(act('hangup')));
    assert.deepEqual(heard, { tokens: [], answered: ['wake1.abc'], ended: [CALL] });
    assert.deepEqual(callKeep.calls, []);
  },
  'an answer that comes second ends the call as answered elsewhere': async () => {
    answers[act('answer')] = [[409, { code: -32005, data: { code: 'already_answered' } }]];
    const { heard } = await display();
    callKeep.emit('answerCall', { callUUID: CALL });
    await until(() => heard.ended.length === 1);
    assert.deepEqual(callKeep.calls, [['end', CALL, 4]]);
    assert.deepEqual(heard.answered, []);
  },
  'a call that is over when it is reported ends': async () => {
    answers[REPORT] = [[200, { state: 'ended', reason: 'cancelled' }]];
    await display();
    await until(() => callKeep.calls.length === 1);
    assert.deepEqual(callKeep.calls, [['end', CALL, 2]]);
  },
  'a call that nobody answers stops ringing at its deadline': async () => {
    await display({ expires_in: 0.2 });
    await until(() => callKeep.calls.length === 1);
    assert.deepEqual(callKeep.calls, [['end', CALL, 3]]);
    assert.deepEqual(paths(), [REPORT]);
  },
  'the end that the session tells ends the call once': async () => {
    const { reveille, heard } = await display();
    reveille.ended(CALL, 'declined_elsewhere');
    reveille.ended(CALL, 'declined_elsewhere');
    assert.deepEqual(callKeep.calls, [['end', CALL, 5]]);
    assert.deepEqual(heard.ended, [CALL]);
  },
  'an overloaded server is asked again, and one that is asked too often': async () => {
    answers[REPORT] = [[503, {}], [429, {}], [200, { state: 'ringing' }]];
    await display();
    await until(() => paths().length === 3);
  },
  'on Android a data message is displayed and reported, an expired one only reported': async () => {
    const { reveille } = connect('android');
    await reveille.incoming(data());
    assert.deepEqual(callKeep.calls, [['display', CALL, 'alice', 'Alice', 'generic', false]]);
    assert.equal(requests[0].body.result, 'reported');
    await reveille.incoming(data({ uuid: CALL.replace('3554', '9999'), expires_in: 0 }));
    assert.equal(requests[1].body.result, 'not_required');
    await reveille.incoming({ type: 'missed_call', uuid: CALL });
    assert.equal(callKeep.calls.length, 1);
    assert.deepEqual(voip.calls, []);
  },
  'a push that does not say how long it rings, rings for half a minute': async () => {
    const { setTimeout: wait } = globalThis;
    for (const left of [undefined, null, '', 'soon', NaN, {}]) {
      const times = [];
      globalThis.setTimeout = (act, time, ...rest) => {
        times.push(time);
        return wait(act, time, ...rest);
      };
      const { reveille } = connect('android');
      try {
        requests.length = callKeep.calls.length = 0;
        await reveille.incoming({ ...data(), expires_in: left });
      } finally {
        globalThis.setTimeout = wait;
      }
      assert.equal(callKeep.calls[0]?.[0], 'display', `${left}`);
      assert.deepEqual(requests.map(({ body }) => body.result), ['reported']);
      assert.ok(times.includes(30_000), `${left}: ${times}`);
      reveille.ended(CALL, 'hangup');
    }
  },
  'a phone’s clock that is 5 minutes fast or slow keeps no call from the screen, and does not change its time': async () => {
    const { now } = Date;
    for (const ahead of [300_000, -300_000]) {
      requests.length = callKeep.calls.length = 0;
      const members = data({ expires_in: 0.2 });
      Date.now = () => now() + ahead;
      try {
        const { reveille, heard } = connect('android');
        await reveille.incoming(members);
        assert.equal(callKeep.calls[0]?.[0], 'display');
        assert.equal(requests[0].body.result, 'reported');
        await until(() => heard.ended.length === 1);
      } finally {
        Date.now = now;
      }
      assert.deepEqual(callKeep.calls[1], ['end', CALL, 3]);
    }
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  requests.length = 0;
  answers = {};
  callKeep.reset();
  voip.reset();
  try {
    await test();
    console.log(`ok      ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED  ${name}: ${error.stack}`);
  }
}
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);
