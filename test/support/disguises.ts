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
  ...[0, 1, 2].map((offset) => (secret: string) => inBase64(secret, offset)),
  (secret) => secret.replaceAll(/[&<>"']/g, (character) => `&${HTML[character]};`),
];

/** The part of the base64 of any text with the secret at `offset` modulo 3 that the secret alone decides. */
function inBase64(secret: string, offset: number): string {
  const text = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]).toString('base64');
  return text.slice(offset === 0 ? 0 : 4, text.length - (text.length % 4) - 4);
}

const HTML: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": '#39' };

/** Every part of a secret, in any of its forms, that occurs in the text. */
export function partsIn(text: string, secrets: readonly string[]): readonly string[] {
  const forms = secrets.flatMap((secret) => ENCODINGS.map((encode) => encode(secret)));
  const parts = new Set(forms.flatMap(windowsOf));
  return [...new Set(windowsOf(text))].filter((part) => parts.has(part));
}

/** Returns every part of a text. The alphabet of base64 for addresses differs in two characters. */
function windowsOf(text: string): readonly string[] {
  const alike = text.replaceAll('-', '+').replaceAll('_', '/');
  const count = Math.max(0, alike.length - PART_LENGTH + 1);
  return Array.from({ length: count }, (_, at) => alike.slice(at, at + PART_LENGTH));
}

/** Characters that are written differently in JSON, in a form, in an address and in HTML. */
export function oddSecret(): string {
  const [a, b, c, d, e] = randomUUID().split('-');
  return `lantern "${a}ø'${b}&<${c}>+/${d}=%41${e}\\;${randomUUID()}`;
}
