// The phone: signs in, keeps the session, and leads calls between the library and the screen.

import { Session } from '../reveille.js';
import { Devices } from './devices.js';
import { $, copy, isTyping, setText, show, uuid } from './dom.js';
import { History } from './history.js';
import { Ladder } from './ladder.js';
import { Line } from './line.js';
import { Push } from './push.js';
import { Sounds } from './sounds.js';
import { Stage } from './stage.js';
import { SignIn, SignInFault, byNameFragment, claims, keepSecret } from './tokens.js';
import { brief, full, length, problem, target, targetName } from './words.js';

/** What a browser must have. */
const NEEDED = ['RTCPeerConnection', 'WebSocket', 'MediaStream', 'BroadcastChannel'];

class Phone {
  session;
  signIn;
  lines = new Map();
  currentID;
  last;
  /** A call that a link asks for: `{ to }`. */
  ask;
  /** Who a link would sign in, until the user has said whether: `{ accept, refuse }`. */
  #offer;
  missedCount = 0;
  devices = new Devices();
  sounds = new Sounds();
  #notices = new Map();
  #down;
  #isRendering = false;
  #notifications = new Map();
  #hasRenewed = false;
  /** The token of the push that opened the page, until the session has been open. */
  #wake;
  /** The call that a notification was clicked for, until it is here: `{ id, isAnswer }`. */
  #woken;

  constructor() {
    this.history = new History(this);
    this.push = new Push(this);
    this.stage = new Stage(this);
    this.#listenToSignIn();
    this.#listenToPhone();
    this.#listenToKeys();
    this.devices.addEventListener('chosen', ({ detail: { what, id } }) => {
      for (const line of this.lines.values()) line.use(what, id);
    });
    setInterval(() => this.#tick(), 1000);
  }

  get user() { return this.session?.user ?? this.signIn?.user ?? ''; }
  get isOpen() { return this.session?.state === 'open'; }
  get current() { return this.lines.get(this.currentID); }
  get incoming() {
    return [...this.lines.values()].filter((line) => line.phase === 'incoming' && line !== this.current);
  }
  get others() {
    return [...this.lines.values()].filter((line) => line.phase !== 'incoming' && line !== this.current);
  }
  get isBusy() { return Boolean(this.current); }

  // Sign-in

  async start() {
    const missing = NEEDED.filter((name) => !(name in globalThis));
    if (missing.length > 0) {
      $('boot').classList.add('now');
      setText($('boot'), `This browser cannot make calls: it has no ${missing.join(', ')}. `
        + 'Use a current Chrome, Firefox, Safari or Edge; some private modes switch these off.');
      return;
    }
    show($('boot'), false);
    Ladder.tidy();
    if (!globalThis.isSecureContext) {
      this.notice('insecure', {
        what: 'This page came over plain http from another machine, so the browser gives it no microphone.',
        todo: `Open https://${location.host}${location.pathname}, or on the server’s machine `
          + `http://localhost:${location.port || 80}/phone/.`,
      });
    }
    globalThis.addEventListener('hashchange', () => this.#fragmentChanged());
    const given = this.#takeFragment();
    const click = await this.#takeClick(given.clicked);
    this.#wake = click?.wake;
    const begin = () => {
      const restored = SignIn.restored() ?? SignIn.woken(click?.wake);
      if (restored) this.use(restored);
      else this.showSignIn();
    };
    if (given.token || given.user) this.#askToSignIn(given, begin);
    else begin();
  }

  /**
   * What a link says: `#token=`, `#user=`, `#secret=`, `#call=`, `#group=`; of a notification `#clicked=`, its call.
   * Tokens and secrets leave the address at once.
   */
  #takeFragment() {
    const words = new URLSearchParams(location.hash.slice(1));
    const [token, user, secret, call, group] = ['token', 'user', 'secret', 'call', 'group']
      .map((name) => words.get(name)?.trim());
    if (secret) keepSecret(secret);
    if (location.hash) history.replaceState(null, '', location.pathname + location.search);
    const { to, fault } = call ? target(call) : { to: group ? { group } : undefined };
    if (fault) this.notice('link', { what: 'The link’s call cannot be read.', todo: fault });
    if (to) this.ask = { to };
    return { token, user, secret, clicked: words.get('clicked') };
  }

  /** The worker knows whether the notification was clicked: a link that somebody sends answers no call. */
  async #takeClick(id) {
    const click = id ? await Push.clicked(id) : undefined;
    if (click) this.openCall(id, click.isAnswer);
    return click;
  }

  #fragmentChanged() {
    const { token, user, secret, clicked } = this.#takeFragment();
    this.#takeClick(clicked);
    if (token || user) this.#askToSignIn({ token, user }, () => (this.session ? this.changed() : this.showSignIn()));
    else if (secret && !this.session && !this.#offer) this.showSignIn();
    else this.changed();
  }

  /**
   * Whoever made a link may want this page to be somebody else's, or to end its calls: so a link signs nobody in by
   * itself. `refuse` goes on without it.
   */
  #askToSignIn({ token, user }, goOn) {
    const present = this.user || SignIn.savedUser;
    // A second link takes the place of one that is not answered.
    const refuse = this.#offer?.refuse ?? goOn;
    this.#offer = undefined;
    show($('link'), false);
    let name = user;
    try {
      if (token) name = claims(token)?.sub ?? 'you';
    } catch (fault) {
      if (!present) return this.showSignIn(fault);
      this.notice('link', { what: 'The link’s token cannot be read.', todo: 'Get the link again, where you got it.' });
      return refuse();
    }
    if (!token && name === present) return refuse();
    this.#offer = { accept: () => (token ? SignIn.byToken(token) : SignIn.byName(user)), refuse };
    setText($('link-title'), `Sign in as ${name}?`);
    setText($('link-text'), `The link that you opened asks for it. ${present
      ? `${present} is signed out then, and calls end.` : 'Calls are made and taken in this name then.'}`);
    show($('sign-in'), false);
    show($('link'), true);
    $('link-title').focus();
  }

  #answerLink(isAccepted) {
    const { accept, refuse } = this.#offer;
    this.#offer = undefined;
    show($('link'), false);
    if (isAccepted) this.#signIn(accept);
    else refuse();
  }

  /** Signs in, or shows the form with the fault. */
  async #signIn(make) {
    for (const button of document.querySelectorAll('#sign-in button')) button.disabled = true;
    try {
      const made = await make();
      if (made) return void this.use(made);
      this.showSignIn();
    } catch (error) {
      if (!(error instanceof SignInFault)) throw error;
      this.showSignIn(error);
    } finally {
      for (const button of document.querySelectorAll('#sign-in button')) button.disabled = false;
    }
  }

  showSignIn(fault = undefined) {
    for (const id of ['phone', 'elsewhere', 'top']) show($(id), false);
    show($('sign-in'), true);
    show($('sign-in-fault'), Boolean(fault));
    setText($('sign-in-fault'), fault?.message ?? '');
    if (this.ask) setText($('sign-in-lead'), `Sign in to call ${brief(targetName(this.ask.to))}.`);
    const isHere = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);
    const needsToken = fault?.needsToken || !isHere;
    setText($('name-hint'), byNameFragment('')
      ? 'Any name will do on the server’s own machine. Somewhere else you need a token.'
      : 'For any name, start the server with --sign-in-by-name, and open the address that it logs. It has a secret.');
    $('with-token').open = needsToken;
    show($('by-name'), isHere && !fault?.needsToken);
    (needsToken ? $('token') : $('name')).focus();
  }

  #listenToSignIn() {
    $('link-yes').addEventListener('click', () => {
      this.sounds.unlock();
      this.#answerLink(true);
    });
    $('link-no').addEventListener('click', () => this.#answerLink(false));
    $('by-name').addEventListener('submit', (event) => {
      event.preventDefault();
      this.sounds.unlock();
      this.#signIn(() => SignIn.byName($('name').value.trim()));
    });
    $('by-token').addEventListener('submit', (event) => {
      event.preventDefault();
      this.sounds.unlock();
      this.#signIn(() => SignIn.byToken($('token').value));
    });
    $('sign-out').addEventListener('click', async () => {
      const { session } = this;
      await this.push.leave();
      if (session === this.session) this.signOut();
    });
    $('take-over').addEventListener('click', () => this.session.takeOver());
    $('retry').addEventListener('click', () => this.session.start());
  }

  async signOut(fault = undefined) {
    const { session } = this;
    this.session = undefined;
    this.push.use(undefined);
    for (const line of this.lines.values()) {
      line.ladder.forget();
      line.hangUp();
    }
    this.lines.clear();
    this.last = this.currentID = this.#woken = this.#wake = undefined;
    this.history.clear();
    if (this.signIn) Ladder.tidy(this.signIn.user);
    this.signIn?.forget();
    this.signIn = undefined;
    this.sounds.loop(undefined);
    for (const key of [...this.#notices.keys()]) if (key !== 'insecure') this.#drop(key);
    document.title = 'Phone – Reveille';
    $('token').value = '';
    this.showSignIn(fault);
    await session?.close();
  }

  use(signIn) {
    if (this.session) this.signOut();
    this.signIn = signIn;
    // The user before may have had this tab.
    signIn.save();
    this.#hasRenewed = false;
    this.sounds.unlock();
    const session = new Session({
      url: new URL('..', location.href).href.replace(/^http/, 'ws'), deviceId: signIn.deviceId, app: 'Reveille phone',
      token: ({ signal }) => signIn.current(signal),
    });
    this.session = session;
    this.#listenToSession(session);
    this.push.use(signIn.isWoken ? undefined : session);
    show($('sign-in'), false);
    show($('top'), true);
    session.start();
    this.changed();
    if (this.ask) setTimeout(() => $('ask-call').focus());
    else $('number').focus();
  }

  // The session

  #listenToSession(session) {
    const on = (type, act) => session.addEventListener(type, ({ detail }) => {
      if (session !== this.session) return;
      act(detail);
      this.changed();
    });
    on('incoming', ({ call }) => this.#incoming(call));
    on('outgoing', ({ call }) => this.#outgoing(call));
    on('restored', ({ call }) => this.#restored(call));
    on('connection', (change) => this.#connection(change));
    on('tabs', () => this.#takeOver());
    on('draining', ({ deadline }) => this.notice('draining', {
      what: `The server stops within ${length(deadline)} and takes no new calls. Calls go on.`,
      todo: 'The phone comes back by itself.',
    }));
  }

  #incoming(call) {
    $('devices').close();
    const line = new Line(this, { id: call.id, role: 'callee' });
    line.adopt(call);
    this.lines.set(line.id, line);
    line.prepare();
    this.#notify(line);
    this.render();
    $('incoming').scrollIntoView({ block: 'nearest' });
    if (this.#woken?.id === call.id) this.openCall(call.id, this.#woken.isAnswer);
  }

  /** A notification of the service worker was clicked. The call may not be here yet. */
  openCall(id, isAnswer) {
    const line = this.lines.get(id);
    this.#woken = line || !id ? undefined : { id, isAnswer };
    if (line && isAnswer && line.phase === 'incoming') this.answer(line, false);
    else if (line) $('incoming').scrollIntoView({ block: 'nearest' });
    else if (this.isOpen) this.#checkWoken([]);
    else this.#takeOver();
  }

  /** The user clicked on a notification, and its call shall be in the page that the click opened. */
  #takeOver() {
    if (this.#woken && this.session?.state === 'elsewhere') this.session.takeOver();
  }

  /** The call of a notification that was clicked too late. */
  #checkWoken(calls) {
    const { id } = this.#woken ?? {};
    if (!id || calls.some((call) => call.call_id === id && call.state !== 'ended')) return;
    this.#woken = undefined;
    this.notice('woken', { what: 'The call of the notification is over.', todo: '' }, 20_000);
  }

  /** The library has the call that a line places. */
  #outgoing(call) {
    const line = this.lines.get(call.id);
    line?.adopt(call);
    if (!line || line.isEnding) call.hangup();
  }

  /** A call of before a reload, or of another tab. */
  #restored(call) {
    const line = new Line(this, { id: call.id, role: call.role, to: call.role === 'caller' ? call.to : undefined });
    line.adopt(call);
    this.lines.set(line.id, line);
    if (this.#woken?.id === call.id) this.#woken = undefined;
    if (line.phase === 'incoming') return void line.prepare();
    line.resume();
    if (!this.current || this.current.isOnHold) this.currentID = line.id;
  }

  #connection(change) {
    const { state } = change;
    this.#down = state === 'down' ? { ...change, at: Date.now() } : undefined;
    for (const line of this.lines.values()) line.connection(this.isOpen);
    if (state === 'up' || state === 'resumed') {
      this.#hasRenewed = false;
      this.#wake = undefined;
      this.#drop('draining');
      this.history.opened(change.result);
      this.#checkWoken(change.result.calls);
    }
    if (state === 'gone') this.#gone(change);
  }

  async #gone({ code, reason, error }) {
    const isRefused = code === 3500 || error.data.cause === 'unauthenticated';
    if (isRefused && this.signIn.isWoken) {
      const fault = new SignInFault('The notification signed you in for one call only. Sign in again.', true);
      return void this.signOut(fault);
    }
    if (isRefused && this.signIn.isByName && !this.#hasRenewed) {
      this.#hasRenewed = true;
      const { session, signIn } = this;
      try {
        await signIn.renew();
        if (session === this.session) session.start();
        return;
      } catch (fault) {
        return void this.signOut(fault);
      }
    }
    const woken = isRefused && SignIn.woken(this.#wake);
    if (woken) {
      const click = this.#woken;
      this.use(woken);
      this.#woken = click;
      return;
    }
    if (isRefused || code === 3506) {
      const { session } = this;
      if (code === 3506) await this.push.leave();
      if (session !== this.session) return;
      const why = code === 3506 ? 'This phone was signed out by the server, or by an administrator.'
        : full(`The server refused the token: ${reason.replace(/^session\.open refused \(\w+\): /, '')}`);
      return void this.signOut(new SignInFault(`${why} Get a new token, then sign in again.`, !this.signIn.isByName));
    }
    const wasReplaced = code === 3503;
    this.notice('gone', {
      what: wasReplaced ? 'This phone was opened somewhere else as the same device.'
        : full(`The server ended the session: ${reason}`),
      todo: wasReplaced ? 'Use it there, or take it back.' : 'Remove the cause, then connect again.',
      act: wasReplaced ? 'Use it here' : 'Connect again',
      do: () => this.session.takeOver(),
    });
  }

  // Calls

  dial(to, isVideo = false) {
    this.sounds.unlock();
    this.ask = undefined;
    for (const line of this.lines.values()) line.hold(true);
    const line = new Line(this, { id: uuid(), role: 'caller', to, isVideo });
    this.lines.set(line.id, line);
    this.currentID = line.id;
    this.last = undefined;
    this.render();
    $('call').scrollIntoView({ block: 'nearest' });
    if (!document.activeElement?.closest('.side')) $('peer').focus();
    line.dial();
  }

  answer(line, withVideo) {
    this.sounds.unlock();
    for (const other of this.lines.values()) if (other !== line) other.hold(true);
    this.currentID = line.id;
    this.last = undefined;
    line.answer(withVideo);
    this.#unnotify(line);
    this.render();
    $('peer').focus();
  }

  /** Talks on this line; the others are on hold. */
  switchTo(line) {
    for (const other of this.lines.values()) if (other !== line) other.hold(true);
    this.currentID = line.id;
    line.hold(false);
    this.render();
    $('peer').focus();
  }

  tone(key) {
    if (!this.current?.isTalking) return;
    this.sounds.key(key);
    this.current.sendTone(key);
  }

  /** It rings again: the browser gave no microphone. */
  notAnswered(line) {
    if (this.currentID === line.id) this.currentID = this.others[0]?.id;
    this.changed();
  }

  /** A line is over. */
  ended(line) {
    if (!this.lines.delete(line.id)) return;
    const hadFocus = $('call').contains(document.activeElement);
    this.#unnotify(line);
    this.history.add(line);
    setTimeout(() => this.history.load(), 1500);
    const wasAnswered = line.ladder.at('answered') !== undefined;
    const isShown = this.currentID === line.id;
    if (isShown) {
      this.currentID = this.others[0]?.id;
      if (line.call || line.fault) this.last = line;
      const isRefused = line.role === 'caller' && !wasAnswered && !line.isEnding;
      this.sounds.once(isRefused ? 'busy' : 'over');
    }
    if (!isShown || this.current) this.notice(`ended ${line.id}`, { what: line.endText, todo: '' }, 8_000);
    this.render();
    if (hadFocus && !this.current) $('number').focus();
    else if (hadFocus) $('peer').focus();
  }

  /** The call is in another tab now. */
  forget(line) {
    this.lines.delete(line.id);
    this.#unnotify(line);
    line.audio.remove();
    if (this.currentID === line.id) this.currentID = undefined;
    this.changed();
  }

  closeLast() {
    this.last = undefined;
    this.render();
    $('number').focus();
  }

  blocked(line) {
    this.notice('blocked', {
      what: 'The browser plays no sound before you have used the page.', todo: '', act: 'Play the call',
      do: () => line.playSound(),
    });
  }

  playing() { this.#drop('blocked'); }

  // Screen

  /** Draws soon: several changes at once are drawn once. Hidden pages have no animation frames, so not by them. */
  changed() {
    if (this.#isRendering) return;
    this.#isRendering = true;
    queueMicrotask(() => {
      this.#isRendering = false;
      this.render();
    });
  }

  render() {
    const { session } = this;
    if (!session) return;
    const isElsewhere = session.state === 'elsewhere';
    if (isElsewhere && $('elsewhere').hidden) setTimeout(() => $('elsewhere-title').focus());
    show($('elsewhere'), isElsewhere);
    show($('phone'), !isElsewhere);
    setText($('user'), this.user);
    this.#renderStatus();
    if (isElsewhere) this.#renderElsewhere();
    this.#renderAsk();
    this.#renderHelp();
    this.push.render();
    this.stage.render();
    this.#renderSound();
    this.#renderTitle();
  }

  #renderStatus() {
    const { state } = this.session;
    $('dot').dataset.state = state;
    show($('retry'), Boolean(this.#down) && state !== 'open');
    setText($('status'), this.#statusText(state));
    const wait = this.#down && Math.ceil((this.#down.at + this.#down.retryIn - Date.now()) / 1000);
    setText($('wait'), !this.#down ? '' : wait > 0 ? `; trying again in ${wait} s` : '; trying again…');
  }

  #statusText(state) {
    switch (state) {
      case 'open': return this.signIn.isWoken ? 'signed in for this call only' : 'online: you can be called';
      case 'elsewhere': return 'open in another tab';
      case 'gone': return 'not connected';
      case 'offline': return 'offline';
      default: {
        if (!this.#down) return 'connecting…';
        const { reason } = this.#down;
        const why = navigator.onLine === false ? 'this computer has no network'
          : reason.startsWith('no token: ') ? reason.slice(10).replace(/\.$/, '')
            : this.#down.code === 3000 ? 'the server restarts' : 'the server does not answer';
        return `no connection: ${why}`;
      }
    }
  }

  #renderElsewhere() {
    const calls = this.session.callsElsewhere;
    const text = calls.map(({ peer, state, role }) => {
      if (state === 'answered' || state === 'connected') return `It is talking to ${brief(peer)}.`;
      return role === 'callee' ? `${brief(peer)} is calling.` : `It is calling ${brief(peer)}.`;
    }).join(' ');
    setText($('elsewhere-text'), text || `That tab rings when somebody calls ${this.user}.`);
  }

  #renderAsk() {
    show($('ask'), Boolean(this.ask) && !this.current);
    if (this.ask) setText($('ask-title'), `Call ${targetName(this.ask.to)}?`);
  }

  #renderHelp() {
    show($('allow-sound'), this.sounds.isLocked);
    show($('allow-notifications'), globalThis.Notification?.permission === 'default');
    $('phone').classList.toggle('woken', this.signIn.isWoken);
    const friend = this.user === 'bob' ? 'alice' : 'bob';
    const fragment = this.signIn?.isByName && byNameFragment(friend);
    show($('try-line'), Boolean(fragment));
    if (!fragment) return;
    setText($('try-link'), `as ${friend}`);
    const href = location.pathname + fragment;
    if ($('try-link').getAttribute('href') !== href) $('try-link').href = href;
  }

  #renderSound() {
    const rings = this.#firstIncoming() !== undefined;
    const hearsRing = this.current?.role === 'caller' && this.current.phase === 'ringing' && !this.current.isEnding;
    this.sounds.loop(rings ? (this.isBusy ? 'waiting' : 'ring') : hearsRing ? 'ringback' : undefined);
  }

  #renderTitle() {
    const ringing = this.incoming[0];
    const missed = this.missedCount ? `(${this.missedCount}) ` : '';
    document.title = ringing ? `☎ ${brief(ringing.peer)} calls – Reveille`
      : this.current ? `${brief(this.current.peer)} – Reveille phone` : `${missed}${this.user} – Reveille phone`;
  }

  #tick() {
    if (!this.session) return;
    this.#renderStatus();
    const line = this.current;
    if (!line) return;
    this.stage.tick(line);
    setText($('state'), line.stateText);
  }

  // Messages

  /** `given`: `{ what, todo, act?, do? }`. A message of the same key is replaced. */
  notice(key, given, closesAfter = undefined) {
    this.#drop(key);
    const card = copy('notice-card');
    setText(card.querySelector('p'), `${given.what} ${given.todo}`.trim());
    const act = card.querySelector('.act');
    show(act, Boolean(given.act));
    setText(act, given.act ?? '');
    act.addEventListener('click', () => {
      this.#drop(key);
      given.do();
    });
    card.querySelector('.close').addEventListener('click', () => this.#drop(key));
    this.#notices.set(key, card);
    $('notices').append(card);
    if (closesAfter) setTimeout(() => this.#notices.get(key) === card && this.#drop(key), closesAfter);
  }

  #drop(key) {
    this.#notices.get(key)?.remove();
    this.#notices.delete(key);
  }

  fail(error) { this.notice(`failed ${error?.code}`, problem(error)); }

  #notify(line) {
    if (!document.hidden || globalThis.Notification?.permission !== 'granted') return;
    try {
      const shown = new Notification(`${brief(line.peer)} calls`, {
        body: 'Open the phone to answer.', tag: line.id, icon: 'icon.svg', requireInteraction: true,
      });
      shown.onclick = () => {
        globalThis.focus();
        shown.close();
      };
      this.#notifications.set(line.id, shown);
    } catch { /* Chrome on Android shows notifications from service workers only. */ }
  }

  #unnotify(line) {
    if (line.role === 'callee') Push.close(line.id);
    this.#notifications.get(line.id)?.close();
    this.#notifications.delete(line.id);
  }

  // What the user does

  #listenToPhone() {
    const dial = (isVideo) => {
      const { to, fault } = target($('number').value);
      show($('dial-fault'), Boolean(fault));
      setText($('dial-fault'), fault ?? '');
      if (fault) return $('number').focus();
      $('number').value = '';
      return this.dial(to, isVideo);
    };
    $('dial').addEventListener('submit', (event) => {
      event.preventDefault();
      dial(false);
    });
    $('dial-video').addEventListener('click', () => dial(true));
    for (const [id, isVideo] of [['ask-call', false], ['ask-video', true]]) {
      $(id).addEventListener('click', () => this.dial(this.ask.to, isVideo));
    }
    $('ask-no').addEventListener('click', () => {
      this.ask = undefined;
      this.render();
      $('number').focus();
    });
    this.sounds.addEventListener('change', () => this.changed());
    $('allow-notifications').addEventListener('click', async () => {
      await Notification.requestPermission();
      this.render();
    });
    this.#listenToDevices();
  }

  #listenToDevices() {
    $('open-devices').addEventListener('click', () => {
      $('devices').showModal();
      this.devices.refresh();
    });
    $('close-devices').addEventListener('click', () => $('devices').close());
    $('allow').addEventListener('click', () => this.devices.allow());
    $('test-sound').addEventListener('click', () => this.sounds.once('test'));
    for (const [id, what] of [['microphone', 'microphone'], ['speaker', 'speaker'], ['camera-list', 'camera']]) {
      $(id).addEventListener('change', () => this.devices.choose(what, $(id).value));
    }
  }

  /** Alt with a letter acts from anywhere; digits send tones while the keypad is open. */
  #listenToKeys() {
    for (const type of ['pointerdown', 'keydown']) {
      document.addEventListener(type, () => this.sounds.unlock(), { passive: true });
    }
    const keys = {
      KeyA: () => this.#firstIncoming() && this.answer(this.#firstIncoming(), false),
      KeyX: () => (this.#firstIncoming() ?? this.current)?.hangUp(),
      KeyM: () => $('mute').click(), KeyH: () => $('hold').click(), KeyV: () => $('camera').click(),
      KeyK: () => $('keypad-button').click(),
    };
    document.addEventListener('keydown', (event) => {
      if (!this.session || $('devices').open) return;
      const isPlain = !event.ctrlKey && !event.metaKey && !event.shiftKey;
      if (event.altKey && isPlain && keys[event.code]) {
        event.preventDefault();
        keys[event.code]();
      } else if (!event.altKey && /^[\d*#]$/.test(event.key) && !$('keypad').hidden && !isTyping()) {
        this.tone(event.key);
      }
    });
  }

  #firstIncoming() { return this.incoming.find(({ isEnding }) => !isEnding); }
}

new Phone().start();
