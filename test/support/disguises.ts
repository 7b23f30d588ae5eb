/** Finds a secret in a text, also in part and in the forms in which one is sent, shown or logged. */
import { randomUUID } from 'node:crypto';

/** Shorter parts occur by chance; a longer one shows enough to recognise a secret by. */
const PART_LENGTH = 12;

const ENCODINGS: readonly ((secret: string) => string)[] = [
  (secret) => secret,
  (secret) => JSON.stringify(secret).slice(1, -1),
  // What is logged as JSON may itself be JSON in a field.
  (secret) => JSON.stringify(JSON.stringify(secret)).slice(3, -3),
  encodeURIComponent,
  encodeURI,
  (secret) => new URLSearchParams({ s: secret }).toString().slice(2),
  (secret) => encodeURIComponent(encodeURIComponent(secret)),
  (secret) => Buffer.from(secret).toString('hex'),
  (secret) => Buffer.from(secret).toString('latin1'),
  (secret) => inBase64(secret, 0),
  (secret) => inBase64(secret, 1),
  (secret) => inBase64(secret, 2),
  (secret) => inHtml(secret),
];

/** The part of the base64 of any text with the secret at `offset` modulo 3 that the secret alone decides. */
function inBase64(secret: string, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]).toString('base64');
  return text.slice(offset === 0 ? 0 : 4, text.length - (text.length % 4) - 4);
}

function inHtml(secret: string): string {
  return secret
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** Every part of a secret, in any of its forms, that occurs in the text. */
export function partsIn(text: string, secrets: readonly string[]): readonly string[] {
  const parts = new Set<string>();
  for (const form of secrets.flatMap((secret) =>
    ENCODINGS.map((encode) => alike(encode(secret))),
  )) {
    for (const part of windowsOf(form)) {
      parts.add(part);
    }
  }
  const found = new Set<string>();
  for (const part of windowsOf(alike(text))) {
    if (parts.has(part)) {
      found.add(part);
    }
  }
  return [...found];
}

/** The alphabet of base64 for addresses differs in two characters. */
function alike(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/');
}

function* windowsOf(text: string): Generator<string> {
  for (let at = 0; at + PART_LENGTH <= text.length; at += 1) {
    yield text.slice(at, at + PART_LENGTH);
  }
}

/** Characters that are written differently in JSON, in a form, in an address and in HTML. */
export function oddSecret(): string {
  const [a, b, c, d, e] = randomUUID().split('-');
  return `lantern "${a}ø'${b}&<${c}>+/${d}=%41${e}\\;${randomUUID()}`;
}
