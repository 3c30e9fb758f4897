#!/usr/bin/env node
// Checks the board in Chromium against a real server with calls, a push simulator and faults. Prints a line for each
// check. REVEILLE names the server's program; CHROMIUM the browser's; CALLS is the number of live calls for the frames
// (2000; the board is made for 10000, which a debug build takes minutes to set up); SCREENSHOTS is a folder for pictures.

import { execFileSync } from 'node:child_process';
import { Browser } from './browser.mjs';
import { check, finish, holds, pause, same } from './checks.mjs';
import { webModule } from './library.mjs';
import { kill } from './processes.mjs';
import { BoardServer, freePort, program, start, until } from './server.mjs';

const { sentences } = await webModule('board/sentences.js');
const many = Number(process.env.CALLS ?? 2_000);

const shown = '[...document.querySelectorAll(".rows .call-row:not([hidden])")]';
const live = '(() => Number(document.querySelector("#calls-summary").textContent.match(/^(\\d+) live/)?.[1] ?? -1))()';

/** With the keyboard alone. */
async function signIn(tab, token) {
  await tab.until('!document.querySelector("#sign-in").hidden && document.activeElement.id === "token"');
  await tab.type(token);
  await tab.key('Enter');
}

const open = (browser, url) => browser.open(url, { isApart: true, isWatched: true, size: [1600, 900] });

async function signedIn(browser, server, token = server.tokens.full) {
  const tab = await open(browser, server.board);
  await signIn(tab, token);
  await tab.until(`${live} >= 0`);
  return tab;
}

const set = (selector, value, event) => `(() => { const e = document.querySelector(${JSON.stringify(selector)});
  e.value = ${JSON.stringify(value)}; e.dispatchEvent(new Event('${event}')); })()`;

async function checkSigningIn(browser, server) {
  await check('a wrong token is refused, says what to do, and is forgotten', async () => {
    const tab = await open(browser, server.board);
    await signIn(tab, 'a-token-of-another-server');
    await tab.until('document.querySelector("#sign-in-problem").textContent.includes("admin.token_file")');
    same(await tab.run('sessionStorage.length + localStorage.length'), 0, 'kept tokens');
    await tab.close();
  });
  await check('a token stays in sessionStorage only, and a reload keeps the board', async () => {
    const tab = await signedIn(browser, server);
    same(await tab.run('[sessionStorage.length, localStorage.length, document.cookie]'), [1, 0, ''], 'storage');
    holds(!(await tab.run('location.href')).includes(server.tokens.full), 'the token is in the address');
    await tab.send('Page.reload');
    await tab.until(`${live} >= 0`);
    await tab.run('document.querySelector("#sign-out").click()');
    same(await tab.run('sessionStorage.length'), 0, 'kept after signing out');
    await tab.close();
  });
}

async function checkLinks(browser, server) {
  await check('a link signs in by its token, in a page that is open too, and the address keeps no token', async () => {
    const link = (token) => `token=${encodeURIComponent(token)}`.replace('-', '%2D');
    const tab = await open(browser, `${server.board}#${link(server.tokens.full)}`);
    await tab.until(`${live} >= 0`);
    same(await tab.run('location.hash'), '', 'fragment of the link');
    // Another's link replaces no sign-in unasked.
    await tab.run('window.answers = [false, true]; window.confirm = () => answers.shift()');
    await tab.run(`location.hash = '${link('another+token')}'`);
    await tab.until('answers.length === 1');
    same(await tab.run('[location.hash, ...Object.values(sessionStorage)]'), ['', server.tokens.full], 'fragment, token');
    await tab.run(`location.hash = '${link('another+token')}'`);
    await tab.until('document.querySelector("#sign-in-problem").textContent.includes("admin.token_file")');
    same(await tab.run('location.hash'), '', 'fragment after a second link');
    await tab.run(`location.hash = '${link(server.tokens.reading)}'`);
    await tab.until(`${live} >= 0`);
    same(await tab.run('[location.hash, ...Object.values(sessionStorage)]'), ['', server.tokens.reading], 'fragment, token');
    await tab.close();
  });
}

async function checkCalls(tab, server) {
  await check('as many calls as `calls list --live` has', async () => {
    const counted = () => server.ask('calls', 'list', '--live', '--limit', '100000').calls.length;
    const found = await until(async () => {
      const before = counted();
      const board = await tab.run(live);
      return board === before && before > 0 && `${board}`;
    }, 'the numbers agree');
    return `${found} live`;
  });
  await check('only the visible rows exist', async () => {
    const [rows, all] = await tab.run(`[document.querySelectorAll('.rows .call-row').length,
      Number(document.querySelector('.calls-grid').getAttribute('aria-rowcount'))]`);
    holds(all > 200 && rows < 60, `${rows} rows of ${all}`);
    return `${rows} rows of ${all}`;
  });
  await check('the filter shows one state only, the search one user only', async () => {
    for (const state of ['ended', 'connected']) {
      await tab.run(set('#filter', state, 'change'));
      await tab.until(`${shown}.length > 0 && ${shown}.every((row) => row.children[0].textContent === '${state}')`);
    }
    await tab.run(set('#filter', 'all', 'change'));
    const user = await tab.run(`${shown}[0].children[2].textContent`);
    await tab.run(set('#search', user, 'input'));
    await tab.until(`${shown}.length > 0 && ${shown}.every((row) => [2, 3].some((cell) => row.children[cell].textContent.includes(${JSON.stringify(user)})))`);
    await tab.run(set('#search', '', 'input'));
  });
  await check('sorting by caller orders the rows, and reversing turns them', async () => {
    for (const isReversed of [false, true]) {
      await tab.run(set('#sort', 'from', 'change'));
      await tab.until(`(() => { const names = ${shown}.sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((row) => row.children[2].textContent);
        return names.length > 5 && names.every((name, index) => index === 0 || (${isReversed} ? names[index - 1] >= name : names[index - 1] <= name)); })()`);
      if (!isReversed) await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    }
    await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    await tab.run(set('#sort', 'trouble', 'change'));
  });
}

async function checkStory(tab, server) {
  await check('the story of a call has the facts of `calls show --output json`', async () => {
    const { pushes } = server.ask('pushes', 'list', '--purpose', 'call', '--report', 'reported', '--limit', '50');
    const ids = pushes.map((push) => push.call_id);
    const id = ids.find((each) => server.ask('calls', 'show', each).call.state === 'ended');
    await tab.run(`location.hash = 'calls/${id}'`);
    await tab.until(`document.querySelector('#detail .timeline') && document.querySelector('#detail h2').textContent === 'call ${id}'`);
    const { call, legs, timeline } = server.ask('calls', 'show', id);
    const rows = await tab.run(`[...document.querySelectorAll('.timeline tbody tr')].map((row) =>
      [row.dataset.step, row.children[0].textContent, row.children[2].textContent.split('/')[0]])`);
    same(rows, timeline.map((entry) => [entry.step, `${(entry.offset_ms / 1000).toFixed(3)} s`, entry.user ?? '']), 'timeline');
    const facts = await tab.run(`Object.fromEntries([...document.querySelectorAll('#detail .facts dt')].map((name) =>
      [name.textContent, name.nextSibling.textContent]))`);
    same([facts.from.split('/')[0], facts.to], [call.from, call.to], 'parties');
    holds(facts.ended.includes(call.reason), facts.ended);
    same(await tab.run('document.querySelectorAll("#detail table")[0].tBodies[0].rows.length'), legs.length, 'devices');
    const frames = await tab.run('[...document.querySelectorAll(".ladder g text")].map((text) => text.textContent)');
    for (const name of ['call.invite', 'push', 'push.report', 'call.ringing']) holds(frames.includes(name), `${name} of ${frames}`);
    holds(frames.length === timeline.length, 'a step is not in the ladder');
    const cut = await tab.run(`(() => { const edge = document.querySelector('.ladder svg').getBoundingClientRect().right;
      return [...document.querySelectorAll('.ladder text')].filter((text) => text.getBoundingClientRect().right > edge).map((text) => text.textContent); })()`);
    same(cut, [], 'labels of the ladder that are cut');
    await tab.save('story');
    await tab.key('Escape');
    await tab.until('document.querySelector("#detail").hidden');
    return `${timeline.length} steps`;
  });
}

/** The sentences of `calls show` as text: between the facts and the devices. */
function printedSentences(server, id) {
  return server.say('calls', 'show', id).split('\n\n')[1].split('\n');
}

async function checkSentences(server) {
  await check('a story has the sentences that `calls show` prints', async () => {
    const byKind = new Map();
    for (const call of server.ask('calls', 'list', '--limit', '2000').calls.filter(({ state }) => state === 'ended')) {
      const kind = `${call.reason} ${call.answered_at !== undefined} ${call.ringing_at !== undefined}`;
      byKind.set(kind, [...(byKind.get(kind) ?? []), call.call_id].slice(0, 3));
    }
    const ids = [...byKind.values()].flat();
    for (const id of ids) {
      const printed = printedSentences(server, id);
      const own = sentences(server.ask('calls', 'show', id), Date.now());
      same(own, printed.slice(0, own.length), id);
      const advice = printed.slice(own.length).filter((line) => !/^A device that leaves|What to do:/.test(line));
      same(advice, [], `${id}: lines left out`);
    }
    return `${ids.length} calls of ${byKind.size} kinds`;
  });
}

async function checkPushes(tab, server) {
  await check('the ledger is that of `pushes audit`, and a leak leads to its pushes', async () => {
    const chips = `Object.fromEntries([...document.querySelectorAll('.chip')].map((chip) => {
      const [number, ...words] = chip.textContent.split(' '); return [words.join('_'), Number(number)]; }))`;
    await until(async () => {
      const { provider, report } = server.ask('pushes', 'audit');
      await tab.run('location.hash = "pushes"; location.hash = "pushes?open=true"; location.hash = "pushes"');
      await pause(300);
      const found = await tab.run(chips);
      const pairs = [[found.accepted, provider.accepted], [found.rejected, provider.rejected], [found.unknown, provider.unknown],
        [found.reported, report.reported], [found.unreported, report.unreported]];
      return provider.rejected > 0 && pairs.every(([a, b]) => a === b);
    }, 'the counts agree');
    await tab.run(`[...document.querySelectorAll('a.chip')].find((chip) => chip.textContent.endsWith('rejected')).click()`);
    await tab.until(`(() => { const rows = [...document.querySelectorAll('#view tbody tr')];
      return rows.length > 0 && rows.every((row) => row.children[5].textContent === 'rejected'); })()`);
    await tab.save('pushes');
    await tab.run('document.querySelector("#view tbody a").click()');
    await tab.until('document.querySelector("#detail .facts")?.textContent.includes("rejected")');
    const push = server.ask('pushes', 'show', (await tab.text('#detail h2')).split(' ')[1]).push;
    holds((await tab.text('#detail .facts')).includes(push.reason), 'the reason is not shown');
    return push.reason;
  });
}

async function checkEnding(tab, server) {
  await check('a call is ended with the keyboard alone, after two questions that name it', async () => {
    await tab.run('location.hash = "calls"');
    await tab.run(set('#filter', 'connected', 'change'));
    await tab.run(set('#sort', 'age', 'change'));
    await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    await tab.until(`document.querySelector('.call-row.selected.connected')`);
    await tab.run('document.querySelector(".calls-grid").focus()');
    await tab.key('ArrowDown');
    await tab.key('ArrowDown');
    await tab.run('new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); })');
    const id = await tab.run(`document.querySelector('.call-row.selected').dataset.call`);
    const from = await tab.run(`document.querySelector('.call-row.selected .from').textContent`);
    const question = async () => {
      await tab.key('e');
      await tab.until('document.querySelector("#ask").open');
      const words = await tab.text('#ask');
      holds(words.includes(id) && words.includes(from), words);
      await tab.key('Tab');
      await tab.key('Enter');
      await tab.until('document.querySelector("#ask").textContent.includes("cannot be undone")');
    };
    await question();
    await tab.save('ask');
    // The second question's focus is on the answer that changes nothing.
    await tab.key('Enter');
    await tab.until('!document.querySelector("#ask").open');
    same(server.ask('calls', 'show', id).call.state, 'connected', 'after the answer no');
    await question();
    await tab.key('Tab');
    await tab.key('Enter');
    await tab.until('document.querySelector("#told").textContent.startsWith("ended the call from")');
    same(server.ask('calls', 'show', id).call.reason, 'admin', 'reason');
    await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    await tab.run(set('#filter', 'all', 'change'));
    await tab.run(set('#sort', 'trouble', 'change'));
  });
}

async function checkKeys(browser, server) {
  const asks = 'document.querySelector("#ask").open';
  const refused = `document.querySelector('#told').textContent.includes('select the call first')`;
  const selected = `document.querySelector('.call-row.selected:not([hidden])')?.dataset.call`;
  const frames = 'new Promise((resolve) => { requestAnimationFrame(() => requestAnimationFrame(resolve)); })';
  /** Calls that last, the oldest on top. */
  const oldest = async (tab) => {
    await tab.run(set('#filter', 'connected', 'change'));
    await tab.run(set('#sort', 'age', 'change'));
    await tab.run('[...document.querySelectorAll("button")].find((b) => b.textContent === "Reverse").click()');
    await tab.until(`document.querySelector('.call-row.selected.connected')`);
  };
  await check('keys reach the table before it has the focus, and e asks only about a call that was chosen', async () => {
    const tab = await signedIn(browser, server);
    await oldest(tab);
    await tab.run('document.activeElement.blur()');
    await tab.key('e');
    await tab.until(refused);
    holds(!(await tab.run(asks)), 'it asks about a call that nobody chose');
    await tab.run('document.activeElement.blur()');
    await tab.key('ArrowDown');
    same(await tab.run('document.activeElement.className'), 'calls-grid', 'focus');
    await tab.run(frames);
    const id = await tab.run(selected);
    await tab.run('document.activeElement.blur()');
    await tab.key('Enter');
    await tab.until(`document.querySelector('#detail h2')?.textContent === 'call ${id}'`);
    await tab.key('Escape');
    await tab.until('document.querySelector("#detail").hidden');
    // Ended by somebody else: another call is in its row.
    await tab.run('document.querySelector("#told").replaceChildren()');
    server.say('calls', 'end', id, '--yes');
    await tab.until(`${selected} && ${selected} !== '${id}'`);
    await tab.key('e');
    await tab.until(refused);
    holds(!(await tab.run(asks)), 'it asks about the call that has come into the row');
    await tab.close();
  });
  await check('a row that is clicked is the selected one, and e asks about it', async () => {
    const tab = await signedIn(browser, server);
    await oldest(tab);
    await tab.until(`${shown}.length > 3`);
    const id = await tab.run(`(() => { const row = ${shown}[2]; row.click(); return row.dataset.call; })()`);
    await tab.until(`document.querySelector('#detail h2')?.textContent === 'call ${id}'`);
    await tab.key('Escape');
    await tab.until(`${selected} === '${id}'`);
    await tab.key('e');
    await tab.until(asks);
    holds((await tab.text('#ask')).includes(id), 'it asks about another call');
    await tab.run('document.querySelector("#ask").close()');
    await tab.close();
  });
  await check('the mark of the sorted column points the way of its figures', async () => {
    const tab = await signedIn(browser, server);
    for (const [sort, direction] of [['trouble', 'descending'], ['devices', 'descending'], ['age', 'ascending'], ['from', 'ascending']]) {
      await tab.run(set('#sort', sort, 'change'));
      await tab.until(`[...document.querySelectorAll('.head [aria-sort]')].map((cell) => cell.ariaSort).join() === '${direction}'`);
    }
    await tab.close();
  });
}

async function checkReading(browser, server) {
  await check('with a token for reading nothing can be changed, and each button says why', async () => {
    const tab = await signedIn(browser, server, server.tokens.reading);
    await tab.until('document.querySelector("#drain").disabled');
    holds((await tab.run('document.querySelector("#drain").title')).includes('admin.token_file'), 'no reason');
    const id = await tab.run(`${shown}.find((row) => row.classList.contains('connected')).dataset.call`);
    await tab.run(`location.hash = 'calls/${id}'`);
    await tab.until('document.querySelector("#detail .danger")?.disabled');
    await tab.key('e');
    await tab.until('document.querySelector("#told").textContent.includes("this token is for reading")');
    holds(!(await tab.run('document.querySelector("#ask").open')), 'the question was asked');
    holds(!/\be end\b/.test(await tab.run('document.querySelector(".keys").textContent')), 'a key is shown that does nothing');
    await tab.close();
  });
}

async function checkLooks(tab) {
  const views = ['calls', 'pushes', 'latencies', 'sessions', 'devices', 'server'];
  /** Opens a view, and waits until it is loaded and drawn. */
  const shows = async (view) => {
    await tab.run(`location.hash = '${view}'`);
    await tab.until(`document.querySelector('nav a[aria-current]').hash === '#${view}'`);
    await tab.until('document.querySelector("#view").textContent.length > 40 && !/loading…/.test(document.querySelector("#view").textContent)');
    await tab.run('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(0))))');
  };
  await check('no view is wider than the screen, at 380 and 1,600 px, in both themes', async () => {
    for (const [width, height] of [[380, 800], [1600, 900]]) {
      await tab.size(width, height);
      for (const theme of ['light', 'dark']) {
        await tab.theme(theme);
        for (const view of views) {
          await shows(view);
          await tab.save(`${view}-${width}-${theme}`);
          const wide = await tab.run('document.documentElement.scrollWidth > innerWidth || document.querySelector("#view").scrollWidth > document.querySelector("#view").clientWidth');
          holds(!wide, `${view} at ${width} px`);
        }
      }
    }
    await tab.theme('light');
  });
  await check('every control and every region has a name for screen readers', async () => {
    const unnamed = [];
    for (const view of views) {
      await shows(view);
      const { nodes } = await tab.send('Accessibility.getFullAXTree');
      const roles = ['button', 'link', 'textbox', 'searchbox', 'combobox', 'spinbutton', 'grid', 'table', 'region', 'image', 'img', 'navigation'];
      for (const { role, name, ignored } of nodes) {
        if (!ignored && roles.includes(role?.value) && !name?.value) unnamed.push(`${role.value} in ${view}`);
      }
    }
    same(unnamed, [], 'without a name');
  });
}

async function checkReconnecting(tab, server) {
  await check('the server killed with -9: the board says so and how old it is, and comes back by itself', async () => {
    await tab.run('location.hash = "calls"');
    await kill(server.child);
    await tab.until('/server gone since .* is \\d+ s old/.test(document.querySelector("#link-text").textContent)');
    holds(await tab.run(`${shown}.length > 0`), 'the last picture is gone');
    holds(!/^ready/.test(await tab.run('document.querySelector("#problems p").textContent')), 'a server that is gone is called ready');
    holds(await tab.run('document.querySelector("#drain").disabled'), 'a change is offered');
    await tab.save('gone');
    await pause(3000);
    await server.run();
    const started = Date.now();
    await tab.until('document.querySelector("#link-text").textContent === "live"', 60_000);
    const time = Date.now() - started;
    await tab.until('/back after \\d+ s \\(restarted at/.test(document.querySelector("#told").textContent)');
    await until(async () => await tab.run(live) === server.ask('calls', 'list', '--live', '--limit', '100000').calls.length,
      'the calls of the new server');
    return `${time} ms after the server listened`;
  });
}

async function checkDraining(tab, server) {
  await check('a drain is asked twice, and is then a problem on top', async () => {
    for (const answer of ['Drain the server…', 'Yes, take no new calls']) {
      if (answer.startsWith('Drain')) await tab.run('document.querySelector("#drain").click()');
      await tab.run(`[...document.querySelectorAll('#ask button')].find((b) => b.textContent === ${JSON.stringify(answer)}).click()`);
    }
    await tab.until('document.querySelector("#problems").textContent.includes("draining")');
    await tab.save('draining');
    same(server.ask('stats').server.is_draining, true, 'the server drains');
  });
}

// MARK: Devices and frames

async function checkDevices(tab, server) {
  await check('a suspended device is a problem with a link to why, and is resumed after two questions', async () => {
    await tab.until('document.querySelector("#problems").textContent.includes("suspended")', 120_000);
    await tab.run('document.querySelector("#problems a[href*=suspended]").click()');
    await tab.until('document.querySelector("#view tbody button")');
    await tab.save('suspended');
    const before = server.ask('devices', 'list', '--suspended').devices.length;
    await tab.run('document.querySelector("#view tbody button").click()');
    await tab.until('document.querySelector("#ask").open');
    const words = await tab.text('#ask .thing');
    const device = words.match(/device ([0-9a-f-]{36})/)[1];
    for (const answer of ['Resume the device…', 'Yes, resume it']) {
      await tab.run(`[...document.querySelectorAll('#ask button')].find((b) => b.textContent === ${JSON.stringify(answer)}).click()`);
    }
    await tab.until('document.querySelector("#told").textContent.endsWith("resumed")');
    const left = server.ask('devices', 'list', '--suspended').devices;
    holds(!left.some(({ device_id: id }) => id === device), 'still suspended');
    return `${before} suspended before`;
  });
}

async function checkProblems(tab) {
  await check('a failing webhook is a problem on top, with a link to its figures', async () => {
    const line = '[...document.querySelectorAll("#problems li.suspect")].find((each) => each.textContent.includes("webhook billing"))';
    await tab.until(`/webhook billing is failing, backlog \\d+: /.test(${line}?.textContent)`);
    await tab.run(`${line}.querySelector("a").click()`);
    await tab.until('[...document.querySelectorAll("#view td.failure")].some((cell) => cell.textContent === "failing")');
    const news = await tab.run('document.querySelector("#news").textContent');
    holds(news.includes('webhook billing is failing'), 'screen readers are not told');
    await pause(2500);
    const later = await tab.run('document.querySelector("#news").textContent');
    holds(later === news || !later.includes('webhook'), 'the news is repeated');
    return tab.run(`${line}.querySelector("span").textContent`);
  });
}

/** Intervals of animation frames for a time, in ms. */
const intervals = (milliseconds) => `new Promise((resolve) => {
  const found = []; let last; const end = performance.now() + ${milliseconds};
  const step = (now) => { if (last !== undefined) found.push(now - last); last = now;
    if (now < end) requestAnimationFrame(step); else resolve(found); };
  requestAnimationFrame(step); })`;

const part = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

function frameFigures(found) {
  const sorted = [...found].sort((a, b) => a - b);
  const mean = found.reduce((sum, each) => sum + each, 0) / found.length;
  return { rate: 1000 / mean, p95: part(sorted, 0.95), p99: part(sorted, 0.99) };
}

async function checkFrames(browser) {
  const server = await BoardServer.start();
  const loads = [];
  const steps = Math.ceil(many / 500);
  for (let step = 0; step < steps; step += 1) {
    loads.push(await server.load('online', '--standing', `${Math.ceil(many / steps)}`, '--rate', '2', '--hold', '5'));
  }
  const empty = await open(browser, `${server.board}page.css`);
  await check(`${many} live calls at the frames of an empty page`, async () => {
    const tab = await signedIn(browser, server);
    await tab.until(`${live} >= ${many}`, 120_000);
    await tab.send('Page.bringToFront');
    const scrolled = `(() => { const rows = document.querySelector('.rows'); let y = 0;
      globalThis.scrolling = setInterval(() => { y = (y + 37) % (rows.scrollHeight - rows.clientHeight); rows.scrollTop = y; }, 16); })()`;
    const figures = {};
    figures.board = frameFigures(await tab.run(intervals(4000)));
    await tab.run(scrolled);
    figures.scrolled = frameFigures(await tab.run(intervals(4000)));
    await tab.run('clearInterval(globalThis.scrolling)');
    await tab.save('many');
    await empty.send('Page.bringToFront');
    figures.empty = frameFigures(await empty.run(intervals(4000)));
    const words = Object.entries(figures).map(([name, { rate, p95, p99 }]) =>
      `${name} ${rate.toFixed(1)}/s p95 ${p95.toFixed(1)} p99 ${p99.toFixed(1)} ms`);
    const ratio = (name) => figures[name].rate / figures.empty.rate;
    const text = `${words.join('; ')}; ratio ${ratio('board').toFixed(2)}, scrolled ${ratio('scrolled').toFixed(2)}`;
    holds(ratio('board') > 0.8 && ratio('scrolled') > 0.7, text);
    return text;
  });
  for (const load of loads) await kill(load);
  await server.stop();
}

// A device is suspended soon.
process.env.REVEILLE_CALLS_REPORT_SECONDS = '5';
process.env.REVEILLE_LIMITS_UNREPORTED_PUSHES = '2';
const browser = await Browser.start();
const server = await BoardServer.prepare('--push-sim');
await start(['push-sim', '--port', '0', '--sandbox-port', '0', '--fcm-port', '0', '--data', server.data], 'ready: start the server');
// Nobody answers at the endpoint's port.
await server.run({ endpoints: `- name: billing\n  url: http://127.0.0.1:${await freePort()}/\n`
  + '  secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]\n' });
const fault = (...words) => server.say('push-sim', 'fault', ...words);
fault('refuse', '--reason', 'BadDeviceToken', '--count', '2');
const load = await server.load('mixed', '--weights', 'online=40,wake=50,fanout=10', '--rate', '4', '--hold', '5', '--standing', '300',
  '--answer-ratio', '0.7', '--faults');
await checkSigningIn(browser, server);
await checkLinks(browser, server);
const tab = await signedIn(browser, server);
await checkProblems(tab);
await tab.run('location.hash = "calls"');
await checkCalls(tab, server);
await checkStory(tab, server);
await checkPushes(tab, server);
// It takes a while until a device is suspended for it.
fault('lose', '--count', '400');
await checkEnding(tab, server);
await checkKeys(browser, server);
await checkReading(browser, server);
await checkLooks(tab);
await checkDevices(tab, server);
await checkSentences(server);
await checkReconnecting(tab, server);
await checkDraining(tab, server);
await tab.close();
await kill(load);
await server.kill();
if (many) await checkFrames(browser);
await check('no exception, and no violation of the content security policy', () => same(browser.faults, [], 'faults'));
finish();
