// `weir serve` in a process of its own, and what must be gone when the benchmark ends, however it ends.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createInterface } from 'node:readline';
import os from 'node:os';
import path from 'node:path';

/** Protects nothing: the server runs as long as the benchmark, on this machine, with made-up data. */
export const KEY = 'an-admin-key-for-benchmarks-only';
/** A demo writes its history before it listens. */
const READY_MS = 600_000;

const cleanups = new Set();
process.on('exit', () => { for (const cleanup of cleanups) cleanup(); });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(130));

/** A folder that is removed at the end. */
export function temporaryFolder() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'weir-bench-console-'));
  cleanups.add(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Starts a server and waits until it listens. Settings of this shell do not reach it. */
export async function startServer(binary, folder, flags = []) {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('WEIR_')));
  // Filling the store makes more changes in an hour than an administrator may.
  Object.assign(env, { WEIR_ADMIN_KEY: KEY, WEIR_KEEPER_WRITE_RATE: '0' });
  const args = ['serve', '--data', path.join(folder, 'data'), '--listen', '127.0.0.1:0', ...flags];
  const child = spawn(binary, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'ignore'] });
  const kill = () => child.kill('SIGKILL');
  cleanups.add(kill);
  const ended = new Promise((resolve) => { child.on('exit', () => { cleanups.delete(kill); resolve(); }); });
  const url = await listening(child, ended);
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function listening(child, ended) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the server does not listen')), READY_MS);
    child.on('error', reject);
    ended.then(() => { clearTimeout(timer); reject(new Error('the server ended before it listened')); });
    createInterface(child.stdout).on('line', (line) => {
      if (!line.startsWith('listening on ')) return;
      clearTimeout(timer);
      resolve(line.slice('listening on '.length));
    });
  });
}
