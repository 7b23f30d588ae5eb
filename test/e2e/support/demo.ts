/** The daemon as a newcomer starts it, from a folder in which nothing of the project lies. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { MAIN, eventually, start } from './processes.ts';
import type { Running } from './processes.ts';

export interface Demo {
  /** Without a slash at the end. */
  readonly url: string;
  /** The names of its customers. */
  readonly customers: readonly string[];
  readonly stop: Running['stop'];
}

const LISTENING = z.object({ msg: z.literal('listening'), url: z.url() });

/** Resolves as soon as the counters of five customers are there. */
export async function startDemo(main = MAIN, node = process.execPath): Promise<Demo> {
  const folder = mkdtempSync(join(tmpdir(), 'demo-'));
  const daemon = start(node, [main, 'demo', '--web.listen-address=127.0.0.1:0'], folder);
  async function stop(): ReturnType<Running['stop']> {
    const status = await daemon.stop();
    rmSync(folder, { recursive: true });
    return status;
  }
  try {
    const url = (await daemon.lineWhere(listeningUrl)).replace(/\/$/, '');
    const customers = await eventually('the counters of five customers', async () => {
      const found = await customersAt(url);
      return found.length === 5 ? found : undefined;
    });
    return { url, customers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The address in a line of the log, where it says that the daemon listens. */
export function listeningUrl(line: string): string | undefined {
  if (!line.startsWith('{')) {
    return undefined;
  }
  return LISTENING.safeParse(JSON.parse(line)).data?.url;
}

async function customersAt(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/metrics`);
  const lines = (await answer.text()).split('\n');
  return lines.flatMap((line) => {
    const customer = /^library_people_entered_total\{customer="([^"]*)"\}/.exec(line)?.[1];
    return customer === undefined ? [] : [customer];
  });
}
