// What the page says. Lengths, end reasons and the story of a call are in the words of `reveille calls show`.

const pad = (value, digits = 2) => String(value).padStart(digits, '0');

/** Rounded for reading: `0.412 s`, `8.2 s`, `45 s`, `3 min 05 s`, `1 h 02 min`. */
export function length(time) {
  const ms = Math.max(0, Math.round(time));
  if (ms < 1000) return `0.${pad(ms, 3)} s`;
  if (ms < 60_000) return `${Math.floor(ms / 100) / 10} s`;
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${pad(Math.floor(ms / 1000) % 60)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${pad(Math.floor(ms / 60_000) % 60)} min`;
}

/** With milliseconds, for columns: `0.412 s`. */
export function exact(time) {
  const ms = Math.max(0, Math.round(time));
  return `${Math.floor(ms / 1000)}.${pad(ms % 1000, 3)} s`;
}

/** A running clock: `0:07`, `1:02:03`. */
export function clock(time) {
  const seconds = Math.max(0, Math.floor(time / 1000));
  const rest = `${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}`;
  return seconds < 3600 ? rest.replace(/^0(?=\d:)/, '') : `${Math.floor(seconds / 3600)}:${rest}`;
}

/** The time of day; of another day the date too. */
export function moment(at, now = Date.now()) {
  const date = new Date(at);
  const time = date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  if (date.toDateString() === new Date(now).toDateString()) return time;
  return `${date.toLocaleDateString([], { day: 'numeric', month: 'short' })}, ${time}`;
}

export function targetName(to) {
  if (Array.isArray(to)) return to.join(', ');
  return to?.group === undefined ? to ?? '' : `group ${to.group}`;
}

/**
 * What the user wrote in the field: a handle, a list with commas, or `group sales`.
 * Returns `{ to }`, or `{ fault }` in words.
 */
export function target(text) {
  const written = text.trim();
  if (!written) return { fault: 'Write a name or a number first.' };
  const group = written.match(/^group[\s:]+(\S+)$/i);
  if (group) return { to: { group: group[1] } };
  const names = written.split(',').map((name) => name.trim()).filter(Boolean)
    .map((name) => (/^\+?[\d\s()./-]+$/.test(name) ? name.replace(/[^+\d]/g, '') : name));
  const bad = names.find((name) => /\s/.test(name));
  if (bad) return { fault: `“${bad}” has a space. Put commas between names; a group is “group sales”.` };
  return { to: names.length === 1 ? names[0] : names };
}

/** A name in a sentence or a narrow column: of a long one the beginning and the end, which tell names apart. */
export function brief(name, most = 48) {
  const characters = [...(name ?? '')];
  if (characters.length <= most) return name;
  const end = Math.floor((most - 1) / 2);
  return `${characters.slice(0, most - 1 - end).join('')}…${characters.slice(characters.length - end).join('')}`;
}

/** How long the parties of a call that is over have talked. The server, too, counts until the connection was lost. */
export const talkTime = ({ connectedAt, lostAt, endedAt }) => Math.max(0, (lostAt ?? endedAt) - connectedAt);

// The story of a call

function unanswered({ caller, callee, endedBy, reason, mergedInto, hasRung }, after) {
  const isOther = endedBy !== undefined && endedBy !== callee;
  switch (reason) {
    case 'ring_timeout':
      return hasRung === false ? `no device rang; the call was given up after ${after}`
        : `nobody answered; the call rang out after ${after}`;
    case 'declined':
      return endedBy ? `${endedBy} declined after ${after}`
        : `${callee} takes no calls from ${caller} at present (do not disturb, or a block list)`;
    case 'declined_elsewhere': return `${callee} declined on another device after ${after}`;
    case 'answered_elsewhere':
      return isOther ? `${endedBy} answered after ${after}` : `${callee} answered on another device after ${after}`;
    case 'cancelled': return `${endedBy ?? caller} gave up after ${after}`;
    case 'busy': return `${endedBy ?? callee} was busy in another call`;
    case 'no_devices':
      return caller === callee ? `one cannot call oneself: ${callee} has no other device that is online or has a push token`
        : `${callee} has no device that is online or has a push token`;
    case 'unknown_callee': return `nobody is known as ${callee}`;
    case 'glare':
      return `${caller} and ${callee} called each other at the same moment`
        + (mergedInto ? `, and the call goes on as ${mergedInto.slice(0, 8)}` : '');
    case 'admin': return `an administrator ended the call after ${after}, before anybody answered`;
    case 'connection_lost': return `the connection to ${endedBy ?? caller} was lost before anybody answered`;
    case 'forbidden': return `${caller} may not call ${callee}`;
    default: return `it ended as ${reason} after ${after}, before anybody answered`;
  }
}

function answered(call, after) {
  const { endedBy, reason } = call;
  const talked = call.connectedAt === undefined ? 'before media flowed on both sides' : `after ${length(talkTime(call))} of talk`;
  switch (reason) {
    case 'hangup': return `${endedBy ?? 'somebody'} hung up ${talked}`;
    case 'connect_timeout': return `media never flowed on both sides, and the call was given up after ${after}`;
    case 'ice_failed': return `${endedBy ?? 'a side'} found no way for media (ice_failed) ${talked}`;
    case 'media_failed': return `${endedBy ?? 'a side'} lost its media (media_failed) ${talked}`;
    case 'connection_lost': return `the connection to ${endedBy ?? 'a side'} was lost ${talked} and did not come back`;
    case 'admin': return `an administrator ended the call ${talked}`;
    case 'max_duration': return `the call had lasted as long as it may, and ended ${talked}`;
    default: return `it ended as ${reason} ${talked}`;
  }
}

/** Starts with a capital, unless the first word is a handle. */
function sentence(text, handles) {
  const isHandle = handles.some((handle) => handle && text.startsWith(handle));
  return `${isHandle ? text : text[0].toUpperCase() + text.slice(1)}.`;
}

/**
 * One or two sentences on a call that is over.
 * `{ caller, callee, winner, endedBy, reason, createdAt, answeredAt, connectedAt, lostAt, endedAt, hasRung, mergedInto }`
 */
export function story(given) {
  const call = { ...given };
  for (const party of ['caller', 'callee', 'winner', 'endedBy']) call[party] = brief(given[party]);
  const handles = [call.caller, call.callee, call.winner, call.endedBy];
  const after = (at) => length(at - call.createdAt);
  if (call.answeredAt === undefined) return sentence(unanswered(call, after(call.endedAt)), handles);
  const first = `${call.winner ?? call.callee} answered after ${after(call.answeredAt)}.`;
  return `${first} ${sentence(answered(call, after(call.endedAt)), handles)}`;
}

/** The steps of a ladder. Those that `reveille calls show` has too are in its words. */
export const STEPS = {
  invited: 'invited',
  waking: 'push on its way',
  offered: 'told over its socket',
  ringing: 'ringing',
  answered: 'answered',
  caller_connected: 'caller has media',
  callee_connected: 'callee has media',
  connected: 'connected',
  connection_lost: 'connection lost',
  came_back: 'came back',
  ended: 'ended',
  hold: 'put the call on hold',
  resume: 'took the call off hold',
  mute: 'muted the microphone',
  unmute: 'unmuted the microphone',
  camera_on: 'switched the camera on',
  camera_off: 'switched the camera off',
  tones: 'sent tones',
  media_lost: 'media interrupted',
  media_back: 'media is back',
  reloaded: 'loaded the page again',
  moved: 'took the call to this tab',
};

// Errors: what happened, and what to do

/** A sentence of a message, which may be one already. */
export const full = (text) => `${String(text).replace(/\.$/, '')}.`;

const SITE = 'Press the symbol to the left of the address, allow it for this page, and try again.';

function mediaWords(what) {
  return {
    media_denied: [`The browser does not let this page use the ${what}.`, SITE],
    media_missing: [`The browser finds no ${what}.`,
      'Plug one in, or switch it on in the system’s settings, and try again.'],
    media_busy: [`Another program uses the ${what}.`, 'Close that program, and try again.'],
    media_failed: [`The ${what} cannot be used.`, 'Choose another one in the settings, and try again.'],
    insecure_page: ['Browsers give no page the microphone over plain http from another machine.',
      'Open this page over https, or on the server’s machine as http://localhost.'],
  };
}

const WORDS = {
  forbidden: ['The server does not allow this call.', ''],
  rate_limited: ['Too many calls in a short time.', 'Wait a little, then call again.'],
  overloaded: ['The server is overloaded.', 'Call again in a few seconds.'],
  draining: ['The server is about to restart.', 'Call again in a minute.'],
  limit_reached: ['You have as many calls as the server allows.', 'End one of them first.'],
  not_connected: ['There is no connection to the server, so nothing was sent.',
    'The page connects by itself; then try again.'],
  timed_out: ['The server did not answer in time.', 'Try again.'],
  connection_lost: ['The connection broke before the server’s answer.',
    'The page connects by itself; then try again.'],
  invalid_params: ['The server cannot read this name.', 'Check the name or number.'],
  too_large: ['That is more than the server takes.', 'Call fewer people at once.'],
  no_offer: ['The caller offers no sound.', 'Decline the call.'],
  no_dtmf: ['The other side takes no tones.', ''],
  already_answered: ['Another of your devices has answered.', ''],
  call_ended: ['The call is already over.', ''],
  elsewhere: ['The phone is open in another tab.', 'Use that tab, or take the phone over.'],
};

/** `{ what, todo }` for an error of the library. `device` is what was to be used, such as “microphone”. */
export function problem(error, device = 'microphone') {
  const code = error?.code ?? '';
  const [what, todo] = mediaWords(device)[code] ?? WORDS[code]
    ?? [full(`That failed: ${error?.message ?? error}`), error?.whatToDo ?? 'Try again.'];
  if (code === 'rate_limited' && error.retryAfter) {
    return { what, todo: `Wait ${length(error.retryAfter)}, then call again.` };
  }
  const detail = ['forbidden', 'invalid_params'].includes(code) && error.message ? ` ${error.message}` : '';
  return { what: what + detail, todo };
}

const ICE = { good: 'Good connection', fair: 'Fair connection', poor: 'Poor connection' };

/** The quality line: `Good connection: 32 ms, no loss, direct`. */
export function quality({ level, text, silence }, peer) {
  if (level === 'none') return `Nothing has been heard from ${brief(peer)} for ${Math.round(silence / 1000)} s`;
  return text.replace(/^\w+/, ICE[level]);
}
