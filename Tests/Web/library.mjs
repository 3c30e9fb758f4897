// The files of Resources/web as modules of Node.js, which takes them for such in a package that says so.

import { webcrypto } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

// Node.js 18, which Debian 12 has, hides these behind flags.
globalThis.crypto ??= webcrypto;
globalThis.CustomEvent ??= class CustomEvent extends Event {
  constructor(type, { detail = null, ...options } = {}) {
    super(type, options);
    this.detail = detail;
  }
};

export const repository = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = mkdtempSync(join(tmpdir(), 'reveille-web-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
cpSync(join(repository, 'Resources/web'), folder, { recursive: true });
writeFileSync(join(folder, 'package.json'), '{"type": "module"}');

/** A module of Resources/web. */
export const webModule = (path) => import(join(folder, path));
export const { Call, Connection, Media, ReveilleError, Session } = await webModule('reveille.js');
export const { WebPush, pushToken } = await webModule('webpush.js');

/** A file of the repository. */
export const json = (path) => JSON.parse(readFileSync(join(repository, path), 'utf8'));
