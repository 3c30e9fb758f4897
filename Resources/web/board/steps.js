// The steps of a call's timeline: their words, their frames, and between whom these went.

const words = {
  invited: 'invited', forwarded: 'forwarded', push_intended: 'push on disk', push_sent: 'push sent',
  push_accepted: 'push accepted by the provider', push_rejected: 'push rejected by the provider',
  push_unknown: 'push outcome unknown', push_cancelled: 'push cancelled before it was sent',
  push_expired: 'push expired before it was sent', woken: 'phone woken', offered: 'told over its socket',
  push_reported: 'push reported to the user', push_acted: 'phone acted after the push, and did not report it',
  push_unreported: 'push never reported', ringing: 'ringing', answered: 'answered', caller_connected: 'caller has media',
  callee_connected: 'callee has media', connected: 'connected', connection_lost: 'connection lost',
  came_back: 'came back', leg_ended: 'left the call', ended: 'ended',
};

const reports = {
  not_required: 'push reported: the call did not have to be shown', filtered: 'push reported: the system shows nothing',
  report_failed: 'push reported: the call could not be shown', reported_late: 'push reported too late',
};

export function stepText({ step, detail }) {
  if (step === 'push_reported' && detail) return reports[detail] ?? words.push_reported;
  return (words[step] ?? step.replaceAll('_', ' ')) + (detail ? ` (${detail})` : '');
}

export function stepWeight(step) {
  if (step === 'push_rejected' || step === 'push_unreported') return 'failure';
  if (step === 'push_unknown' || step === 'push_expired' || step === 'connection_lost') return 'suspect';
  if (step === 'answered' || step === 'connected') return 'good';
  return step === 'ended' ? 'strong' : '';
}

/** `[from, to, frame]` with the lanes `who`, `server` and `provider`. A step of one lane has no frame. */
export function stepFrame({ step, detail }) {
  switch (step) {
    case 'invited': return ['who', 'server', 'call.invite'];
    case 'push_sent': return ['server', 'provider', 'push'];
    case 'push_accepted': return ['provider', 'server', 'accepted'];
    case 'push_rejected': return ['provider', 'server', 'rejected'];
    case 'woken': case 'came_back': return ['who', 'server', 'session.open'];
    case 'offered': return ['server', 'who', 'call.incoming'];
    case 'push_reported': return ['who', 'server', 'push.report'];
    case 'ringing': return ['who', 'server', 'call.ringing'];
    case 'answered': return ['who', 'server', 'call.answer'];
    case 'caller_connected': case 'callee_connected': return ['who', 'server', 'call.connected'];
    case 'leg_ended': return ['server', 'who', 'call.ended'];
    case 'ended':
      if (detail === 'declined' || detail === 'busy') return ['who', 'server', 'call.decline'];
      if (['hangup', 'cancelled', 'ice_failed', 'media_failed'].includes(detail)) return ['who', 'server', 'call.hangup'];
      return ['server', 'server'];
    case 'push_acted': case 'push_unreported': case 'connection_lost': return ['who', 'who'];
    default: return ['server', 'server'];
  }
}
