/**
 * Connects react-native-callkeep 4.3 and react-native-voip-push-notification 3.3 with Reveille. The device's push token
 * has the payload profile `callkeep_react_native`.
 *
 *     const reveille = connectReveille({ server: 'https://calls.example.com', onToken, onAnswered, onEnded });
 *     // Android, in index.js:
 *     messaging().setBackgroundMessageHandler(({ data }) => reveille.incoming(data));
 *     // When the app's session gets call.ended:
 *     reveille.ended(callId, reason);
 *
 * Call it in index.js, before the first component, so that no early event is missed. On iOS the native AppDelegate
 * shows the call before any of this runs; its lines are in the README of react-native-voip-push-notification.
 *
 * How it was checked: Tests/Clients runs this file in Node.js with stand-ins for the two plugins and a local HTTP
 * server. The names of events and methods are those of the plugins' sources. It has not been run on a phone.
 */
import { Platform } from 'react-native';
import RNCallKeep, { CONSTANTS } from 'react-native-callkeep';
import VoipPushNotification from 'react-native-voip-push-notification';

const REPORT_OF_ERROR_CODE = {
  '': 'reported',
  CallUUIDAlreadyExists: 'reported', // It came over the session first.
  FilteredByDoNotDisturb: 'filtered',
  FilteredByBlockList: 'filtered',
};
const REASONS = CONSTANTS.END_CALL_REASONS;
const CALLKEEP_REASON = {
  answered_elsewhere: REASONS.ANSWERED_ELSEWHERE,
  declined_elsewhere: REASONS.DECLINED_ELSEWHERE,
  ring_timeout: REASONS.UNANSWERED,
};

/** The ringing time that was left when the server sent the push; 30 s if the push does not say. */
const secondsLeft = (push) => (/^-?\d+(\.\d+)?$/.test(push.expires_in) ? Number(push.expires_in) : 30);

/**
 * `onToken(token)`: the VoIP token, to register with session.open or device.update. `onAnswered(push)`: open a session
 * with `push.wake_token`; its result has the caller's SDP. `onEnded(push)`: the call is over on this device.
 */
export function connectReveille({ server, onToken = () => {}, onAnswered = () => {}, onEnded = () => {} }) {
  const pushes = new Map(); // By call id, while the call is alive.
  const waiting = new Map(); // By call id: what CallKeep told before the push was known.

  /** Every request may be repeated. The status is 0 if no try reached the server. */
  async function request(push, path, body) {
    for (let tries = 1; ; tries += 1) {
      let status = 0;
      let answer = {};
      try {
        const headers = { Authorization: `Bearer ${push.wake_token}`, 'Content-Type': 'application/json' };
        const response = await fetch(server + path, { method: 'POST', headers, body: JSON.stringify(body) });
        status = response.status;
        answer = await response.json();
      } catch (unreachable) {
        // The next try may reach it.
      }
      if (![0, 429, 503].includes(status) || tries === 3) return { ...answer, status };
      await new Promise((resume) => setTimeout(resume, 500 * tries));
    }
  }

  const report = (push, result, error) =>
    request(push, `/v1/pushes/${push.push_id}/report`, { call_id: push.uuid, result, error });
  const act = (push, verb, body = {}) => request(push, `/v1/calls/${push.uuid}/${verb}`, body);

  /** Calls `handle(push)`, now or when the push comes: the two plugins do not keep the order between them. */
  function withPush(callUUID, handle) {
    const id = callUUID.toLowerCase();
    if (pushes.has(id)) return handle(pushes.get(id));
    waiting.set(id, [...(waiting.get(id) ?? []), handle]);
  }

  function forget(push) {
    clearTimeout(push.timer);
    if (pushes.delete(push.uuid)) onEnded(push);
  }

  function ended(callId, reason) {
    const push = pushes.get(callId.toLowerCase());
    if (!push) return;
    RNCallKeep.reportEndCallWithUUID(push.uuid, CALLKEEP_REASON[reason] ?? REASONS.REMOTE_ENDED);
    forget(push);
  }

  function received(data) {
    const push = { ...data, uuid: data.uuid.toLowerCase() };
    if (pushes.has(push.uuid)) return pushes.get(push.uuid);
    // CallKeep has no timeout of its own: a call that nobody answers would ring on.
    push.timer = setTimeout(() => ended(push.uuid, 'ring_timeout'), secondsLeft(push) * 1000);
    pushes.set(push.uuid, push);
    const handlers = waiting.get(push.uuid) ?? [];
    waiting.delete(push.uuid);
    handlers.forEach((handle) => handle(push));
    return push;
  }

  async function displayed(push, error, errorCode) {
    const result = REPORT_OF_ERROR_CODE[errorCode ?? ''] ?? 'failed';
    const answer = await report(push, result, result === 'failed' ? `${errorCode}: ${error}` : undefined);
    if (answer.state === 'ended') ended(push.uuid, answer.reason);
    else if (result === 'failed' || result === 'filtered') forget(push);
  }

  async function answered(push) {
    clearTimeout(push.timer);
    const answer = await act(push, 'answer');
    if (answer.status === 200) return onAnswered(push);
    const isElsewhere = answer.data?.code === 'already_answered';
    ended(push.uuid, isElsewhere ? 'answered_elsewhere' : answer.data?.reason);
  }

  /** The user declines, or hangs up: before the answer `hangup` is a decline. */
  async function endedHere(push) {
    forget(push);
    await act(push, 'hangup');
  }

  /** Android: a data message. Resolves when the server knows, so that Android keeps the task until then. */
  async function incoming(data) {
    if (!data.uuid || !data.push_id) return;
    // The time left when the server sent it: the phone's clock may be wrong. The report's answer tells of a late push.
    if (secondsLeft(data) <= 0) return void (await report(data, 'not_required'));
    const push = received(data);
    RNCallKeep.displayIncomingCall(push.uuid, push.handle, push.callerName, 'generic', push.hasVideo === 'true');
    await displayed(push);
  }

  const onDisplay = ({ callUUID, error, errorCode }) =>
    withPush(callUUID, (push) => displayed(push, error, errorCode));
  const onAnswer = ({ callUUID }) => withPush(callUUID, answered);
  const onEnd = ({ callUUID }) => withPush(callUUID, endedHere);

  // What happened before JavaScript ran comes as one list with the native names.
  const handlers = {
    RNVoipPushRemoteNotificationsRegisteredEvent: onToken,
    RNVoipPushRemoteNotificationReceivedEvent: received,
    RNCallKeepDidDisplayIncomingCall: onDisplay,
    RNCallKeepPerformAnswerCallAction: onAnswer,
    RNCallKeepPerformEndCallAction: onEnd,
  };
  const early = (events) => (events ?? []).forEach(({ name, data }) => handlers[name]?.(data));

  if (Platform.OS === 'ios') {
    VoipPushNotification.addEventListener('didLoadWithEvents', early);
    VoipPushNotification.addEventListener('register', onToken);
    VoipPushNotification.addEventListener('notification', received);
    VoipPushNotification.registerVoipToken();
    RNCallKeep.addEventListener('didLoadWithEvents', early);
    RNCallKeep.addEventListener('didDisplayIncomingCall', onDisplay);
  }
  RNCallKeep.addEventListener('answerCall', onAnswer);
  RNCallKeep.addEventListener('endCall', onEnd);
  return { incoming, ended };
}
