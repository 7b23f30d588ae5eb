/**
 * Asks a service what its documentation leaves open: `npm run acceptance`, with the address and the
 * credentials in the environment (CONTRIBUTING.md). It only reads.
 */
import { readFileSync } from 'node:fs';
import { Client, ServiceFailure } from './client.ts';
import { learn } from './learn.ts';
import type { Finding } from './study.ts';

const PAGE = new URL('../../../docs/service.md', import.meta.url);
const DEFAULT_PAUSE_MS = 200;
const DEFAULT_TIMEOUT_MS = 60_000;
const USAGE = `\
ACCEPTANCE_SERVICE        address of the data server, such as https://statistics.example.org
ACCEPTANCE_AUTH_URL       address of the identity server (default: ACCEPTANCE_SERVICE)
ACCEPTANCE_CLIENT_ID      of one customer
ACCEPTANCE_CLIENT_SECRET  of the same customer
ACCEPTANCE_TIMEZONE       of the same customer, such as Europe/Copenhagen
ACCEPTANCE_SCOPE          (default: ServiceAPI)
ACCEPTANCE_PAUSE_MS       before each request (default: ${DEFAULT_PAUSE_MS})
ACCEPTANCE_TIMEOUT_MS     of a response (default: ${DEFAULT_TIMEOUT_MS})
`;

interface Settings {
  readonly client: Client;
  readonly zone: string;
}

/** Returns what the environment says. Throws an Error that names what is missing or wrong. */
function settingsOf(env: NodeJS.ProcessEnv): Settings {
  function required(name: string): string {
    const value = env[name];
    if (value === undefined || value === '') {
      throw new Error(`${name} is not set. Expected:\n${USAGE}`);
    }
    return value;
  }
  function number(name: string, byDefault: number): number {
    const value = Number(env[name] ?? byDefault);
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new Error(`${name}: expected milliseconds`);
    }
    return value;
  }
  const dataUrl = addressOf('ACCEPTANCE_SERVICE', required('ACCEPTANCE_SERVICE'));
  const zone = required('ACCEPTANCE_TIMEZONE');
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
  } catch {
    throw new Error(`ACCEPTANCE_TIMEZONE: expected an IANA time zone, got ${zone}`);
  }
  const client = new Client({
    dataUrl,
    authUrl: addressOf('ACCEPTANCE_AUTH_URL', env['ACCEPTANCE_AUTH_URL'] || dataUrl),
    clientId: required('ACCEPTANCE_CLIENT_ID'),
    clientSecret: required('ACCEPTANCE_CLIENT_SECRET'),
    scope: env['ACCEPTANCE_SCOPE'] || 'ServiceAPI',
    pauseMs: number('ACCEPTANCE_PAUSE_MS', DEFAULT_PAUSE_MS),
    timeoutMs: number('ACCEPTANCE_TIMEOUT_MS', DEFAULT_TIMEOUT_MS),
  });
  return { client, zone };
}

/** Https, but on loopback. A user and a query would be shown in messages. */
function addressOf(name: string, text: string): string {
  const url = URL.parse(text);
  const isLoopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url?.hostname ?? '');
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback);
  if (url === null || !isSafe || url.username !== '' || url.search !== '' || url.hash !== '') {
    throw new Error(`${name}: expected an https address without user and query`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '');
}

/** Returns the questions of docs/service.md by number. */
function questions(): ReadonlyMap<number, string> {
  const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| \*\*(\d+)\.\*\* (.*?) +\|/gm);
  return new Map(Array.from(rows, ([, number, text = '']) => [Number(number), text]));
}

function report(findings: readonly Finding[], client: Client): string {
  const texts = questions();
  const lines = findings.map(({ question, learned }) => {
    const text = client.withoutSecrets(learned);
    return question === 0 ? `${text}\n` : `${question}. ${texts.get(question)}\n   ${text}\n`;
  });
  const open = [...texts.keys()].filter(
    (number) => !findings.some(({ question }) => question === number),
  );
  return (
    `${lines.join('\n')}\n` +
    `Not learned by reading once: ${open.join(', ')} of docs/service.md#what-is-left-open.\n` +
    `${client.requests} requests, all of them reading.\n`
  );
}

async function main(): Promise<number> {
  let client: Client | undefined;
  try {
    const settings = settingsOf(process.env);
    ({ client } = settings);
    process.stdout.write(report(await learn(client, settings.zone), client));
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown';
    process.stderr.write(`error: ${client?.withoutSecrets(message) ?? message}\n`);
    return error instanceof ServiceFailure ? 1 : 2;
  }
}

process.exitCode = await main();
