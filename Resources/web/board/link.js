// The connection to the admin API: JSON-RPC over a WebSocket that is opened again whenever it is lost.

const subprotocol = 'reveille.admin.v1';
/** The figures come every second, so a connection without frames is dead. */
const silence = 15_000;
const patience = 15_000;
const longestPause = 5000;

/** An error of the admin API, or `lost`, `timed_out`. */
export class AdminError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

function base64url(text) {
  const bytes = String.fromCharCode(...new TextEncoder().encode(text));
  return btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * Events: `joined` {info}, `lost`, `refused` {text} (a retry is useless), `heard` (a frame came).
 */
export class Link extends EventTarget {
  #token;
  #url;
  #socket;
  #pending = new Map();
  #listeners = new Map();
  #nextID = 1;
  #failures = 0;
  #timer;
  #watch;
  #isOver = false;
  isUp = false;
  /** The time of the last frame. */
  heardAt = 0;

  constructor(token) {
    super();
    this.#token = token;
    this.#url = new URL('../v1/admin', location.href);
    this.#url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    this.#url.hash = '';
  }

  start() {
    addEventListener('online', this.now);
    document.addEventListener('visibilitychange', this.#seen);
    this.#watch = setInterval(() => this.#listen(), 1000);
    this.#open();
  }

  stop() {
    this.#isOver = true;
    removeEventListener('online', this.now);
    document.removeEventListener('visibilitychange', this.#seen);
    clearInterval(this.#watch);
    clearTimeout(this.#timer);
    this.#socket?.close();
  }

  /** Tries at once. */
  now = () => {
    if (this.#isOver || this.#socket) return;
    clearTimeout(this.#timer);
    this.#open();
  };

  #seen = () => { if (!document.hidden) this.now(); };

  #listen() {
    // The timers of a hidden page are late, and its frames are too.
    if (!this.#socket || document.hidden || Date.now() - this.heardAt < silence) return;
    this.#lost(this.#socket);
  }

  #open() {
    this.heardAt = Date.now();
    const socket = new WebSocket(this.#url, [subprotocol, `bearer.${base64url(this.#token)}`]);
    this.#socket = socket;
    socket.onopen = () => this.#opened(socket);
    socket.onmessage = ({ data }) => this.#received(data);
    socket.onclose = () => this.#lost(socket);
  }

  async #opened(socket) {
    try {
      const info = await this.ask('server.info');
      if (socket !== this.#socket) return;
      this.#failures = 0;
      this.isUp = true;
      this.dispatchEvent(new CustomEvent('joined', { detail: { info } }));
    } catch {
      this.#lost(socket);
    }
  }

  #lost(socket) {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    socket.onmessage = undefined;
    socket.close();
    const [wasUp, pending] = [this.isUp, [...this.#pending.values()]];
    this.isUp = false;
    this.#pending.clear();
    this.#listeners.clear();
    for (const { reject } of pending) {
      reject(new AdminError('lost', 'the server went away before it answered; look whether the change was made'));
    }
    if (this.#isOver) return;
    if (wasUp) this.dispatchEvent(new Event('lost'));
    this.#again();
  }

  async #again() {
    this.#failures += 1;
    // Full jitter: many boards do not come back at once.
    const pause = Math.random() * Math.min(longestPause, 250 * 2 ** this.#failures);
    this.#timer = setTimeout(this.now, Math.max(100, pause));
    if (await this.#isTokenRefused()) {
      if (this.#isOver || this.isUp) return;
      this.stop();
      this.dispatchEvent(new Event('refused'));
    }
  }

  /** A browser does not tell a page why a handshake failed, so plain HTTP is asked. */
  async #isTokenRefused() {
    try {
      const response = await fetch(new URL('../healthz', location.href), {
        headers: { authorization: `Bearer ${this.#token}` }, cache: 'no-store',
      });
      return response.status === 401;
    } catch {
      return false;
    }
  }

  #received(text) {
    this.heardAt = Date.now();
    const message = JSON.parse(text);
    if (message.id === undefined) return void this.#listeners.get(message.params?.subscription)?.(message.params);
    const waiter = this.#pending.get(message.id);
    if (!waiter) return;
    this.#pending.delete(message.id);
    if (message.error) waiter.reject(new AdminError(message.error.data?.code ?? '', message.error.message));
    else waiter.resolve(message.result);
  }

  /** The result of a request. Fails with an ``AdminError``. */
  ask(method, params = {}) {
    return new Promise((resolve, reject) => {
      const socket = this.#socket;
      if (socket?.readyState !== WebSocket.OPEN) return void reject(new AdminError('lost', 'the server is gone'));
      const id = this.#nextID++;
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new AdminError('timed_out', 'the server does not answer; look at its log and at GET /readyz'));
      }, patience);
      this.#pending.set(id, {
        resolve: (result) => { clearTimeout(timer); resolve(result); },
        reject: (error) => { clearTimeout(timer); reject(error); },
      });
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    });
  }

  /** Calls the listener with each notification until the connection is lost. */
  async subscribe(method, params, listener) {
    const { subscription } = await this.ask(method, params);
    this.#listeners.set(subscription, listener);
  }
}
