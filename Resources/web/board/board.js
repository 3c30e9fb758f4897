// The board: signs in, keeps the connection, and draws at most once a frame.

import { Actions } from './actions.js';
import { CallBoard, filters } from './calls.js';
import { CallsView } from './calls-view.js';
import { LatenciesView, LatencyHistory } from './latencies.js';
import { Link } from './link.js';
import { DeviceDetail, DevicesView, SessionsView } from './lists.js';
import { byID, h, say } from './page.js';
import { ProblemList, problems, readiness } from './problems.js';
import { PushDetail, PushesView } from './pushes.js';
import { ServerView } from './server-view.js';
import { Story } from './story.js';
import { coarse, wall } from './text.js';

const tokenKey = 'reveille.board.token';
/** How long a message stays. */
const messageTime = 12_000;
const webhookInterval = 10_000;
/** What is shown is called old from here on. */
const oldAfter = 3000;

class Board {
  board = new CallBoard();
  latencies = new LatencyHistory();
  actions = new Actions(this);
  stats;
  info;
  webhooks;
  detail;
  #skew = 0;
  #heardAt;
  #goneSince;
  #webhooksAt = 0;
  #frame;
  #message = 0;
  #views;
  #view;
  #timer;
  #drawnSecond;

  constructor(token) {
    this.link = new Link(token);
    this.problemList = new ProblemList(byID('problems'), byID('news'));
    this.#views = new Map([['calls', new CallsView(this)], ['pushes', new PushesView(this)],
      ['latencies', new LatenciesView(this)], ['sessions', new SessionsView(this)], ['devices', new DevicesView(this)],
      ['server', new ServerView(this)]]);
    this.link.addEventListener('joined', ({ detail }) => this.#joined(detail.info));
    this.link.addEventListener('lost', () => this.#lost());
    this.link.addEventListener('refused', () => this.#refused());
  }

  start() {
    byID('drain').onclick = () => this.actions.drain();
    byID('sign-out').onclick = () => signOut('');
    byID('link-now').onclick = () => this.link.now();
    addEventListener('hashchange', this.#route);
    document.addEventListener('keydown', this.#pressed);
    this.#timer = setInterval(() => this.#tick(), 1000);
    this.link.start();
    this.#route();
  }

  stop() {
    this.link.stop();
    clearInterval(this.#timer);
    cancelAnimationFrame(this.#frame);
    removeEventListener('hashchange', this.#route);
    document.removeEventListener('keydown', this.#pressed);
  }

  /** The time of the server. While it is gone nothing gets older. */
  now() { return (this.#goneSince ?? Date.now()) + this.#skew; }

  // MARK: Connection

  async #joined(info) {
    const old = this.info;
    this.info = info;
    this.board.begin();
    if (this.#goneSince) {
      const seconds = Math.max(1, Math.round((Date.now() - this.#goneSince) / 1000));
      const isSame = info.started_at.ms === old?.started_at.ms;
      const words = `restarted at ${wall(info.started_at.ms)}, version ${info.version}`;
      this.tell(isSame ? `back after ${seconds} s: the same server` : `back after ${seconds} s (${words})`, 'good');
    }
    this.#goneSince = undefined;
    this.#heardAt = Date.now();
    try {
      await this.link.subscribe('call.subscribe', {}, (change) => this.#changedCalls(change));
      await this.link.subscribe('stats.subscribe', {}, ({ stats }) => this.#changedStats(stats));
    } catch (error) {
      if (error.code !== 'lost') this.tell(error.message, 'failure');
    }
    this.#readWebhooks();
    this.changed();
    this.wake();
  }

  #changedCalls(change) {
    this.#heardAt = Date.now();
    this.board.take(change, Date.now());
    this.wake();
  }

  #changedStats(stats) {
    this.#heardAt = Date.now();
    this.#skewFrom(stats.at.ms);
    this.stats = stats;
    this.info = { ...this.info, ...stats.server };
    this.latencies.take(stats);
    this.#views.get('server').take(stats);
    this.wake();
  }

  /** A difference below a second is the way of the frame. */
  #skewFrom(at) {
    if (Math.abs(at - Date.now() - this.#skew) > 1000) this.#skew = at - Date.now();
  }

  #lost() {
    this.#goneSince = Date.now();
    this.#drawnSecond = undefined;
    this.wake();
  }

  #refused() {
    signOut('This server does not know this token. Give the one in the file of admin.token_file, or of '
      + 'admin.read_token_file; the server reads the files again on SIGHUP.');
  }

  async #readWebhooks() {
    this.#webhooksAt = Date.now();
    try {
      this.webhooks = (await this.link.ask('webhook.list')).endpoints;
    } catch (error) {
      if (error.code === 'method_not_found') this.webhooks = [];
    }
    this.wake();
  }

  /** Reads what is shown again: after a change, or from another server. */
  changed() {
    this.detail?.joined?.();
    this.#view?.joined?.();
  }

  // MARK: Changes

  /** The token may only look. */
  get isReader() { return this.info?.may_change === false; }

  /** Why nothing can be changed now; undefined if it can. */
  get refusal() {
    if (!this.link.isUp) return 'the server is gone';
    return this.isReader ? 'this token is for reading; sign in with the one in admin.token_file' : undefined;
  }

  /** Disables a button with the reason. */
  guard(button, other) {
    const reason = this.refusal ?? other;
    if (button.disabled === Boolean(reason) && button.title === (reason ?? '')) return;
    button.disabled = Boolean(reason);
    button.title = reason ?? '';
  }

  /** A message for a while. */
  tell(text, weight = '') {
    const place = byID('told');
    place.className = weight;
    // The same text again is said again.
    place.replaceChildren(text);
    clearTimeout(this.#message);
    this.#message = setTimeout(() => place.replaceChildren(), messageTime);
  }

  // MARK: Views

  #route = () => {
    const [path, query] = location.hash.slice(1).split('?');
    const [name, ...rest] = path.split('/').map(decodeURIComponent);
    const view = this.#views.get(name) ?? (name === 'push' ? this.#views.get('pushes') : this.#views.get('calls'));
    const isOther = view !== this.#view;
    if (isOther) {
      this.#view?.hide();
      this.#view = view;
      byID('view').replaceChildren(view.element);
    }
    const isDetail = rest.length > 0 && rest[0] !== '';
    if (isOther || !isDetail) view.show(new URLSearchParams(query));
    const show = new URLSearchParams(query).get('show');
    if (name === 'calls' && filters.includes(show)) view.only(show);
    for (const link of document.querySelectorAll('nav a')) {
      const isCurrent = this.#views.get(link.hash.slice(1)) === view;
      if (isCurrent) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    this.#open(isDetail ? this.#makeDetail(name, rest) : undefined);
    this.wake();
  };

  #makeDetail(name, [first, second]) {
    if (name === 'calls') return new Story(this, first);
    if (name === 'push') return new PushDetail(this, first);
    return name === 'devices' && second ? new DeviceDetail(this, first, second) : undefined;
  }

  #open(detail) {
    const place = byID('detail');
    const had = this.detail !== undefined;
    this.detail = detail;
    place.hidden = !detail;
    document.body.classList.toggle('has-detail', detail !== undefined);
    if (!detail) {
      place.replaceChildren();
      if (had) (this.#view.table?.element ?? byID('view')).focus();
      return;
    }
    place.setAttribute('aria-label', detail.title);
    const close = h('button', { type: 'button', class: 'close', onclick: () => this.#close() }, 'Close');
    place.replaceChildren(h('div', { class: 'detail-head' }, h('h2', {}, detail.title), close), detail.element);
    place.scrollTop = 0;
    place.focus();
  }

  #close() {
    const names = [...this.#views].find(([, view]) => view === this.#view);
    location.hash = names[0];
  }

  #pressed = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || byID('ask').open) return;
    if (event.key === 'Escape' && this.detail) return void this.#close();
    if (event.target.closest('input, select, textarea')) return;
    // With the focus in the table, its row is meant.
    const isInTable = this.#view?.table?.element.contains(event.target);
    const isFree = event.target === document.body || event.target === byID('view');
    if (event.key === 'e' && this.detail instanceof Story && !isInTable) this.detail.endCall();
    else if (!this.#view?.pressed?.(event.key, isFree)) return;
    event.preventDefault();
  };

  // MARK: Drawing

  wake() {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  wakeAfter(milliseconds) { setTimeout(() => this.wake(), milliseconds); }

  #tick() {
    // Frames are not drawn while the page is hidden.
    this.board.forgetEnded(Date.now());
    this.#view?.tick?.();
    if (this.link.isUp && Date.now() - this.#webhooksAt > webhookInterval) this.#readWebhooks();
    this.wake();
  }

  #draw() {
    const [now, localNow] = [this.now(), Date.now()];
    this.#drawLink(localNow);
    this.#view?.draw(now, localNow);
    this.detail?.draw(now);
    if (Math.floor(localNow / 1000) !== this.#drawnSecond || !this.stats) {
      this.#drawnSecond = Math.floor(localNow / 1000);
      const { stats, board } = this;
      const isOld = this.#isOld(localNow);
      this.problemList.draw(problems({ stats, board, now, isOld }), readiness(stats, isOld));
    }
  }

  /** Of what is shown. */
  #age(localNow) { return this.#heardAt ? localNow - this.#heardAt : 0; }
  #isOld(localNow) { return !this.link.isUp || this.#age(localNow) > oldAfter; }

  #drawLink(localNow) {
    const { info } = this;
    say(byID('server'), info ? `${info.node} · ${info.address} · ${info.version}` : '');
    this.guard(byID('drain'), info ? undefined : 'the server is gone');
    say(byID('access'), this.isReader ? 'may only look' : '');
    const age = this.#age(localNow);
    const isOld = this.#isOld(localNow);
    let words = 'live';
    if (!info) words = 'waiting for the server…';
    else if (!this.link.isUp) {
      words = `server gone since ${wall(this.#goneSince)}; reconnecting… What is shown is ${coarse(age)} old`;
    } else if (isOld) words = `What is shown is ${coarse(age)} old`;
    say(byID('link-text'), words);
    byID('link').className = isOld ? 'failure' : 'good';
    byID('link-now').hidden = this.link.isUp || !info;
    document.body.classList.toggle('stale', isOld && info !== undefined);
    const title = info ? `${info.node} – Reveille board` : 'Reveille board';
    if (document.title !== title) document.title = title;
  }
}

// MARK: Signing in

let board;

function signIn(token) {
  if (!globalThis.WebSocket) {
    return void signOut('This browser has no WebSocket. Use a current Chrome, Firefox, Safari or Edge.');
  }
  sessionStorage.setItem(tokenKey, token);
  byID('sign-in').hidden = true;
  byID('board').hidden = false;
  board = new Board(token);
  board.start();
}

function signOut(words) {
  sessionStorage.removeItem(tokenKey);
  board?.stop();
  board = undefined;
  for (const id of ['view', 'detail', 'problems', 'news', 'told']) byID(id).replaceChildren();
  byID('ask').close();
  byID('board').hidden = true;
  byID('sign-in').hidden = false;
  document.body.classList.remove('has-detail', 'stale');
  say(byID('sign-in-problem'), words);
  byID('token').value = '';
  byID('token').focus();
}

byID('sign-in').addEventListener('submit', (event) => {
  event.preventDefault();
  say(byID('sign-in-problem'), '');
  signIn(byID('token').value.trim());
});

/** A link may carry the token in its fragment, which browsers do not send. It leaves the address at once. */
function takeToken() {
  // A + is part of the token, not a space.
  const words = new URLSearchParams(location.hash.slice(1).replace(/\+/g, '%2B'));
  const given = words.get('token')?.trim();
  if (given) history.replaceState(null, '', location.pathname);
  return given;
}

/** A link takes nobody's place by itself: whoever made it may only want the board to end. */
function mayReplace(token) {
  const present = sessionStorage.getItem(tokenKey);
  return !present || present === token || confirm('The link signs this board in with another token. Use it?');
}

// Heard before the board hears it: the board finds no token in the address.
addEventListener('hashchange', () => {
  const given = takeToken();
  if (!given || !mayReplace(given)) return;
  if (board) signOut('');
  signIn(given);
});
const given = takeToken();
const token = given && mayReplace(given) ? given : sessionStorage.getItem(tokenKey);
if (token) signIn(token);
else signOut('');
