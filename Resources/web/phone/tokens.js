// Who uses the phone: a token in the fragment, one that was pasted, or a name on the server's own machine.

import { store, stored, uuid } from './dom.js';

const NAME = 'reveille:phone:sign-in';
/** The user that new tabs sign in as while Web Push is on. */
const REMEMBERED = 'reveille:phone:remembered';
const SECRET = 'reveille:phone:secret';

/** Signing in by name needs it: it is in the address that the server's start prints. */
let secret = stored('sessionStorage', SECRET);

export function keepSecret(given) {
  secret = given;
  store('sessionStorage', SECRET, given);
}

/** The fragment of a link that signs in by name; undefined without the secret. */
export const byNameFragment = (user) => secret && `#${new URLSearchParams({ secret, user })}`;

/** Why nobody is signed in: `message` says what happened and what to do. `needsToken`: a name is not enough here. */
export class SignInFault extends Error {
  constructor(message, needsToken = false) {
    super(message);
    this.needsToken = needsToken;
  }
}

/** The claims of a token. Only the server can tell whether they are true. */
export function claims(token) {
  const parts = token.split('.');
  try {
    if (parts.length !== 3) throw new Error();
    const bytes = Uint8Array.from(atob(parts[1].replace(/-/g, '+').replace(/_/g, '/')), (char) => char.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    throw new SignInFault('This is no token: a token has three parts with dots between them, as “reveille token '
      + 'alice” prints one. Copy it whole.', true);
  }
}

/** By this browser's clock, which may be wrong: only to renew a token early. The server says what it refuses. */
const isOld = ({ exp }) => exp !== undefined && exp * 1000 <= Date.now();

/** Asks the server for a token by name. */
async function mint(user, signal) {
  let answer;
  try {
    const headers = { 'content-type': 'application/json' };
    answer = await fetch('token', { method: 'POST', headers, body: JSON.stringify({ user, secret }), signal });
  } catch {
    throw new SignInFault(`The server at ${location.host} does not answer. Start it (reveille serve), then try again.`);
  }
  const said = await answer.json().catch(() => ({}));
  if (answer.ok && said.token) return said.token;
  if (answer.status === 403) {
    throw new SignInFault(said.message ?? 'This server signs nobody in by name. Sign in with a token.', true);
  }
  if (answer.status === 404) throw new SignInFault('This server signs nobody in by name. Sign in with a token.', true);
  throw new SignInFault(said.message ?? `The server answered with ${answer.status}. Try again.`);
}

/** Somebody who is signed in in this tab. A reload keeps it; another tab may have another user. */
export class SignIn {
  constructor({ user, token, isByName, isWoken = false }) {
    Object.assign(this, { user, token, isByName, isWoken });
    this.save();
  }

  static restored() {
    const saved = stored('sessionStorage', NAME);
    if (saved) return new SignIn(saved);
    const remembered = stored('localStorage', REMEMBERED);
    if (remembered?.secret && !secret) keepSecret(remembered.secret);
    return remembered && new SignIn(remembered);
  }

  /** Who this tab signs in, or would sign in. */
  static get savedUser() { return (stored('sessionStorage', NAME) ?? stored('localStorage', REMEMBERED))?.user; }

  /** By the token of a push, which is good for one call, if the user's own token has expired. */
  static woken(token) {
    const user = token && stored('localStorage', REMEMBERED)?.user;
    return user && new SignIn({ user, token, isByName: false, isWoken: true });
  }

  static async byName(user) {
    return new SignIn({ user, token: await mint(user), isByName: true });
  }

  static byToken(text) {
    const token = text.trim();
    return new SignIn({ user: claims(token).sub ?? 'you', token, isByName: false });
  }

  /** The token for a connection. */
  async current(signal) {
    if (this.isByName && isOld(claims(this.token))) await this.renew(signal);
    return this.token;
  }

  async renew(signal) {
    this.token = await mint(this.user, signal);
    this.save();
  }

  save() {
    const { user, token, isByName, isWoken } = this;
    store('sessionStorage', NAME, { user, token, isByName, isWoken });
    if (stored('localStorage', REMEMBERED)?.user === user && !isWoken) this.remember(true);
  }

  /** For tabs to come; or no longer, if this is who is remembered. */
  remember(isOn) {
    if (!isOn && stored('localStorage', REMEMBERED)?.user !== this.user) return;
    const { user, token, isByName } = this;
    const shared = isByName ? { secret } : {};
    store('localStorage', REMEMBERED, isOn ? { user, token, isByName, ...shared } : undefined);
  }

  forget() { store('sessionStorage', NAME, undefined); }

  /** A device of each user, so that two users in two tabs of one browser are two devices. */
  get deviceId() {
    const name = `reveille:phone:device:${this.user}`;
    const id = stored('localStorage', name) ?? uuid();
    store('localStorage', name, id);
    return id;
  }
}
