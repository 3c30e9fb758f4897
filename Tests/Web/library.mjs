// Resources/web/reveille.js as a module of Node.js, which takes a file without a package for one only with this ending.

import { webcrypto } from 'node:crypto';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
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
copyFileSync(join(repository, 'Resources/web/reveille.js'), join(folder, 'reveille.mjs'));

export const { Call, Connection, Media, ReveilleError, Session } = await import(join(folder, 'reveille.mjs'));

/** A file of the repository. */
export const json = (path) => JSON.parse(readFileSync(join(repository, path), 'utf8'));
