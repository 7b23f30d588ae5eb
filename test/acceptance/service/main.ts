/**
 * Asks a service what its documentation leaves open: `npm run acceptance`, with the address and the
 * credentials in the environment (docs/service.md#what-is-left-open). It only reads.
 */
import { readFileSync } from 'node:fs';
import { Client, ServiceFailure } from './client.ts';
import { learn } from './learn.ts';

const PAGE = new URL('../../../docs/service.md', import.meta.url);
const USAGE = `\
ACCEPTANCE_SERVICE        address of the data server, such as https://statistics.example.org
ACCEPTANCE_AUTH_URL       address of the identity server (default: ACCEPTANCE_SERVICE)
ACCEPTANCE_CLIENT_ID      of one customer
ACCEPTANCE_CLIENT_SECRET  of the same customer
ACCEPTANCE_TIMEZONE       of the same customer, such as Europe/Copenhagen
ACCEPTANCE_REQUEST_TIMES  offset, utc or local, as check --connect says (default: offset)
ACCEPTANCE_PAUSE_MS       before each request (default: 200)
`;

/** Returns a client and its zone from the environment. Throws an Error that names what is missing or wrong. */
function clientFrom(env: NodeJS.ProcessEnv) {
  function required(name: string): string {
    const value = env[name];
    if (value === undefined || value === '') {
      throw new Error(`${name} is not set. Expected:\n${USAGE}`);
    }
    return value;
  }
  const dataUrl = addressOf('ACCEPTANCE_SERVICE', required('ACCEPTANCE_SERVICE'));
  const zone = required('ACCEPTANCE_TIMEZONE');
  // Throws for what is no time zone.
  new Intl.DateTimeFormat('en', { timeZone: zone }).format();
  const times = env['ACCEPTANCE_REQUEST_TIMES'] || 'offset';
  const requestTimes = (['offset', 'utc', 'local'] as const).find((one) => one === times);
  if (requestTimes === undefined) {
    throw new Error('ACCEPTANCE_REQUEST_TIMES: expected offset, utc or local');
  }
  const client = new Client({
    dataUrl,
    authUrl: addressOf('ACCEPTANCE_AUTH_URL', env['ACCEPTANCE_AUTH_URL'] || dataUrl),
    clientId: required('ACCEPTANCE_CLIENT_ID'),
    clientSecret: required('ACCEPTANCE_CLIENT_SECRET'),
    zone,
    requestTimes,
    pauseMs: Number(env['ACCEPTANCE_PAUSE_MS'] ?? 200) || 0,
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

async function main(): Promise<number> {
  let client: Client | undefined;
  try {
    const settings = clientFrom(process.env);
    ({ client } = settings);
    const rows = readFileSync(PAGE, 'utf8').matchAll(/^\| \*\*(\d+)\.\*\* (.*?) +\|/gm);
    const questions = new Map(Array.from(rows, ([, number, text]) => [Number(number), text]));
    for (const { question, learned } of await learn(client, settings.zone)) {
      const head = question === 0 ? '' : `${question}. ${questions.get(question)}\n   `;
      process.stdout.write(`${head}${client.withoutSecrets(learned)}\n\n`);
    }
    process.stdout.write(`${client.requests} requests, all of them reading.\n`);
    return 0;
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown';
    process.stderr.write(`error: ${client?.withoutSecrets(message) ?? message}\n`);
    return error instanceof ServiceFailure ? 1 : 2;
  }
}

process.exitCode = await main();
