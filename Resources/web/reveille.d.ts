/**
 * The browser library of Reveille: calls over one WebSocket, with or without WebRTC.
 *
 * `Connection` → `Session` → `Call` → `Media`. Each promise settles: with a result, a `ReveilleError` or a time-out.
 * All durations are milliseconds. Times named `…At` are milliseconds since 1970 on the server's clock.
 */

export type CallState = 'routing' | 'waking' | 'ringing' | 'answered' | 'connected' | 'ended';

export type EndReason =
  | 'hangup' | 'declined' | 'cancelled' | 'busy' | 'ring_timeout' | 'connect_timeout' | 'answered_elsewhere'
  | 'declined_elsewhere' | 'no_devices' | 'unknown_callee' | 'glare' | 'ice_failed' | 'media_failed'
  | 'connection_lost' | 'forbidden' | 'admin' | 'max_duration';

/** The server's codes, the library's own, and those of `Media`. */
export type ErrorCode =
  | 'parse_error' | 'invalid_request' | 'method_not_found' | 'invalid_params' | 'internal_error' | 'unauthenticated'
  | 'forbidden' | 'not_found' | 'call_ended' | 'already_answered' | 'bad_state' | 'rate_limited' | 'too_large'
  | 'conflict' | 'limit_reached' | 'overloaded' | 'draining'
  | 'not_connected' | 'timed_out' | 'connection_lost' | 'closed' | 'gone' | 'elsewhere'
  | 'media_denied' | 'media_missing' | 'media_busy' | 'media_failed' | 'insecure_page' | 'no_offer' | 'no_dtmf'
  | 'unsupported';

/** Why a promise was rejected. */
export class ReveilleError extends Error {
  constructor(code: string, message: string, data?: Record<string, unknown>);
  /** For programs. A newer server may have codes that are not in `ErrorCode`. */
  readonly code: ErrorCode | (string & {});
  /** When to try again in milliseconds, if the server says so; at most five minutes. */
  readonly retryAfter?: number;
  /** One sentence for people: what to do about it. */
  whatToDo: string;
  /** The rest of what the server says, such as `reason`, `by`, `limit`; for `gone` also `close_code` and `cause`. */
  readonly data: Record<string, any>;
}

export interface Caller { handle: string; handle_type: 'phone' | 'email' | 'generic'; name?: string }
export interface Party { user: string; device_id?: string }
/** A user or alias, a list of them, or a group. */
export type CallTarget = string | string[] | { group: string };
/** How the call stands for this device. */
export interface Standing { state: CallState; reason?: EndReason }
export interface MissedCall { call_id: string; from: Caller; at: number; reason: EndReason; video: boolean }

/** The result of `session.open`. */
export interface SessionOpened {
  session_id: string;
  user: string;
  resumed: boolean;
  calls: Array<Record<string, any>>;
  missed: MissedCall[];
  /** With a server that sends Web Push: the application server key, which `WebPush` of webpush.js takes. */
  webpush?: { key: string };
  [member: string]: any;
}

/** What the library takes from its surroundings. Each part may be replaced, for Node.js and for tests. */
export interface Environment {
  WebSocket?: new (url: string, protocol: string) => any;
  fetch?: typeof fetch;
  setTimeout?: (fire: () => void, after: number) => any;
  clearTimeout?: (timer: any) => void;
  /** A monotonic clock. */
  now?: () => number;
  random?: () => number;
  /** Hears `online`; its `document` hears `visibilitychange`. */
  page?: EventTarget & { document?: EventTarget & { visibilityState: string } };
  sessionStorage?: Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;
  localStorage?: Pick<Storage, 'getItem' | 'setItem'>;
  locks?: any;
  BroadcastChannel?: any;
  navigator?: any;
  RTCPeerConnection?: any;
  MediaStream?: any;
  mediaDevices?: any;
}

/** Each value replaces a default. */
export interface Times {
  /** 10 s: how long a request may wait for a connection, and then for its answer. */
  request?: number;
  /** 10 s: how long the token, and the socket up to its welcome, may each take. */
  connect?: number;
  /** 60 s: how long an answer, a decline, a hang-up and the like wait for a new connection. */
  keep?: number;
  /** 90 s: how long an answered call outlives its connection here. */
  callKeep?: number;
  /** 0.5 s, 30 s: the bounds of the first and of any delay before the next attempt. */
  backoffBase?: number;
  backoffCeiling?: number;
  /** 2 s: the ceiling while a call lives, as the server keeps a lost session for 30 s. */
  callCeiling?: number;
  /** 10 s: a session that was open for this long starts the backoff anew. */
  stable?: number;
  /** 0.25 s: how long an event waits to be acknowledged together with others. */
  ackDelay?: number;
  /** 2 s: how long `close` waits for the server. */
  close?: number;
  /** 1 s: the time-out of the question that follows a change of the network. */
  probe?: number;
  /** 2 s: how long past its deadline a call continues if the server has not ended it. */
  ringGrace?: number;
  /** 3 s: how long a tab waits for the tab with the call to be loaded again. */
  tabGrace?: number;
  /** 0.2 s: how long a tab waits for the answer of the tab with the session. */
  tabAsk?: number;
}

/**
 * idle → authorizing → connecting → welcoming → opening → open → closing → idle. A lost connection is `waiting`, and
 * then `authorizing` again; one that is lost for good is `gone`.
 */
export type ConnectionState =
  | 'idle' | 'authorizing' | 'connecting' | 'welcoming' | 'opening' | 'open' | 'waiting' | 'closing' | 'gone';

/** A change of the connection, for the screen. */
export type ConnectionChange =
  /** A new session, or the same one over a new connection. */
  | { state: 'up' | 'resumed'; result: SessionOpened }
  /** Lost, or not made. The next attempt follows by itself. */
  | { state: 'down'; code?: number; reason: string; retryIn: number }
  /** Over for good: `error.whatToDo`. */
  | { state: 'gone'; code?: number; reason: string; error: ReveilleError }
  /** Closed by the page. */
  | { state: 'offline' };

type Listener<Detail> = ((event: CustomEvent<Detail>) => void) | { handleEvent(event: CustomEvent<Detail>): void };

declare class Emitter<Events> extends EventTarget {
  addEventListener<Type extends keyof Events & string>(
    type: Type, listener: Listener<Events[Type]> | null, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<Type extends keyof Events & string>(
    type: Type, listener: Listener<Events[Type]> | null, options?: boolean | EventListenerOptions): void;
}

export interface ConnectionOptions {
  url: string;
  token: () => string | Promise<string>;
  device: { id: string; platform: string; app?: string; name?: string };
  resume?: { session_id: string; token: string; last_seq: number };
  times?: Times;
  environment?: Environment;
}

/** The lowest layer: a session of the server as requests and events. `Session` is what an app uses. */
export class Connection extends Emitter<{
  change: ConnectionChange;
  /** Each event of the server once, in order. */
  event: { method: string; params: any };
}> {
  constructor(options: ConnectionOptions);
  readonly state: ConnectionState;
  readonly isOpen: boolean;
  /** What continues the session in another `Connection`. */
  readonly resume: ConnectionOptions['resume'];
  /** Goes online, and stays there. Skips the delay before the next attempt. */
  start(): void;
  /** The result of `session.open`, of the present session or of the next one. Rejects at once when none will come. */
  opened(timeout?: number): Promise<SessionOpened>;
  /** Goes offline. */
  stop(): Promise<void>;
  /** Sends a request now, or once a session is open. */
  request(method: string, params?: Record<string, any>): Promise<any>;
  /** For `call.candidates`, which has no answer. Whether it was sent. */
  notify(method: string, params: Record<string, any>): boolean;
  /** Tries the connection at once. The library calls it by itself in a browser. */
  networkChanged(isNewNetwork?: boolean): void;
  /** Drops the connection without a word to the server. */
  abandon(): void;
}

/** One step of a call, for a ladder. */
export interface Step {
  /** By the clock of this device. */
  at: number;
  /** `invite`, `answer`, `state:ringing`, `update:hold`, `peer:away`, `peer:back`, `ended:hangup`, `media:connected`… */
  name: string;
  /** Where it came from. */
  from: 'page' | 'server' | 'media';
  /** Who acted, if the server names the party. */
  by?: Party;
}

export interface CallEvents {
  /** Something in the call has changed; often, but not always, its state. */
  state: { call: Call };
  /** Over. Told once. */
  ended: { call: Call };
  /** The caller's offer came after the call was told, or has changed. */
  offer: { call: Call };
  candidates: { call: Call; candidates: any[]; isFinal: boolean };
  /** The other side renegotiates, holds, mutes, or sends an update of its own. */
  update: { call: Call; kind: UpdateKind; sdp?: string; custom?: any };
  /**
   * The other side has lost its connection to the server, or is back. `at`: when, by the server's clock. It is told late if
   * this side was away as well: compare it with `call.connectedAt`.
   */
  peer: { call: Call; presence: 'away' | 'back'; at: number };
  /** The call goes on in another tab. */
  moved: { call: Call };
  step: Step;
}

export type UpdateKind = 'offer' | 'answer' | 'hold' | 'resume' | 'mute' | 'info';

/** One call. Its states are those of the article CallSemantics, and only move forward. */
export class Call extends Emitter<CallEvents> {
  private constructor();
  readonly session: Session;
  readonly id: string;
  readonly role: 'caller' | 'callee';
  readonly state: CallState;
  readonly isLive: boolean;
  readonly from?: Caller;
  readonly to?: CallTarget;
  /** The other side, for display. */
  readonly peer: string;
  readonly video: boolean;
  /** The other side's session description: the caller's offer, or the callee's answer. */
  readonly sdp?: string;
  readonly custom?: any;
  /** The push of this call to this device, for `push.report`. */
  readonly pushId?: string;
  /** How many devices of the callee are being woken, and how many ring. For the caller only. */
  readonly legs: { waking: number; ringing: number };
  /** The ring deadline, after the answer the connect deadline. */
  readonly expiresAt?: number;
  /** The time until it. */
  readonly remaining?: number;
  readonly answeredAt?: number;
  readonly connectedAt?: number;
  readonly endedAt?: number;
  /** When the other side lost its connection to the server. */
  readonly peerAwaySince?: number;
  /** The call ends as `connection_lost` unless the other side is back by then. Not known after a new session. */
  readonly peerExpiresAt?: number;
  /** The time until it. */
  readonly peerRemaining?: number;
  readonly reason?: EndReason;
  /** Who answered, or who ended it. */
  readonly by?: Party;
  /** Whether this device ended it. */
  readonly isOwnAct: boolean;
  /** Whether the page had the call before it was loaded again. */
  readonly isRestored: boolean;
  /** Whether this side gives way when both sides offer at once. */
  readonly isPolite: boolean;
  /** The other side's call that continues instead, after a glare. */
  readonly mergedInto?: string;
  readonly steps: Step[];

  /** Answers. `Media.answer` does it with WebRTC. Rejects with `already_answered` or `call_ended`. */
  answer(content?: { sdp?: string }): Promise<{ won: true }>;
  /** The device rings. Sent by itself, unless `automaticRinging` is off. */
  ringing(): Promise<Standing>;
  decline(reason?: 'declined' | 'busy' | 'dnd'): Promise<Standing>;
  /** Ends the call: cancels or declines it before the answer. */
  hangup(reason?: 'hangup' | 'ice_failed' | 'media_failed'): Promise<Standing>;
  /** Media flows here. Sent by `Media` by itself. */
  connected(): Promise<Standing>;
  /** To the other side of an answered call. It is not repeated if the connection breaks: it may have arrived. */
  update(kind: UpdateKind, content?: { sdp?: string; custom?: any }): Promise<{}>;
  /** The call as the server has it. */
  get(): Promise<Record<string, any>>;
  /** At most 60 kB at once. Sent again until they have arrived. */
  sendCandidates(candidates: any[], isFinal?: boolean): void;
}

export interface SessionOptions {
  /** `wss://calls.example.com`: without `/v1/signal`, which the library adds. The constructor throws a TypeError for it. */
  url: string;
  /**
   * The user's token, from your backend. Called for each connection, never twice at a time. After 10 s `signal` is
   * aborted, and the call counts as failed.
   */
  token: (given: { signal: AbortSignal }) => string | Promise<string>;
  /** A UUID. By default one is made and kept in `localStorage`: all tabs of a browser are one device. */
  deviceId?: string;
  deviceName?: string;
  /** The app's name and version. */
  app?: string;
  /** Sends `call.ringing` for each incoming call; on by default. */
  automaticRinging?: boolean;
  /** Elects one tab for the session; on by default where the browser has locks. */
  tabs?: boolean;
  times?: Times;
  environment?: Environment;
}

export interface InviteOptions {
  /** A UUID; one is made by default. */
  id?: string;
  sdp?: string;
  custom?: any;
  video?: boolean;
  /** From 5,000 to 180,000, or up to 600,000 if the server's `limits.ring_time_seconds` allows it. */
  ringMs?: number;
  maxDurationMs?: number;
}

export interface SessionEvents extends Omit<CallEvents, 'step'> {
  /** Show the call now. Told once a call. */
  incoming: { call: Call; candidates: any[] };
  /** A call that is placed here; told before the server has it. */
  outgoing: { call: Call };
  /** A call of before a reload, or one that another tab had: `Media.resume` continues it. */
  restored: { call: Call };
  /** Both sides called each other: `winner` continues, `loser` has ended. `call` is the winner, if it is known. */
  merged: { call?: Call; loser: string; winner: string };
  connection: ConnectionChange;
  /** The server stops soon; the session comes back by itself. */
  draining: { deadline: number };
  /** This tab has gained or lost the session, or `callsElsewhere` has changed. */
  tabs: {};
  /** The browser has another network. */
  network: {};
  /** New TURN credentials. */
  iceservers: {};
}

/** The session of a device, kept over lost connections, restarts of the server and reloads of the page. */
export class Session extends Emitter<SessionEvents> {
  constructor(options: SessionOptions);
  /** `elsewhere`: another tab has the session. `gone`: over for good, see the event `connection`. */
  readonly state: 'offline' | 'connecting' | 'open' | 'elsewhere' | 'gone';
  readonly connection: Connection;
  readonly deviceId: string;
  readonly user?: string;
  /** The live calls, oldest first. */
  readonly calls: Call[];
  readonly missed: MissedCall[];
  /** The live calls of the tab that has the session. */
  readonly callsElsewhere: Array<{
    id: string; state: CallState; role: 'caller' | 'callee'; peer: string;
    media?: { isMuted: boolean; isOnHold: boolean; isCameraOn: boolean };
  }>;
  call(id: string): Call | undefined;
  /** Goes online, and stays there. Never throws: see `opened` and the event `connection`. */
  start(): void;
  /** The result of `session.open`, as soon as there is a session. */
  opened(timeout?: number): Promise<SessionOpened>;
  /** Goes offline: the server rings the user's other devices. */
  close(): Promise<void>;
  /** Moves the session and its calls to this tab. */
  takeOver(): void;
  /**
   * Calls somebody, without media: see `Media.dial`. The call is in `calls` at once; the promise has it when the server
   * has it. A call that ends at once, for example as `no_devices`, is no error: look at its `state`.
   */
  invite(to: CallTarget, options?: InviteOptions): Promise<Call>;
  /** For methods without one of their own here: `call.list`, `missed.clear`, `session.logout`… */
  request(method: string, params?: Record<string, any>): Promise<any>;
  /** The server's TURN servers, with credentials that are valid for a minute at least. */
  iceServers(): Promise<RTCIceServer[]>;
}

/** The last half second, for people and programs. */
export interface Quality {
  /** `none`: nothing arrives for 3 s. */
  level: 'good' | 'fair' | 'poor' | 'none';
  /** For example `good: 32 ms, no loss, direct`. */
  text: string;
  rtt: number;
  jitter: number;
  /** From 0 to 1. */
  loss: number;
  /** How long nothing has arrived. */
  silence: number;
  isRelayed: boolean;
}

export interface MediaOptions {
  /** Constraints as of `getUserMedia`; the microphone alone by default. */
  audio?: boolean | MediaTrackConstraints;
  /** For a restored call only which camera: it is on if it was. */
  video?: boolean | MediaTrackConstraints;
  /** Instead of the server's TURN servers. */
  iceServers?: RTCIceServer[];
  /** More for `RTCPeerConnection`, such as `iceTransportPolicy`. */
  configuration?: RTCConfiguration;
  /** The id of the speaker. */
  speaker?: string;
}

export interface MediaEvents {
  /** `remoteStream` has a new track. */
  track: { media: Media; track: MediaStreamTrack };
  /** The state of the peer connection. */
  connection: { media: Media; state: RTCPeerConnectionState };
  /** Twice a second. */
  quality: Quality;
  /** The other side holds, resumes, mutes, or sends an update of its own. */
  peer: { media: Media; kind: 'hold' | 'resume' | 'mute' | 'info'; custom?: any };
  /** A device was plugged in or out. */
  devices: {};
  /** The browser plays nothing until the user touches the page: call `attach` again then. */
  blocked: { element: HTMLMediaElement };
  /** Something failed that no promise tells. The call may go on. */
  problem: { error: any };
  closed: {};
}

/** The media of one call: one `RTCPeerConnection`, renegotiated, restarted and closed by itself. */
export class Media extends Emitter<MediaEvents> {
  /**
   * For an incoming call: takes the offer and gathers candidates, without the microphone. Nothing is sent before
   * `answer`: the caller learns no address. For a call of before a reload: waits for `resume`.
   * Throws `unsupported` in a browser without WebRTC.
   */
  constructor(call: Call, options?: MediaOptions);
  /**
   * Takes the microphone and calls. Rejects if the microphone or the call is refused. `signal` takes the call back while
   * `dial` waits, also for the user's permission: it rejects with `call_ended`, and `data.reason` is `cancelled`.
   */
  static dial(
    session: Session, to: CallTarget, options?: MediaOptions & InviteOptions & { signal?: AbortSignal }): Promise<Media>;
  readonly call: Call;
  readonly session: Session;
  readonly localStream: MediaStream;
  readonly remoteStream: MediaStream;
  readonly peerConnection?: RTCPeerConnection;
  /** These three outlive a reload of the page, and go with the call to another tab. */
  readonly isMuted: boolean;
  readonly isOnHold: boolean;
  readonly isCameraOn: boolean;
  readonly isClosed: boolean;
  readonly quality?: Quality;
  /** Takes the microphone and answers. While that is under way, a second one is the same. */
  answer(): Promise<{ won: true }>;
  /** Continues a restored call with new media on both sides. One that rings here waits for `answer`. */
  resume(): Promise<void>;
  /** Plays the other side in an element. */
  attach(element: HTMLMediaElement): Promise<void>;
  /** Resolves when the server has told the other side. */
  mute(isMuted?: boolean): Promise<void>;
  hold(isOnHold?: boolean): Promise<void>;
  setVideo(isOn: boolean): Promise<void>;
  /**
   * Sends tones, such as `12#`, behind those that are being sent. Each lasts `duration` (100), followed by `gap` (70).
   * Resolves when the last one is out. Rejects with `media_failed` if the other side's reload cuts them.
   */
  dtmf(tones: string, duration?: number, gap?: number): Promise<void>;
  /** Names are empty before the user has allowed the microphone. */
  devices(): Promise<MediaDeviceInfo[]>;
  setMicrophone(id: string): Promise<void>;
  setCamera(id: string): Promise<void>;
  setSpeaker(id: string): Promise<void>;
  /** Releases the devices and the elements. Comes by itself with the end of the call. */
  close(): void;
}
