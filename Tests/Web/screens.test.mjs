// What the softphone and the board say, by the parts of them that need no browser.

import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repository, webModule } from './library.mjs';

const { brief, full, problem, story, talkTime } = await webModule('phone/words.js');
const { Ladder, rowsOf } = await webModule('phone/ladder.js');
const { CallListing } = await webModule('board/calls.js');
const { problems, readiness } = await webModule('board/problems.js');
const { cutInMiddle, cutToWidth } = await webModule('board/text.js');

const call = { caller: 'alice', callee: 'bob', winner: 'bob', createdAt: 0, answeredAt: 3_000, connectedAt: 5_000 };

test('the talk of a call that ends because a connection was lost ends with the connection', () => {
  const lost = { ...call, reason: 'connection_lost', endedBy: 'bob', lostAt: 15_000, endedAt: 45_000 };
  assert.equal(story(lost), 'bob answered after 3 s. The connection to bob was lost after 10 s of talk and did not come back.');
  assert.equal(talkTime({ ...lost, lostAt: undefined }), 40_000, 'another end');
  // Lost before media flowed.
  assert.equal(talkTime({ ...lost, lostAt: 4_000 }), 0);
});

test('the ladder knows when the party was lost for whom the call ended', () => {
  const ladder = new Ladder('alice', 'a-call');
  ladder.rows = [
    { at: 1, step: 'invited', who: 'alice' }, { at: 2, step: 'connection_lost', who: 'bob' },
    { at: 3, step: 'came_back', who: 'bob' }, { at: 4, step: 'connection_lost', who: 'bob' },
    { at: 5, step: 'connection_lost', who: 'alice' }, { at: 6, step: 'came_back', who: 'alice' },
    { at: 7, step: 'ended', who: 'bob', detail: 'connection_lost' },
  ];
  const found = ['bob', 'alice', undefined, 'carol'].map((who) => ladder.lostAt(who));
  assert.deepEqual(found, [4, undefined, 4, undefined], 'alice is back');
  // What comes after the end is no return to the call.
  ladder.rows.push({ at: 8, step: 'came_back', who: 'bob' });
  assert.equal(ladder.lostAt('bob'), 4);
});

test('what is told late stands where it was by the clock of the server, whatever that one says', (context) => {
  let now = 1_000_000;
  context.mock.method(Date, 'now', () => now);
  const ladder = new Ladder('alice', 'a-call');
  const later = (seconds, act) => {
    now = 1_000_000 + seconds * 1000;
    act();
  };
  // The clock of the server is an hour behind.
  const server = (seconds) => 1_000_000 - 3_600_000 + seconds * 1000;
  ladder.once('invited', 'alice');
  later(3, () => ladder.once('answered', 'bob', '', server(2)));
  later(5, () => ladder.once('connected', '', '', server(5)));
  later(10, () => ladder.presence('alice', true));
  // Told together once this side is back.
  later(60, () => {
    ladder.presence('alice', false);
    ladder.presence('bob', true, server(15));
    ladder.once('ended', 'bob', 'connection_lost', server(45));
  });
  assert.deepEqual(ladder.rows.map(({ at, step }) => `${(at - 1_000_000) / 1000} ${step}`), [
    '0 invited', '3 answered', '5 connected', '10 connection_lost', '15 connection_lost', '45 ended', '60 came_back',
  ]);
  const times = { connectedAt: ladder.at('connected'), lostAt: ladder.lostAt('bob'), endedAt: ladder.at('ended') };
  assert.equal(talkTime(times), 10_000);
  assert.equal(ladder.lostAt('alice'), 1_010_000, 'it came back after the end');
  // Of one party the steps stay in their order, and none is later than now.
  const slow = new Ladder('alice', 'another-call');
  later(70, () => slow.presence('bob', true, server(60)));
  later(71, () => {
    slow.once('connected', '', '', server(71));
    slow.presence('bob', false, server(65));
  });
  assert.equal(slow.isLost('bob'), false);
  assert.deepEqual(slow.rows.map(({ at, step }) => `${(at - 1_000_000) / 1000} ${step}`),
    ['70 connection_lost', '70 came_back', '71 connected']);
});

test('a full ladder takes the losses of connections and the end, and stays bounded', () => {
  const ladder = new Ladder('alice', 'a-call');
  for (let count = 0; count < 250; count += 1) ladder.add(count % 2 ? 'unmute' : 'mute', 'alice');
  assert.equal(ladder.rows.length, 200);
  for (let count = 0; count < 101; count += 1) ladder.presence('bob', count % 2 === 0);
  ladder.once('ended', 'bob', 'connection_lost');
  assert.deepEqual(ladder.rows.slice(200).map(({ step }) => step), ['came_back', 'connection_lost', 'ended']);
  assert.notEqual(ladder.lostAt('bob'), undefined);
});

test('the rows of a call that only the server knows have the loss of the connection', () => {
  const rows = rowsOf({
    from: { handle: 'alice' }, created_at: 1, answered_at: 2, connected_at: 3, lost_at: 4, ended_at: 5,
    by: { user: 'bob' }, reason: 'connection_lost',
  });
  assert.deepEqual(rows.map(({ at, step, who }) => `${at} ${step} ${who}`),
    ['1 invited alice', '2 answered ', '3 connected ', '4 connection_lost bob', '5 ended bob']);
});

test('a name of any length leaves a sentence readable, and short ones are whole', () => {
  const long = `first-${'x'.repeat(500)}-last`;
  assert.equal(brief('alice'), 'alice');
  assert.equal(brief(undefined), undefined);
  assert.equal([...brief(long)].length, 48);
  assert.match(brief('🎈'.repeat(100)), /^(🎈)+…(🎈)+$/u);
  const told = story({ ...call, caller: long, reason: 'hangup', endedBy: long, endedAt: 9_000 });
  assert.match(told, /^bob answered after 3 s\. first-x+…x+-last hung up after 4 s of talk\.$/);
  assert.ok(told.length < 120, told);
});

test('a message that is a sentence already gets no second full stop', () => {
  assert.equal(full('It is over.'), 'It is over.');
  assert.equal(full('it is over'), 'it is over.');
  assert.equal(problem({ message: 'The server did not take it.' }).what, 'That failed: The server did not take it.');
  assert.equal(problem(new Error('no camera')).what, 'That failed: no camera.');
});

test('a label of the ladder is no wider than its lane', () => {
  const measure = (text) => [...text].reduce((sum, letter) => sum + (letter === 'W' ? 12 : 6), 0);
  for (const name of ['alice/3f2a91bc', 'W'.repeat(40), `${'l'.repeat(40)}/3f2a91bc`, 'x']) {
    const cut = cutToWidth(name, 112, measure);
    assert.ok(measure(cut) <= 112, `${cut} is ${measure(cut)} wide`);
  }
  assert.equal(cutToWidth('alice/3f2a91bc', 112, measure), 'alice/3f2a91bc');
  assert.equal(cutToWidth('abcdefgh', 30, measure), cutInMiddle('abcdefgh', 5));
});

test('the board calls no server ready that it does not hear', () => {
  assert.equal(readiness({}, false).text, 'ready');
  assert.doesNotMatch(readiness({}, true).text, /^ready/);
  assert.notEqual(readiness({}, true).weight, 'good');
  assert.equal(readiness(undefined, false).text, 'loading…');
});

test('the problems of a server that the board does not hear are what it had when it was last seen', () => {
  const drainsUntil = { ms: Date.UTC(2026, 0, 31, 12) };
  const stats = {
    server: { drains_until: drainsUntil },
    problems: [
      { code: 'draining', severity: 'warning', words: 'draining' },
      { code: 'store_hangs', severity: 'critical', words: 'the disk does not answer' },
    ],
  };
  const given = { stats, board: { entries: new Map() }, now: 0 };
  const live = problems({ ...given, isOld: false });
  assert.deepEqual(live.map(({ weight }) => weight), ['failure', 'suspect']);
  assert.ok(live.every(({ text }) => !text.startsWith('when last seen')));
  const old = problems({ ...given, isOld: true });
  assert.deepEqual(old.map(({ text }) => text), live.map(({ text }) => `when last seen: ${text}`));
  assert.deepEqual(old.map(({ weight }) => weight), ['quiet', 'quiet']);
  assert.deepEqual(old.map(({ name }) => name), live.map(({ name }) => name), 'a screen reader does not say them again');
});

test('the mark of the sorted column points the way of its figures', () => {
  const at = (ms) => ({ ms });
  const live = (id, created, devices) => ({
    call_id: id, state: 'waking', created_at: at(created), from: id, to: 'x', counts: { devices },
  });
  const entries = new Map(['a', 'b', 'c'].map((id, index) => {
    const each = live(id, 1_000 * (index + 1), index + 1);
    return [id, { call: each, created: each.created_at.ms }];
  }));
  const now = 60_000;
  const figures = {
    trouble: ({ call: { created_at: { ms } } }) => now - ms, age: ({ created }) => now - created,
    devices: ({ call: { counts } }) => counts.devices,
  };
  for (const [sort, figure] of Object.entries(figures)) {
    for (const isReversed of [false, true]) {
      const listing = Object.assign(new CallListing(), { sort, isReversed });
      listing.update({ entries, revision: 1 }, now);
      const [first, last] = [figure(listing.rows[0]), figure(listing.rows.at(-1))];
      assert.equal(listing.direction, first < last ? 'ascending' : 'descending', `${sort}, reversed: ${isReversed}`);
    }
  }
});

test('each picture of the softphone is used, and each that is used is there', () => {
  const folder = join(repository, 'Resources/web/phone');
  const text = (name) => readFileSync(join(folder, name), 'utf8');
  const page = text('index.html');
  const there = [...page.matchAll(/<symbol id="(i-[a-z-]+)"/g)].map(([, id]) => id);
  const scripts = readdirSync(folder).filter((name) => name.endsWith('.js')).map(text).join('\n');
  // Names as in `#i-${isMissed ? 'missed' : 'in'}` are words of the same line.
  const named = (id) => page.includes(`"#${id}"`) || scripts.includes(`#${id}'`)
    || scripts.split('\n').some((line) => line.includes('`#i-$') && line.includes(`'${id.slice(2)}'`));
  assert.deepEqual(there.filter((id) => !named(id)), [], 'used nowhere');
  const used = [...`${page}${scripts}`.matchAll(/["']#(i-[a-z-]+)["']/g)].map(([, id]) => id);
  assert.deepEqual(used.filter((id) => !there.includes(id)), [], 'not there');
});
