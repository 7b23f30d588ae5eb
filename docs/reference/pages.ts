/** The pages of the reference, each made of the tables that the exporter itself works by. */
import { readFileSync } from 'node:fs';
import { format } from 'prettier';
import type { Options } from 'prettier';
import { commandLinePage } from './command-line.ts';
import { configurationPage } from './configuration.ts';
import { logMessagesPage } from './log-messages.ts';
import { metricsPage } from './metrics.ts';

const NOTE = '<!-- Written by `npm run reference`: what is changed here is lost. -->';

/** The name of each file beside this one, and what is to be in it. */
export async function referencePages(): Promise<
  readonly (readonly [name: string, text: string])[]
> {
  const pages = {
    'metrics.md': metricsPage(),
    'configuration.md': configurationPage(),
    'command-line.md': commandLinePage(),
    'log-messages.md': logMessagesPage(),
  };
  return Promise.all(
    Object.entries(pages).map(
      async ([name, text]) =>
        [name, await format(`${NOTE}\n\n${text}`, { ...style(), parser: 'markdown' })] as const,
    ),
  );
}

/** As the rest of the repository is formatted, so that tables are aligned. */
function style(): Options {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const { prettier }: { readonly prettier: Options } = JSON.parse(manifest);
  return prettier;
}
