// Draws the calls. Elements stay where they are, so that the focus does too.

import { $, copy, keyed, press, setText, show } from './dom.js';
import { fill } from './ladder.js';
import { brief, clock } from './words.js';

/** The style sheet cuts a long name. */
function setName(element, name) {
  setText(element, name);
  element.title = name;
}

const initial = (name) => [...name.replace(/^(group|\+)\s*/, '')][0]?.toUpperCase() ?? '?';

export class Stage {
  #said = '';
  #alarmed = '';

  constructor(phone) {
    this.phone = phone;
    const on = (id, act) => $(id).addEventListener('click', () => phone.current && act(phone.current));
    on('mute', (line) => line.mute(!line.isMuted));
    on('camera', (line) => line.setCamera(!line.hasCamera));
    on('hold', (line) => (line.isOnHold ? phone.switchTo(line) : line.hold(true)));
    on('hang-up', (line) => line.hangUp());
    on('resume', (line) => line.resume());
    $('keypad-button').addEventListener('click', () => this.openKeypad($('keypad').hidden));
    for (const key of '123456789*0#') this.#addKey(key);
    $('again').addEventListener('click', () => phone.last && phone.dial(phone.last.callBack, phone.last.isVideo));
    $('close-call').addEventListener('click', () => phone.closeLast());
  }

  #addKey(key) {
    const button = document.createElement('button');
    Object.assign(button, { type: 'button', textContent: key });
    if (key === '*' || key === '#') button.setAttribute('aria-label', key === '*' ? 'star' : 'hash');
    button.addEventListener('click', () => this.phone.tone(key));
    $('keypad').append(button);
  }

  openKeypad(isOpen) {
    show($('keypad'), isOpen);
    $('keypad-button').setAttribute('aria-expanded', String(isOpen));
  }

  render() {
    const { incoming, others, current, last } = this.phone;
    const line = current ?? last;
    $('phone').classList.toggle('in-call', Boolean(current));
    keyed($('incoming'), incoming, (given) => this.#createIncoming(given), (card, given) => {
      this.#updateIncoming(card, given);
    });
    keyed($('others'), others, (given) => this.#createOther(given), (card, given) => {
      setText(card.querySelector('.state'), given.stateText);
    });
    show($('call'), Boolean(line) && (Boolean(current) || incoming.length === 0));
    show($('ready'), !line && incoming.length === 0 && !this.phone.ask);
    if (line) this.#renderCall(line);
    this.#say(line, incoming);
  }

  #createIncoming(line) {
    const card = copy('incoming-card');
    const { peer } = line;
    setText(card.querySelector('.face'), initial(peer));
    setName(card.querySelector('.peer'), peer);
    const button = (name, label, act) => {
      const found = card.querySelector(name);
      found.setAttribute('aria-label', `${label} ${peer}`);
      found.addEventListener('click', act);
    };
    button('.decline', 'Decline', () => line.hangUp());
    button('.plain', 'Answer', () => this.phone.answer(line, false));
    button('.video', 'Answer with video', () => this.phone.answer(line, true));
    card.querySelector('.plain').setAttribute('aria-keyshortcuts', 'Alt+A');
    card.querySelector('.decline').setAttribute('aria-keyshortcuts', 'Alt+X');
    return card;
  }

  #updateIncoming(card, line) {
    const { isBusy } = this.phone;
    const called = line.call.to?.group ? ` (group ${brief(line.call.to.group)})` : '';
    const text = line.isEnding ? line.stateText
      : line.stateText + called + (isBusy ? '. Your present call is put on hold if you answer.' : '');
    setText(card.querySelector('.state'), text);
    show(card.querySelector('.video'), line.isVideo);
    for (const button of card.querySelectorAll('.answer')) button.disabled = line.isEnding;
  }

  #createOther(line) {
    const card = copy('other-card');
    setText(card.querySelector('.face'), initial(line.peer));
    setName(card.querySelector('.peer'), line.peer);
    const change = card.querySelector('.switch');
    change.setAttribute('aria-label', `Switch to ${line.peer}`);
    change.addEventListener('click', () => this.phone.switchTo(line));
    const drop = card.querySelector('.drop');
    drop.setAttribute('aria-label', `Hang up ${line.peer}`);
    drop.addEventListener('click', () => line.hangUp());
    return card;
  }

  #renderCall(line) {
    const { phase } = line;
    const isOver = phase === 'ended';
    $('call').dataset.phase = phase;
    setText($('face'), initial(line.peer));
    setName($('peer'), line.peer);
    setText($('state'), line.stateText);
    this.tick(line);
    show($('quality'), phase === 'connected' && !line.isOnHold && Boolean(line.qualityText));
    setText($('quality'), line.qualityText);
    $('quality').dataset.level = line.qualityLevel;
    show($('resume-row'), !isOver && line.needsResume);
    show($('controls'), !isOver);
    show($('after-row'), isOver);
    setText($('again').lastChild, line.role === 'callee' ? 'Call back' : 'Call again');
    press($('mute'), line.isMuted);
    $('mute').querySelector('use').setAttribute('href', line.isMuted ? '#i-mic-off' : '#i-mic');
    press($('camera'), line.hasCamera);
    press($('hold'), line.isOnHold);
    $('mute').disabled = !line.media || line.isEnding;
    for (const id of ['camera', 'hold', 'keypad-button']) $(id).disabled = !line.isTalking || line.isEnding;
    $('hang-up').disabled = line.isEnding;
    if (!line.isTalking) this.openKeypad(false);
    setText($('tones'), line.tones);
    this.#renderPictures(line, isOver);
    const body = $('ladder');
    if (body.dataset.call !== line.id) {
      body.replaceChildren();
      body.dataset.call = line.id;
    }
    fill(body, line.ladder.rows);
    show($('happened'), line.ladder.rows.length > 0);
    setText($('show-command'), `reveille calls show ${line.id.slice(0, 8)}`);
  }

  #renderPictures(line, isOver) {
    const hasTheirs = !isOver && line.hasPicture;
    const hasOwn = !isOver && line.hasCamera;
    show($('pictures'), hasTheirs || hasOwn);
    $('pictures').classList.toggle('alone', !hasTheirs);
    for (const [id, stream, isShown] of [
      ['their-picture', line.media?.remoteStream, hasTheirs], ['own-picture', line.media?.localStream, hasOwn],
    ]) {
      const wanted = isShown ? stream : null;
      if ($(id).srcObject !== wanted) $(id).srcObject = wanted;
      show($(id), isShown);
    }
  }

  /** The clock, each second. */
  tick(line) {
    const since = line.ladder.at('connected');
    show($('clock'), since !== undefined && !line.isOver);
    if (since !== undefined) setText($('clock'), clock((line.ladder.at('ended') ?? Date.now()) - since));
  }

  /** For screen readers: each new state of the call once, and whoever calls at once. */
  #say(line, incoming) {
    const text = line ? `${brief(line.peer)}: ${line.stateText}` : '';
    // A countdown is not told again each second.
    const said = text.replace(/\d+ s\b/g, '');
    if (said !== this.#said) setText($('announce'), text);
    this.#said = said;
    const ringing = incoming.find(({ isEnding }) => !isEnding);
    const alarm = ringing ? `${brief(ringing.peer)} ${ringing.stateText}. Alt A answers, Alt X declines.` : '';
    if (alarm !== this.#alarmed) setText($('alarm'), this.#alarmed = alarm);
  }
}
