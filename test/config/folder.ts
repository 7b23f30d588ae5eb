/** A folder of configuration files, and what reading one of them gives. */
import { chmod, mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { LoadedConfig } from '../../src/config/load.ts';

/** By name; a text alone is config.yaml. */
export type Files = string | Readonly<Record<string, string | Uint8Array>>;
type Modes = Readonly<Record<string, number>>;
export type Env = Readonly<Record<string, string | undefined>>;

/** Writes files into a new folder, readable by their owner alone unless `modes` says otherwise. */
export async function folderOf(files: Files, modes: Modes = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'config-test-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const named = typeof files === 'string' ? { 'config.yaml': files } : files;
  for (const [name, content] of Object.entries(named)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
    await chmod(join(folder, name), modes[name] ?? 0o600);
  }
  return folder;
}

export async function load(files: Files, env: Env = {}, modes?: Modes): Promise<LoadedConfig> {
  const folder = await folderOf(files, modes);
  return loadConfig({ path: join(folder, 'config.yaml'), env });
}

/** All problems as printed, with the folder left out of the names of files. */
export async function problemsOf(files: Files, env: Env = {}): Promise<string> {
  return problemsIn(load(files, env));
}

export async function problemsIn(loading: Promise<unknown>): Promise<string> {
  try {
    await loading;
    return 'no problem';
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.message.replaceAll(/\/\S*config-test-[^/]*\//g, '');
    }
    throw error;
  }
}

type Parts = Readonly<Partial<Record<'service' | 'polling' | 'customer' | 'more', string>>>;

/** A small good configuration, with more lines in a part of it. */
export function configWith({ service = '', polling = '', customer = '', more = '' }: Parts = {}) {
  return `service:
  base_url: https://statistics.example.org
  auth_url: https://identity.example.org
${indented(service, '  ')}${polling && 'polling:\n'}${indented(polling, '  ')}customers:
  - name: riverside
    client_id: riverside-api
    client_secret: hunter2hunter2
    timezone: Europe/Copenhagen
${indented(customer, '    ')}${indented(more, '')}`;
}

function indented(text: string, indent: string): string {
  return text && `${text.replaceAll(/^/gm, indent)}\n`;
}
