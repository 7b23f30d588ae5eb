/** Everything that a daemon shows to whoever asks, and what lies in its files. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Child } from './child.ts';

/** Everything that a daemon shows to whoever asks. */
export async function pagesOf(child: Child): Promise<string> {
  const openMetrics = { accept: 'application/openmetrics-text; version=1.0.0' };
  const answers = await Promise.all([
    child.get('/metrics'),
    child.get('/metrics', openMetrics),
    child.get('/'),
    child.get('/-/ready'),
    child.get('/-/healthy'),
    child.get('/nowhere'),
    child.reload('GET'),
  ]);
  const texts = await Promise.all(
    answers.map(async (answer) => JSON.stringify([...answer.headers]) + (await answer.text())),
  );
  return texts.join('\n');
}

export function filesUnder(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}
