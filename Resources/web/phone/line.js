// One call of this phone: the library's call and media, its ladder, and what the screen shows of it.

import { Media } from '../reveille.js';
import { Ladder } from './ladder.js';
import { brief, problem, quality, story, targetName } from './words.js';

const BEFORE_ANSWER = new Set(['routing', 'waking', 'ringing']);

export class Line {
  call;
  media;
  answeredBy;
  isPeerOnHold = false;
  isPeerMuted = false;
  isAnswering = false;
  isEnding = false;
  isOver = false;
  needsResume = false;
  qualityText = '';
  qualityLevel = '';
  tones = '';
  #isMediaLost = false;
  #dialing = new AbortController();

  /** `phone`: the Phone. `given`: `{ id, role, to?, isVideo? }` */
  constructor(phone, given) {
    this.phone = phone;
    Object.assign(this, { isVideo: false }, given);
    this.ladder = new Ladder(phone.signIn.user, this.id);
    this.audio = document.createElement('audio');
    this.audio.autoplay = true;
    this.audio.addEventListener('playing', () => this.phone.playing());
  }

  get key() { return this.id; }
  get peer() { return this.role === 'callee' ? this.call.peer : targetName(this.to); }
  get caller() { return this.role === 'callee' ? this.call.from?.handle ?? this.peer : this.phone.user; }
  get callee() { return this.role === 'callee' ? this.phone.user : targetName(this.to); }
  get winner() { return this.answeredBy ?? this.callee; }
  get other() { return this.role === 'callee' ? this.caller : this.winner; }
  get callBack() { return this.role === 'callee' ? this.call.from?.handle : this.to; }
  get isOnHold() { return Boolean(this.media?.isOnHold); }
  get isMuted() { return Boolean(this.media?.isMuted); }
  get hasCamera() { return this.tracks(this.media?.localStream).length > 0; }
  get hasPicture() { return this.tracks(this.media?.remoteStream).some(({ muted }) => !muted); }

  tracks(stream) { return (stream?.getVideoTracks() ?? []).filter(({ readyState }) => readyState === 'live'); }

  /** `starting`, `incoming`, `answering`, the state of the call, or `ended`. */
  get phase() {
    if (this.isOver) return 'ended';
    if (!this.call) return 'starting';
    const { state } = this.call;
    if (this.role === 'caller' || !BEFORE_ANSWER.has(state)) return state;
    return this.isAnswering ? 'answering' : 'incoming';
  }

  get isTalking() { return this.phase === 'answered' || this.phase === 'connected'; }

  // The call

  adopt(call) {
    this.call = call;
    this.to ??= call.to;
    this.isVideo ||= call.video;
    this.ladder.once('invited', this.caller);
    if (this.role === 'callee') {
      this.ladder.once('offered', this.phone.user);
      if (BEFORE_ANSWER.has(call.state)) this.ladder.once('ringing', this.phone.user);
    }
    call.addEventListener('state', () => this.#stateChanged());
    call.addEventListener('ended', () => this.#ended());
    call.addEventListener('moved', () => this.phone.forget(this));
    call.addEventListener('peer', ({ detail }) => this.#peer(detail));
    call.addEventListener('update', ({ detail }) => this.#update(detail));
    call.addEventListener('step', ({ detail: { name, from } }) => {
      if (name === 'connected' && from === 'page') this.ladder.once(`${this.role}_connected`, this.phone.user);
    });
    this.#stateChanged();
  }

  #stateChanged() {
    const { state, by, answeredAt, connectedAt } = this.call;
    if (this.role === 'caller' && state === 'waking') this.ladder.once('waking', this.callee);
    if (this.role === 'caller' && state === 'ringing') this.ladder.once('ringing', by?.user ?? this.callee);
    if (state === 'answered' || state === 'connected') {
      this.answeredBy ??= by?.user;
      this.ladder.once('answered', this.winner, '', answeredAt);
    }
    if (state === 'connected') this.ladder.once('connected', '', '', connectedAt);
    this.phone.changed();
  }

  #ended() {
    const { reason, by, endedAt } = this.call;
    this.ladder.once('ended', by?.user ?? '', reason, endedAt);
    this.over();
  }

  over() {
    this.isOver = true;
    this.audio.remove();
    this.phone.ended(this);
  }

  #peer({ presence, at }) {
    this.ladder.presence(this.other, presence === 'away', at);
    this.phone.changed();
  }

  /** Also told again after a reload on the other side. */
  #update({ kind, custom }) {
    const { isPeerOnHold, isPeerMuted } = this;
    if (kind === 'hold' || kind === 'resume') this.isPeerOnHold = kind === 'hold';
    if (kind === 'mute') this.isPeerMuted = custom?.muted !== false;
    if (isPeerOnHold !== this.isPeerOnHold) this.ladder.add(kind, this.other);
    if (isPeerMuted !== this.isPeerMuted) this.ladder.add(this.isPeerMuted ? 'mute' : 'unmute', this.other);
    this.phone.changed();
  }

  /** This phone has lost its connection to the server, or has it again. */
  connection(isOpen) {
    if (this.isTalking) this.ladder.presence(this.phone.user, !isOpen);
  }

  // The media

  get #options() {
    const { audio, speaker } = this.phone.devices;
    // A pool that is taken while it fills may gather nothing (Chromium 156): one restart in ten never connected.
    return { audio, speaker, configuration: { iceCandidatePoolSize: 0 } };
  }

  #listen(media) {
    this.media = media;
    document.body.append(this.audio);
    media.attach(this.audio);
    const on = (type, handler) => media.addEventListener(type, (event) => {
      handler(event.detail);
      this.phone.changed();
    });
    on('quality', (given) => {
      this.qualityText = quality(given, this.peer);
      this.qualityLevel = given.level;
    });
    on('track', ({ track }) => {
      for (const type of ['mute', 'unmute', 'ended']) track.addEventListener(type, () => this.phone.changed());
    });
    on('connection', ({ state }) => this.#mediaConnection(state));
    on('blocked', () => this.#blocked());
    on('problem', ({ error }) => this.#report(error));
  }

  /** Also told while the element starts anew, which soon plays by itself. */
  #blocked() {
    setTimeout(() => this.audio.paused && !this.isOver && this.isTalking && this.phone.blocked(this), 1_000);
  }

  #mediaConnection(state) {
    const isLost = state === 'disconnected' || state === 'failed';
    if (isLost && !this.#isMediaLost && this.isTalking) this.ladder.add('media_lost');
    if (state === 'connected' && this.#isMediaLost) this.ladder.add('media_back');
    if (isLost || state === 'connected') this.#isMediaLost = isLost;
  }

  #report(error, device) {
    const isExpected = ['call_ended', 'closed', 'already_answered'].includes(error?.code);
    if (this.isEnding || this.isOver || isExpected) return;
    this.phone.notice(`media ${error?.code}`, problem(error, device));
  }

  async dial() {
    const { session, devices } = this.phone;
    const { signal } = this.#dialing;
    const options = { ...this.#options, id: this.id, video: this.isVideo && devices.video, signal };
    try {
      this.#listen(await Media.dial(session, this.to, options));
      devices.refresh();
      this.phone.changed();
    } catch (error) {
      if (this.isOver) return;
      if (!this.isEnding) this.fault = problem(error, this.isVideo ? 'microphone or camera' : 'microphone');
      if (!this.call || this.call.isLive) this.over();
    }
  }

  /** Takes the caller's offer, without the microphone. */
  prepare() {
    this.#listen(new Media(this.call, this.#options));
  }

  async answer(withCamera = false) {
    this.isAnswering = true;
    this.phone.changed();
    try {
      await this.media.answer();
      this.ladder.once('answered', this.phone.user);
      this.answeredBy = this.phone.user;
      if (withCamera) await this.setCamera(true);
    } catch (error) {
      this.isAnswering = false;
      if (error.code === 'already_answered') this.phone.notice('answer', problem(error));
      else this.#report(error);
      this.phone.notAnswered(this);
    }
  }

  /** Goes on with a call of before a reload, or of another tab. */
  async resume() {
    const { video } = this.phone.devices;
    this.needsResume = false;
    if (!this.media || this.media.isClosed) this.#listen(new Media(this.call, { ...this.#options, video }));
    if (this.isTalking) this.ladder.add(this.call.isRestored ? 'reloaded' : 'moved', this.phone.user);
    try {
      await this.media.resume();
    } catch (error) {
      if (!this.call.isLive) return;
      this.needsResume = true;
      this.#report(error);
    }
    this.phone.changed();
  }

  // What the user does

  hangUp() {
    if (this.isOver || this.isEnding) return;
    this.isEnding = true;
    if (!this.call) {
      this.#dialing.abort();
      return void this.over();
    }
    const phase = this.phase;
    this.media?.close();
    this.#quietly(phase === 'incoming' ? this.call.decline() : this.call.hangup());
    this.phone.changed();
  }

  mute(isMuted) {
    if (!this.media) return;
    if (this.isTalking) this.ladder.add(isMuted ? 'mute' : 'unmute', this.phone.user);
    this.#quietly(this.media.mute(isMuted));
    this.phone.changed();
  }

  hold(isOnHold) {
    if (!this.media || !this.isTalking || this.isOnHold === isOnHold) return;
    this.ladder.add(isOnHold ? 'hold' : 'resume', this.phone.user);
    this.#quietly(this.media.hold(isOnHold));
    this.phone.changed();
  }

  async setCamera(isOn) {
    if (!this.media) return;
    try {
      const { camera } = this.phone.devices;
      if (isOn && camera) await this.media.setCamera(camera).catch(() => this.media.setVideo(true));
      else await this.media.setVideo(isOn);
      this.ladder.add(isOn ? 'camera_on' : 'camera_off', this.phone.user);
    } catch (error) {
      this.#report(error, 'camera');
    }
    this.phone.changed();
  }

  sendTone(tone) {
    if (!this.media) return;
    this.tones += tone;
    this.#quietly(this.media.dtmf(tone, 120, 70));
    this.phone.changed();
  }

  /** A device was chosen in the panel. */
  async use(what, id) {
    if (!this.media || this.media.isClosed) return;
    try {
      if (what === 'speaker') await this.media.setSpeaker(id ?? '');
      else if (!id) return;
      else if (what === 'microphone') await this.media.setMicrophone(id);
      else if (this.hasCamera) await this.media.setCamera(id);
    } catch (error) {
      this.#report(error, what);
    }
  }

  playSound() { return this.media?.attach(this.audio); }

  #quietly(done) { done?.catch((error) => this.#report(error)); }

  // In words

  get stateText() {
    const peer = brief(this.peer);
    if (this.isEnding && !this.isOver) {
      return this.phone.isOpen ? 'Hanging up…' : 'Hanging up as soon as the server is back…';
    }
    switch (this.phase) {
      case 'starting': return 'Taking the microphone. The browser may ask you to allow it.';
      case 'incoming': return this.isVideo ? 'calls you, with video' : 'calls you';
      case 'answering': return 'Answering. The browser may ask you to allow the microphone.';
      case 'routing': return `Calling ${peer}…`;
      case 'waking': return `Waking the phone of ${peer}…`;
      case 'ringing': {
        const count = this.call.legs.ringing;
        return count > 1 ? `It rings on ${count} devices…` : 'It rings…';
      }
      case 'answered': return 'Answered. Connecting the sound…';
      case 'connected': return this.#talkText();
      default: return this.endText;
    }
  }

  #talkText() {
    const peer = brief(this.peer);
    if (this.needsResume) return 'The call waits for your microphone.';
    if (this.call.peerAwaySince !== undefined) {
      const { peerRemaining: left } = this.call;
      const time = left === undefined ? '' : `, and has ${Math.ceil(left / 1000)} s to come back`;
      return `${peer} has lost the connection${time}`;
    }
    if (this.isOnHold) return this.isPeerOnHold ? 'On hold on both sides' : 'On hold';
    if (this.isPeerOnHold) return `${peer} has put you on hold`;
    return this.isPeerMuted ? `${peer} has muted the microphone` : 'Connected';
  }

  /** When the connection was lost for which the call ended. */
  get lostAt() {
    const { reason, by } = this.call;
    return reason === 'connection_lost' ? this.ladder.lostAt(by?.user) : undefined;
  }

  get endText() {
    if (this.fault) return `${this.fault.what} ${this.fault.todo}`.trim();
    if (!this.call) return 'Not called.';
    const { ladder, call } = this;
    return story({
      caller: this.caller, callee: this.callee, winner: this.winner, endedBy: call.by?.user, reason: call.reason,
      mergedInto: call.mergedInto, hasRung: this.role === 'callee' || ladder.at('ringing') !== undefined,
      createdAt: ladder.start, answeredAt: ladder.at('answered'), connectedAt: ladder.at('connected'), lostAt: this.lostAt,
      endedAt: ladder.at('ended') ?? Date.now(),
    });
  }
}
