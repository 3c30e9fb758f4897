// Resources/web/reveille.js and webpush.js as modules of Node.js, which takes them for such in a package that says so.

import { webcrypto } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
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
for (const name of ['reveille.js', 'webpush.js']) copyFileSync(join(repository, 'Resources/web', name), join(folder, name));
writeFileSync(join(folder, 'package.json'), '{"type": "module"}');

export const { Call, Connection, Media, ReveilleError, Session } = await import(join(folder, 'reveille.js'));
export const { WebPush, pushToken } = await import(join(folder, 'webpush.js'));

/** A file of the repository. */
export const json = (path) => JSON.parse(readFileSync(join(repository, path), 'utf8'));
