// What happened to a call, in the sentences of `reveille calls show`: they answer why a phone did not ring.

import { count, length, relative, shortID, target } from './text.js';

/** The most devices described one by one. */
const mostDevices = 8;

const providerNames = { apns: 'APNs', fcm: 'FCM', webpush: 'Web Push' };

/** Problems of the server for which pushes wait. */
const delays = {
  push_disconnected: (name) => `no connection to ${name}`,
  push_queue_old: (name) => `${name} takes pushes too slowly`,
  credential_refused: (name) => `${name} refuses the credential`,
  tokens_refused: (name) => `${name} refuses the tokens`,
  certificate_expired: (name) => `the certificate for ${name} has expired`,
};

const isAlert = ({ delivery }) => delivery === 'apns_alert' || delivery === 'fcm_alert';

/** What happened on one device. */
class DeviceSentence {
  constructor(leg, push, over, isOnlyOne) {
    Object.assign(this, { leg, push, over });
    this.name = isOnlyOne ? `${leg.user}'s device` : `${leg.user}'s device ${shortID(leg.device_id)}`;
  }

  /** Whether the push or the device failed, whatever the end of the call. */
  get isTrouble() {
    const { push } = this;
    if (!push) return false;
    return ['rejected', 'unknown', 'expired'].includes(push.status) || ['unreported', 'report_failed'].includes(push.report);
  }

  isTold({ reason }) {
    return ['ring_timeout', 'no_devices', 'cancelled', 'admin', 'connection_lost'].includes(reason) || this.isTrouble;
  }

  get #ringing() {
    const { leg } = this;
    return leg.ringing_at && `rang for ${length((leg.ended_at?.ms ?? this.over) - leg.ringing_at.ms)}`;
  }

  /** Without the full stop. */
  get words() {
    const { push, name } = this;
    if (!push) return this.#untouched;
    const reason = push.reason ? ` (${push.reason})` : '';
    const ringing = this.#ringing;
    switch (push.status) {
      case 'intended': return `the push to ${name} is still queued`;
      case 'cancelled':
        return ringing ? `${name} was online and ${ringing}`
          : `the push to ${name} was never sent${reason || ': it was not needed any more'}`;
      case 'expired': return `the push to ${name} waited until it was too late, and was never sent${reason}`;
      case 'rejected': return `the provider refused the push to ${name}${reason}${ringing ? `, which ${ringing}` : ''}`;
      case 'unknown':
        return `the provider never answered for the push to ${name}${reason}; `
          + (push.report === 'unreported' ? 'the device reported nothing' : this.#reported);
      default: return this.#reported;
    }
  }

  get #untouched() {
    if (this.#ringing) return `${this.name} ${this.#ringing}`;
    return this.leg.offered_at ? `${this.name} was told over its socket and never said that it rings` : `${this.name} was never told`;
  }

  get #reported() {
    const { push, leg, name } = this;
    switch (push.report) {
      case 'unreported':
        return leg.woken_at ? `${name} was woken but never reported the push`
          : `the provider took the push to ${name}, which never woke up and never reported it`;
      case 'filtered': return `${name} took the push and showed nothing: Do Not Disturb, or a blocked caller`;
      case 'report_failed':
        return `${name} was woken and could not show the call${push.report_error ? ` (${push.report_error})` : ''}`;
      case 'awaited': return `${name} has been sent a push and has not reported it yet`;
      default: return this.#woken;
    }
  }

  get #woken() {
    const { push, leg, name } = this;
    const woken = isAlert(push) ? 'came online after an alert' : 'was woken';
    const late = push.report === 'reported_late' ? ' and reported the push too late' : '';
    if (this.#ringing) return `${name} ${woken}${late} and ${this.#ringing}`;
    if (push.report === 'not_required' && !isAlert(push)) {
      return push.reported_at && push.reported_at.ms >= this.over
        ? `${name} reported the push after the end of the call, and did not have to show it`
        : `${name} reported that it did not have to show the call`;
    }
    if (leg.woken_at) return `${name} ${woken}${late} and never said that it rings`;
    switch (push.report) {
      case 'not_required': return `${name} was sent an alert, and nobody opened it`;
      case 'acted': return `${name} acted after the push, did not report it and never rang`;
      case 'reported_late': return `${name} reported the push too late and never rang`;
      default: return `${name} reported the push and never rang`;
    }
  }
}

class CallSentences {
  constructor({ call, legs, pushes, timeline }, now, problems) {
    Object.assign(this, { call, now, problems });
    this.steps = new Set(timeline.map(({ step }) => step));
    const users = new Map();
    for (const { user } of legs) users.set(user, (users.get(user) ?? 0) + 1);
    this.devices = legs.map((leg) => new DeviceSentence(
      leg, pushes.find(({ push_id: id }) => id === leg.push_id), call.ended_at?.ms ?? now, users.get(leg.user) === 1));
    this.caller = call.from;
    this.callee = target(call.to);
    /** The target that rings or rang last. */
    this.target = target(call.forwarded_to ?? call.to);
    this.winner = call.answered_by ?? this.callee;
  }

  after(time) { return length((time?.ms ?? this.now) - this.call.created_at.ms); }

  get lines() {
    const { call, devices } = this;
    const told = devices.filter((device) => (call.answered_at ? device.isTrouble : device.isTold(call)));
    const forwarded = call.forwarded_to ? ` The call was forwarded to ${this.target}.` : '';
    const end = this.#unansweredEnd;
    // Of one device it is said in one breath.
    if (devices.length === 1 && told.length && !call.answered_at && end) {
      return [this.#sentence(`${told[0].words}; ${end}`) + forwarded];
    }
    const rest = told.length - mostDevices;
    return [this.#summary + forwarded, ...told.slice(0, mostDevices).map((device) => `- ${this.#sentence(device.words)}`),
      ...(rest > 0 ? [`- and ${count(rest, 'more device')}.`] : [])];
  }

  get #summary() {
    const { reason, answered_at: isAnswered } = this.call;
    if (!reason) return this.#sentence(this.#standing);
    if (!isAnswered) return this.#sentence(this.#unanswered(reason));
    const device = this.devices.find(({ leg }) => leg.answered_at);
    const way = device?.leg.woken_at ? 'was woken by a push and answered' : 'answered';
    return `${this.winner} ${way} after ${this.after(isAnswered)}. ${this.#sentence(this.#answeredEnd(reason))}`;
  }

  get #talk() {
    const { connected_at: start, lost_at: lost, ended_at: end } = this.call;
    return length(start ? ((lost ?? end)?.ms ?? this.now) - start.ms : 0);
  }

  /** What the pushes do, and why, as far as the server knows. */
  get #waking() {
    const pushes = this.devices.map(({ push }) => push).filter(Boolean);
    if (!pushes.length || pushes.some(({ status }) => status !== 'intended')) return `a push is on its way to ${this.target}`;
    const names = pushes.map(({ token }) => providerNames[token.provider]);
    const cause = this.problems.find(({ code, subject }) =>
      delays[code] && subject && names.some((name) => subject.startsWith(name)));
    return `the push to ${this.target} is still queued${cause ? ` (${delays[cause.code](cause.subject)})` : ''}`;
  }

  /** The state of a live call. */
  get #standing() {
    const { call } = this;
    switch (call.state) {
      case 'routing': {
        const told = this.devices.filter(({ leg }) => leg.state === 'offered').length;
        return told ? `${count(told, 'device')} of ${this.target} ${told === 1 ? 'has' : 'have'} been told, and none rings yet`
          : 'the call is on disk, and nobody has been told yet';
      }
      case 'waking': return `${this.#waking}, and no device rings yet`;
      case 'ringing': {
        const ringing = this.devices.filter(({ leg }) => leg.state === 'ringing').length;
        return `${ringing ? `it rings on ${count(ringing, 'device')}` : 'no device rings at present'}; `
          + `the ring time ends ${relative(call.rings_until.ms, this.now)}`;
      }
      case 'answered':
        return `${this.winner} answered after ${this.after(call.answered_at)}, and media does not flow on both sides yet`;
      case 'connected':
        return `${this.winner} answered after ${this.after(call.answered_at)}, and they have been talking for ${this.#talk}`;
      default: return 'it is over';
    }
  }

  #answeredEnd(reason) {
    const { call } = this;
    const talked = call.connected_at ? `after ${this.#talk} of talk` : 'before media flowed on both sides';
    switch (reason) {
      case 'hangup': return `${call.ended_by ?? 'somebody'} hung up ${talked}`;
      case 'connect_timeout': return `${this.#media}, and the call was given up after ${this.after(call.ended_at)}`;
      case 'ice_failed': return `${call.ended_by ?? 'a side'} found no way for media (${reason}) ${talked}`;
      case 'media_failed': return `${call.ended_by ?? 'a side'} lost its media (${reason}) ${talked}`;
      case 'connection_lost': return `the connection to ${call.ended_by ?? 'a side'} was lost ${talked} and did not come back`;
      case 'admin': return `an administrator ended the call ${talked}`;
      case 'max_duration': return `the call had lasted as long as it may, and ended ${talked}`;
      default: return `it ended as ${reason} ${talked}`;
    }
  }

  get #media() {
    const [caller, callee] = [this.steps.has('caller_connected'), this.steps.has('callee_connected')];
    if (caller === callee) return 'media never flowed on either side';
    return caller ? `${this.caller} had media and ${this.winner} never did` : `${this.winner} had media and ${this.caller} never did`;
  }

  #unanswered(reason) {
    const { call } = this;
    const end = this.after(call.ended_at);
    switch (reason) {
      case 'ring_timeout':
        return call.ringing_at ? `nobody answered; ${this.#unansweredEnd}` : `no device rang; the call was given up after ${end}`;
      case 'declined':
        return call.ended_by ? `${call.ended_by} declined after ${end}`
          : `${this.target} takes no calls from ${this.caller} at present (do not disturb, or a block list)`;
      case 'cancelled':
        return `${call.ended_by ?? this.caller} gave up after ${end}, ${call.ringing_at ? 'while it rang' : 'before any device rang'}`;
      case 'busy': return `${call.ended_by ?? this.target} was busy in another call`;
      case 'no_devices':
        return this.devices.length ? `no device of ${this.target} could be reached`
          : `${this.target} has no device that is online or has a push token`;
      case 'unknown_callee': return `nobody is known as ${this.target}`;
      case 'glare': {
        const other = call.merged_into ? `, and the call goes on as ${call.merged_into}` : '';
        return `${this.caller} and ${this.callee} called each other at the same moment${other}`;
      }
      case 'admin': return `an administrator ended the call after ${end}, before anybody answered`;
      case 'connection_lost': return `the connection to ${call.ended_by ?? this.caller} was lost before anybody answered`;
      case 'forbidden': return `${this.caller} may not call ${this.callee}`;
      default: return `it ended as ${reason} after ${end}, before anybody answered`;
    }
  }

  /** The end of the sentence on a single device; undefined where the end reason says all. */
  get #unansweredEnd() {
    const { call } = this;
    const end = this.after(call.ended_at);
    switch (call.reason) {
      case 'ring_timeout': return `the call rang out after ${end}`;
      case 'no_devices': return `there is no other device, and the call ended after ${end}`;
      case 'cancelled': return `${call.ended_by ?? this.caller} gave up after ${end}`;
      case 'admin': return `an administrator ended the call after ${end}`;
      default: return undefined;
    }
  }

  /** Starts with a capital, unless the first word is a handle. */
  #sentence(text) {
    const handles = [this.caller, this.callee, this.target, this.winner, this.call.ended_by,
      ...this.devices.map(({ leg }) => leg.user)];
    const isHandle = handles.some((handle) => handle && text.startsWith(handle));
    return `${isHandle ? text : text[0].toUpperCase() + text.slice(1)}.`;
  }
}

/** One sentence on the call, and a line with a dash on each device of note; with the problems of the server. */
export const sentences = (detail, now, problems = []) => new CallSentences(detail, now, problems).lines;
