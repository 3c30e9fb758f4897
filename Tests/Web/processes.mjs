// Processes and folders of a check: they end with it, also when it fails or is told to end.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const children = new Map();
const folders = new Set();

/** Ends a process with this one. `isGroup`: with all processes of its group, which it leads. */
export function own(child, { isGroup = false, signal = 'SIGKILL' } = {}) {
  children.set(child, () => process.kill(isGroup ? -child.pid : child.pid, signal));
  child.on('exit', () => children.delete(child));
  return child;
}

export async function kill(child, signal = 'SIGKILL') {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => { child.once('exit', resolve); });
  child.kill(signal);
  await gone;
}

export function temporaryFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `reveille-${name}-`));
  folders.add(folder);
  return folder;
}

/** A process that has just been killed may still write to its folder. */
export function remove(folder) {
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  folders.delete(folder);
}

process.on('exit', () => {
  for (const end of children.values()) {
    try {
      end();
    } catch { /* It has ended by itself. */ }
  }
  for (const folder of folders) remove(folder);
});
for (const [signal, number] of [['SIGHUP', 1], ['SIGINT', 2], ['SIGTERM', 15]]) {
  process.on(signal, () => process.exit(128 + number));
}
