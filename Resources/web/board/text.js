// Words, times and figures as the commands print them.

const stages = {
  invite_to_ringing: 'invite → ringing', ringing_to_answer: 'ringing → answer', answer_to_connected: 'answer → media',
  push_intended_to_sent: 'push → sent', push_sent_to_answered: 'push → provider', push_sent_to_woken: 'push → woken',
  push_sent_to_reported: 'push → reported',
};
export const stageNames = Object.keys(stages);
export const stageText = (stage) => stages[stage] ?? spaced(stage);

export const spaced = (name) => name.replaceAll('_', ' ');

const two = (value) => String(value).padStart(2, '0');

/** `0:07`, `12:34`, `1:02:03`, `3d 04h`. */
export function clock(milliseconds) {
  const seconds = Math.floor(Math.max(0, milliseconds) / 1000);
  if (seconds >= 86_400) return `${Math.floor(seconds / 86_400)}d ${two(Math.floor(seconds / 3600) % 24)}h`;
  if (seconds >= 3600) return `${Math.floor(seconds / 3600)}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  return `${Math.floor(seconds / 60)}:${two(seconds % 60)}`;
}

/** In the largest unit: `12 s`, `3 min`, `5 h`, `4 d`. */
export function coarse(milliseconds) {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

/** Rounded for reading: `0.412 s`, `8.2 s`, `45 s`, `3 min 05 s`, `1 h 02 min`. */
export function length(milliseconds) {
  const ms = Math.max(0, milliseconds);
  if (ms < 1000) return `0.${String(1000 + ms).slice(1)} s`;
  if (ms < 60_000) {
    const tenths = Math.floor(ms / 100);
    return tenths % 10 === 0 ? `${tenths / 10} s` : `${Math.floor(tenths / 10)}.${tenths % 10} s`;
  }
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${two(Math.floor(ms / 1000) % 60)} s`;
  return `${Math.floor(ms / 3_600_000)} h ${two(Math.floor(ms / 60_000) % 60)} min`;
}

/** With milliseconds, for columns: `0.412 s`. */
export const exact = (milliseconds) => `${(milliseconds / 1000).toFixed(3)} s`;

/** `12 s ago`, `in 3 min`. */
export function relative(milliseconds, now) {
  const passed = now - milliseconds;
  if (Math.abs(passed) < 1000) return 'now';
  return passed > 0 ? `${coarse(passed)} ago` : `in ${coarse(-passed)}`;
}

/** `2026-09-18 14:03:07`, local. */
export function moment(milliseconds) {
  const date = new Date(milliseconds);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${wall(milliseconds)}`;
}

/** `14:03:07`, local. */
export function wall(milliseconds) {
  const date = new Date(milliseconds);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

export const full = (milliseconds, now) => `${moment(milliseconds)} (${relative(milliseconds, now)})`;

/** `12.3k`, `4.5M` from five digits on. */
export function short(value) {
  if (value < 10_000) return String(value);
  const [scale, unit] = value < 1e6 ? [1e3, 'k'] : value < 1e9 ? [1e6, 'M'] : [1e9, 'G'];
  const scaled = value / scale;
  return (scaled < 100 ? scaled.toFixed(1) : Math.floor(scaled)) + unit;
}

export const rate = (value) => (value < 100 ? value.toFixed(1) : String(Math.round(value)));

export function milliseconds(value) {
  if (value < 10) return value.toFixed(1);
  return value < 10_000 ? String(Math.round(value)) : `${Math.round(value / 1000)}s`;
}

export function bytes(value) {
  if (value < 10_240) return `${value} B`;
  return value < 10_485_760 ? `${Math.floor(value / 1024)} KiB` : `${Math.floor(value / 1_048_576)} MiB`;
}

export const count = (number, noun, plural = `${noun}s`) => `${number} ${number === 1 ? noun : plural}`;

/** At most so many characters: the beginning and the end, which tell names apart. */
export function cutInMiddle(text, most) {
  if (text.length <= most) return text;
  const end = Math.floor((most - 1) / 2);
  return `${text.slice(0, most - 1 - end)}…${text.slice(text.length - end)}`;
}

/** At most so wide, by a function that measures a text. */
export function cutToWidth(text, most, measure) {
  let length = text.length;
  while (length > 1 && measure(cutInMiddle(text, length)) > most) length -= 1;
  return cutInMiddle(text, length);
}

/** A call's `to`. */
export function target(to) {
  if (typeof to === 'string') return to;
  return Array.isArray(to) ? to.join(', ') : `group ${to.group}`;
}

/** Eight digits of an id: the last ones if it begins with a time, otherwise the first. */
export function shortID(id) {
  const isTimed = id[14] === '7' || id[14] === '6';
  return isTimed ? id.slice(-8) : id.slice(0, 8);
}

export const party = (user, device) => (device ? `${user}/${shortID(device)}` : user);

/** How much an operator should care about a call that ended so: `failure`, `suspect` or empty. */
export function reasonWeight(reason) {
  if (['connect_timeout', 'ice_failed', 'media_failed', 'connection_lost'].includes(reason)) return 'failure';
  return ['ring_timeout', 'no_devices', 'unknown_callee', 'forbidden', 'admin'].includes(reason) ? 'suspect' : '';
}

export function providerWeight(status) {
  if (status === 'rejected') return 'failure';
  return status === 'unknown' || status === 'expired' ? 'suspect' : '';
}

export function reportWeight(report) {
  if (report === 'unreported' || report === 'report_failed') return 'failure';
  return report === 'reported_late' ? 'suspect' : '';
}
