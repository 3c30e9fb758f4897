/**
 * A session with Reveille for a browser, without dependencies. It acknowledges events, and reconnects and resumes by
 * itself.
 *
 *     const session = new ReveilleSession('wss://calls.example.com', {
 *       token: () => fetch('/call-token').then((answer) => answer.text()),
 *       deviceId: localStorage.deviceId ??= crypto.randomUUID(),
 *       onEvent: (method, params) => { … },
 *     });
 *     session.connect();
 *     await session.request('call.invite', { call_id: crypto.randomUUID(), to: 'bob', sdp: offer.sdp });
 *
 * How it was checked: Tests/Clients runs it in Node.js with the WebSocket of the package ws and a scripted server. A whole
 * call between two sessions was run by hand against Reveille. It has not been run in a browser.
 */

const SUBPROTOCOL = 'reveille.v1';
/** Below 3500 these are the only close codes after which a client does not reconnect. */
const FINAL_CODES = new Set([1000, 1002, 1003, 1007]);
/** Refusals of session.open that pass. */
const PASSING = new Set(['overloaded', 'draining', 'rate_limited', 'internal_error']);
const LONGEST_DELAY = 15_000;

/** A refused request. `code` is `data.code` of the protocol. */
export class ReveilleError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.name = 'ReveilleError';
    this.code = data?.code ?? String(code);
    this.data = data ?? {};
  }
}

export class ReveilleSession {
  #socket;
  #resume; // { session_id, token } of the last session.
  #lastSeq = 0;
  #nextId = 1;
  #pending = new Map(); // By request id.
  #delay = 250;
  #timer;
  #isClosed = false;
  /** For RTCPeerConnection: the TURN servers of the last session.open. */
  iceServers = [];

  /**
   * `token()` returns the user's JWT, or a promise of it. `onEvent(method, params)` gets each event once, in order.
   * `onOpen(result)` gets the result of session.open: after `resumed: false` its `calls` are the live calls.
   * `onDown(isFinal, reason)`: the connection is lost; if that is final, the session does not come back by itself.
   */
  constructor(url, { token, deviceId, platform = 'web', onEvent, onOpen = () => {}, onDown = () => {} }) {
    Object.assign(this, { token, onEvent, onOpen, onDown });
    this.url = `${url}/v1/signal`;
    this.device = { id: deviceId, platform };
  }

  connect() {
    const socket = new WebSocket(this.url, SUBPROTOCOL);
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#receive(socket, JSON.parse(data));
    socket.onclose = ({ code, reason }) => this.#down(socket, code >= 3500 || FINAL_CODES.has(code), reason || code);
  }

  /** Rejects with a ReveilleError if the server refuses, and with an Error if the connection is lost meanwhile. */
  request(method, params = {}) {
    if (this.#socket?.readyState !== WebSocket.OPEN) return Promise.reject(new Error('not connected'));
    const id = this.#nextId++;
    this.#send({ id, method, params });
    return new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
  }

  /** For `call.candidates`, which has no answer. */
  notify(method, params) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#send({ method, params });
  }

  /** Goes offline. The server rings the user's other devices. */
  close() {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#socket?.close(1000);
  }

  #send(message) {
    this.#socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }));
  }

  #receive(socket, { id, method, params = {}, result, error }) {
    if (socket !== this.#socket) return;
    if (method === 'welcome') return void this.#open(socket);
    if (method) {
      if (params.seq) {
        this.#lastSeq = params.seq;
        this.notify('session.ack', { seq: params.seq });
      }
      return this.onEvent(method, params);
    }
    const request = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) request?.reject(new ReveilleError(error));
    else request?.resolve(result);
  }

  async #open(socket) {
    try {
      const params = { token: await this.token(), device: this.device };
      if (this.#resume) params.resume = { ...this.#resume, last_seq: this.#lastSeq };
      const result = await this.request('session.open', params);
      if (!result.resumed) this.#lastSeq = 0;
      this.#resume = { session_id: result.session_id, token: result.resume.token };
      this.iceServers = result.ice_servers ?? [];
      this.#delay = 250;
      this.onOpen(result);
    } catch (error) {
      this.#down(socket, error instanceof ReveilleError && !PASSING.has(error.code), error.message);
    }
  }

  #down(socket, isFinal, reason) {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    socket.close();
    for (const { reject } of this.#pending.values()) reject(new Error('the connection is lost'));
    this.#pending.clear();
    this.onDown(isFinal || this.#isClosed, String(reason));
    if (isFinal || this.#isClosed) return;
    this.#timer = setTimeout(() => this.connect(), this.#delay * (0.5 + Math.random() / 2));
    this.#delay = Math.min(this.#delay * 2, LONGEST_DELAY);
  }
}
