// As much of a server as one device sees: one session, calls with one device, resume. On virtual time.

import { DEVICE, callID } from './harness.mjs';

const RANK = ['routing', 'waking', 'ringing', 'answered', 'connected', 'ended'];
const isBeforeAnswer = ({ state }) => RANK.indexOf(state) < 3;

export class ModelServer {
  /** By id, in the order in which they came to be. */
  calls = new Map();
  session;
  violations = [];
  updates = [];
  #counter = 0;

  constructor(clock) {
    this.clock = clock;
  }

  get live() { return [...this.calls.values()].filter(({ state }) => state !== 'ended'); }
  count() { return ++this.#counter; }

  // What happens at the server. Each returns what goes to the client, if it is connected.

  emit(method, params) {
    const { session } = this;
    if (!session) return [];
    session.lastSeq += 1;
    const message = { method, params: { seq: session.lastSeq, ...params } };
    session.unacked.push(message);
    return [message];
  }

  #make(id, role) {
    const state = role === 'callee' ? 'ringing' : 'routing';
    const call = { id, role, state, expiresAt: this.clock.time + 45_000, candidates: new Set() };
    this.calls.set(id, call);
    return call;
  }

  #deadline(call) {
    const left = Math.max(0, call.expiresAt - this.clock.time);
    return isBeforeAnswer(call) ? { expires_at: 1_000_000 + call.expiresAt, remaining_ms: left } : {};
  }

  #incoming(call) {
    return {
      call_id: call.id, from: { handle: 'bob', handle_type: 'generic' }, to: 'alice', video: false, sdp: 'offer',
      candidates: [], ...this.#deadline(call),
    };
  }

  offer() {
    const call = this.#make(callID(1_000 + this.count()), 'callee');
    return [call, this.emit('call.incoming', this.#incoming(call))];
  }

  /** The far side calls while this device calls it: the new call continues. */
  glare(call) {
    if (call.role !== 'caller' || !isBeforeAnswer(call)) return [];
    const [winner, offered] = this.offer();
    call.mergedInto = winner.id;
    return [...offered, ...this.end(call, 'glare')];
  }

  end(call, reason, isOwnAct = false) {
    if (call.state === 'ended') return [];
    call.state = 'ended';
    call.reason = reason;
    return this.emit('call.ended', {
      call_id: call.id, reason, at: this.clock.time, callkit_reason: isOwnAct ? null : 'remoteEnded', sip_status: 200,
      q850: 16, ...(call.mergedInto ? { merged_into: call.mergedInto } : {}),
    });
  }

  advance(call, state, by) {
    if (RANK.indexOf(state) <= RANK.indexOf(call.state)) return [];
    call.state = state;
    if (by) call.by = by;
    return this.emit('call.state', {
      call_id: call.id, state, at: this.clock.time, legs: { waking: 0, ringing: 0 }, ...(by ? { by } : {}),
      ...this.#deadline(call),
    });
  }

  farAnswer(call) {
    return call.role === 'caller' && isBeforeAnswer(call) ? this.advance(call, 'answered', { user: 'bob' }) : [];
  }

  expire() {
    return this.live.filter((call) => isBeforeAnswer(call) && call.expiresAt <= this.clock.time)
      .flatMap((call) => this.end(call, 'ring_timeout'));
  }

  /** The session is lost, and candidates before media flows with it. */
  restart() {
    this.session = undefined;
    for (const call of this.live) if (call.state !== 'connected') call.candidates.clear();
  }

  // What the client says

  receive({ id, method, params }) {
    if (method === 'session.ack') return this.#acked(params.seq, 'acknowledged');
    if (method === 'call.candidates') {
      const call = this.calls.get(params.call_id);
      for (const candidate of params.candidates) call?.candidates.add(candidate);
      return [];
    }
    const { before = [], result, error, after = [] } = this.#answer(method, params);
    return [...before, error ? { id, error: { code: -1, message: error.code, data: error } } : { id, result }, ...after];
  }

  #acked(seq, word) {
    const { session } = this;
    if (!session || seq > session.lastSeq) {
      this.violations.push(`${word} ${seq} of ${session?.lastSeq}`);
      return [];
    }
    session.acked = Math.max(session.acked, seq);
    session.unacked = session.unacked.filter(({ params }) => params.seq > seq);
    return [];
  }

  #answer(method, params) {
    if (method === 'session.open') return this.#open(params);
    if (!this.session) return { error: { code: 'unauthenticated' } };
    if (method === 'session.state') {
      this.session.app = params.app;
      return { result: {} };
    }
    if (method === 'session.close') {
      this.session = undefined;
      return { result: {} };
    }
    if (method === 'call.invite') return this.#invite(params);
    const call = this.calls.get(params.call_id);
    if (!call) return { error: { code: 'forbidden' } };
    const own = { user: 'alice', device_id: DEVICE };
    const standing = () => ({ state: call.state, ...(call.reason ? { reason: call.reason } : {}) });
    switch (method) {
      case 'call.get': return { result: this.#snapshot(call) };
      case 'call.answer':
        if (call.state === 'ended') return { error: { code: 'call_ended', reason: call.reason } };
        if (!isBeforeAnswer(call)) return { error: { code: 'already_answered', by: call.by } };
        return { after: this.advance(call, 'answered', own), result: { won: true } };
      case 'call.connected': {
        const before = isBeforeAnswer(call) ? [] : this.advance(call, 'connected');
        return { before, result: standing() };
      }
      case 'call.ringing': return { result: standing() };
      case 'call.decline': case 'call.hangup': {
        const reason = !isBeforeAnswer(call) ? 'hangup' : call.role === 'caller' ? 'cancelled' : 'declined';
        const before = this.end(call, reason, true);
        return { before, result: standing() };
      }
      case 'call.update':
        if (call.state === 'ended') return { error: { code: 'call_ended', reason: call.reason } };
        this.updates.push(params.custom);
        return { result: {} };
      default: return { error: { code: 'method_not_found' } };
    }
  }

  #invite(params) {
    const call = this.calls.get(params.call_id) ?? this.#make(params.call_id, 'caller');
    if (call.state === 'ended') return { result: { call_id: call.id, state: 'ended', reason: call.reason } };
    const result = { call_id: call.id, state: call.state, expires_at: 1_000_000 + call.expiresAt, remaining_ms: 45_000 };
    return { result };
  }

  #snapshot(call) {
    return {
      call_id: call.id, role: call.role, state: call.state, from: { handle: 'bob', handle_type: 'generic' }, to: 'alice',
      video: false, created_at: 1, ...this.#deadline(call), ...(call.by ? { by: call.by } : {}),
      ...(call.reason ? { reason: call.reason, callkit_reason: 'remoteEnded' } : {}),
      ...(call.mergedInto ? { merged_into: call.mergedInto } : {}),
    };
  }

  #open({ resume }) {
    const { session } = this;
    const isResumed = session && resume?.session_id === session.id && resume.token === session.token
      && resume.last_seq >= session.acked && resume.last_seq <= session.lastSeq;
    const token = `r${this.count()}`;
    const calls = this.live.map((call) => this.#snapshot(call));
    if (isResumed) {
      session.token = token;
      this.#acked(resume.last_seq, 'resumed after');
      return { result: this.#opened(calls, true), after: [...session.unacked] };
    }
    this.session = { id: `s${this.count()}`, token, lastSeq: 0, acked: 0, unacked: [], app: 'foreground' };
    const after = this.live.filter((call) => call.role === 'callee' && isBeforeAnswer(call))
      .flatMap((call) => this.emit('call.incoming', this.#incoming(call)));
    return { result: this.#opened(calls, false), after };
  }

  #opened(calls, resumed) {
    const { id, token } = this.session;
    return { session_id: id, user: 'alice', resume: { token, window_ms: 30_000 }, resumed, calls, missed: [] };
  }
}
