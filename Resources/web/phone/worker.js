// Shows calls that are pushed while no page of the phone is open, and tells the server that it did.
'use strict';

const SERVER = new URL('../v1/', self.location.href);
/** How often the server is asked whether a shown call still rings. */
const ASK_EVERY = 4_000;
/** The time in which the page that a click opens has to ask for it. */
const CLICK_LASTS = 60_000;
const REQUEST_TIMEOUT_MS = 8_000;
/** The user waits for this one. */
const DECLINE_TIMEOUT_MS = 10_000;
/** No call rings longer, whatever the server says. */
const FOLLOW_AT_MOST = 120_000;
const MISSED = new Set(['ring_timeout', 'cancelled', 'busy', 'connection_lost', 'no_devices', 'admin']);
/** Refusals of a decline that mean that the call is over, or answered, or not the user's. */
const RINGS_NO_MORE = new Set([403, 404, 409, 410]);
const RINGS = new Set(['routing', 'waking', 'ringing']);

const pause = (time) => new Promise((resolve) => { setTimeout(resolve, time); });
const nameOf = ({ name, handle }) => name ?? handle ?? 'Somebody';

/** Serializes notification calls: Chromium drops a notification if getNotifications() overlaps showNotification(). */
let turn = Promise.resolve();
function serialize(step) {
  const done = turn.then(step);
  turn = done.catch(() => {});
  return done;
}

self.addEventListener('install', () => self.skipWaiting());
self.addEventListener('activate', (event) => event.waitUntil(self.clients.claim()));
self.addEventListener('push', (event) => event.waitUntil(pushed(read(event.data))));
self.addEventListener('notificationclick', (event) => {
  const { action, notification } = event;
  notification.close();
  const { data } = notification;
  event.waitUntil(action === 'decline' ? decline(data) : openPhone(data ?? {}, action === 'answer'));
});
self.addEventListener('message', ({ data, ports: [port] }) => {
  if (data?.reveille === 'clicked') port?.postMessage(takeClick(data.call));
});
self.addEventListener('pushsubscriptionchange', (event) => event.waitUntil(changed()));

function read(data) {
  try {
    return data.json();
  } catch {
    return undefined;
  }
}

/** Each push shows a notification: browsers take the subscription from a page that shows none. */
async function pushed(push) {
  if (push?.type === 'missed_call') return showMissed(push);
  if (!push?.uuid || !push.push_id) {
    return show('Reveille phone', 'A message came that this page cannot read. Open the phone.', { tag: 'unreadable' });
  }
  // Not by `expires_at`: this clock may be wrong. The answer to the report tells of a push that comes late.
  const left = Number.isFinite(push.expires_in) ? push.expires_in : 30;
  const ringsUntil = Date.now() + left * 1_000;
  let result = 'reported';
  let error;
  try {
    await (left <= 0 ? showMissed(push) : showCall(push));
  } catch (failure) {
    result = self.Notification?.permission === 'granted' ? 'failed' : 'filtered';
    error = String(failure?.message ?? failure).slice(0, 300);
  }
  const body = { call_id: push.uuid, result, error };
  const { answer } = await ask(push, `pushes/${encodeURIComponent(push.push_id)}/report`, body);
  // The event ends here: Chromium counts events that end without a notification, and the user may close this one. The
  // worker runs for half a minute more. After that the server's notice of a missed call replaces the call.
  if (result === 'reported') follow(push, answer, ringsUntil).catch(() => {});
}

/**
 * The server's clock decides whether the call still rings, and a call that is over stops ringing here. `ringsUntil`, by
 * this clock, is for a server that does not answer.
 */
async function follow(push, answer, ringsUntil = Infinity) {
  const end = Date.now() + FOLLOW_AT_MOST;
  const path = `calls/${encodeURIComponent(push.uuid)}`;
  for (let callState = answer; ; callState = (await ask(push, path)).answer) {
    const [shown] = await serialize(() => self.registration.getNotifications({ tag: push.uuid }));
    if (!shown) return;
    const isShownMissed = shown.data.isMissed;
    if (callState && !RINGS.has(callState.state)) {
      if (callState.state !== 'ended' || !MISSED.has(callState.reason)) return shown.close();
      return isShownMissed ? undefined : showMissed(push);
    }
    if (Date.now() >= end) return isShownMissed ? undefined : showMissed(push);
    if (callState && isShownMissed) await showCall(push);
    if (!callState && ringsUntil <= Date.now()) return isShownMissed ? undefined : showMissed(push);
    await pause(ASK_EVERY);
  }
}

function show(title, body, options) {
  return serialize(() => self.registration.showNotification(title, { body, icon: 'icon.svg', ...options }));
}

function showCall(push) {
  const called = push.to ? ` (${push.to})` : '';
  return show(`${nameOf(push)} calls`, push.has_video ? `Incoming video call${called}` : `Incoming call${called}`, {
    tag: push.uuid, renotify: true, requireInteraction: true, data: { ...push, isMissed: false },
    actions: [{ action: 'answer', title: 'Answer' }, { action: 'decline', title: 'Decline' }],
  });
}

function showMissed(push) {
  const more = push.missed > 1 ? `You have ${push.missed} missed calls.` : 'Open the phone to call back.';
  const data = { uuid: push.uuid, isMissed: true };
  return show(`Missed call from ${nameOf(push)}`, more, { tag: push.uuid ?? 'missed', data });
}

/** The pause that the server asks for in seconds, or the given one. */
function pauseAfter(response, wait) {
  const seconds = Number(response?.headers.get('retry-after') ?? NaN);
  return seconds >= 0 ? Math.max(wait, seconds * 1_000) : wait;
}

/**
 * A request with the push's own token: `{ answer }`, or the `{ status }` of a refusal. Repeats it within `timeout`
 * milliseconds while the server does not answer or has too much to do.
 */
async function ask({ wake_token: token }, path, body = undefined, timeout = 30_000) {
  const end = Date.now() + timeout;
  const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
  for (let wait = 1_000; ; wait *= 3) {
    let response;
    try {
      const given = body ? { method: 'POST', body: JSON.stringify(body) } : {};
      const signal = AbortSignal.timeout(Math.min(REQUEST_TIMEOUT_MS, Math.max(1, end - Date.now())));
      response = await fetch(new URL(path, SERVER), { ...given, headers, signal });
      if (response.ok) return { answer: await response.json() };
      if (response.status < 500 && response.status !== 429) return { status: response.status };
    } catch { /* No network, or none yet. */ }
    const next = pauseAfter(response, wait);
    if (Date.now() + next >= end) return { status: response?.status };
    await pause(next);
  }
}

async function decline(push) {
  const path = `calls/${encodeURIComponent(push.uuid)}/decline`;
  const { answer, status } = await ask(push, path, { reason: 'declined' }, DECLINE_TIMEOUT_MS);
  if (answer || RINGS_NO_MORE.has(status)) return;
  const why = `The call could not be declined: the server ${status ? `answered with ${status}` : 'does not answer'}.`;
  await show(`${nameOf(push)} calls`, why, { tag: push.uuid, data: push });
}

const pages = () => self.clients.matchAll({ type: 'window', includeUncontrolled: true });

/** The page that has the called user's session. */
async function pageOf(push) {
  const has = (page) => new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data ? page : undefined);
    setTimeout(resolve, 300);
    page.postMessage({ reveille: 'has', call: push.uuid }, [port2]);
  });
  return (await Promise.all((await pages()).map(has))).find(Boolean);
}

/** The clicks that new pages are opened for, by the call. A page takes its click once, and soon. */
const clicks = new Map();

function takeClick(id) {
  const { at, ...click } = clicks.get(id) ?? { at: 0 };
  clicks.delete(id);
  return Date.now() - at < CLICK_LASTS ? click : undefined;
}

/** The address says only which call was clicked: anybody may write a link, and none may answer a call. */
async function openPhone(push, isAnswer) {
  const page = await pageOf(push);
  if (page) {
    page.postMessage({ reveille: 'open', call: push.uuid, isAnswer });
    return page.focus();
  }
  if (push.isMissed || !push.wake_token) return self.clients.openWindow('./');
  clicks.set(push.uuid, { wake: push.wake_token, isAnswer, at: Date.now() });
  return self.clients.openWindow(`./#${new URLSearchParams({ clicked: push.uuid })}`);
}

async function changed() {
  for (const page of await pages()) page.postMessage({ reveille: 'subscription' });
}
