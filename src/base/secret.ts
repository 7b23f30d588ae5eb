import { inspect } from 'node:util';

/** Shown in place of a secret. */
export const REDACTED = '[redacted]';

/** A value that is not printed by accident: every conversion to text gives `[redacted]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** Returns the plain value, for the code that sends or compares it. */
  reveal(): string {
    return this.#value;
  }

  equals(other: Secret): boolean {
    return this.#value === other.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}

const NAMES: Readonly<Record<string, string>> = {
  '\n': 'a line end',
  '\t': 'a tab',
  ' ': 'a blank',
  '\u00A0': 'a no-break space',
  '\u200B': 'a zero-width space',
};
/** Controls, invisible characters and spaces. */
const INVISIBLE = '[\\p{Cc}\\p{Cf}\\p{Z}]';
/** What is at the ends of a secret that was pasted with more than the secret. */
const PASTED = [
  ['begins with', new RegExp(`^${INVISIBLE}`, 'u')],
  ['ends with', new RegExp(`${INVISIBLE}$`, 'u')],
] as const;
const QUOTED = /^\s*(["'`“„«]).*["'`”“»]\s*$/su;
/** Lets `NAME=value` through, not the `=` at the end of base64. */
const ASSIGNED = /^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*[^\s=]/;

/** Returns in words what a secret begins or ends with that is probably no part of it, undefined if nothing. */
export function pastedWith(secret: Secret): string | undefined {
  const text = secret.reveal();
  const found = PASTED.flatMap(([verb, pattern]) => {
    const character = pattern.exec(text)?.[0];
    return character === undefined
      ? []
      : [`${verb} ${NAMES[character] ?? 'an invisible character'}`];
  });
  const problems = [
    ...found,
    ...(QUOTED.test(text) ? ['is in quotes'] : []),
    ...(ASSIGNED.test(text) ? ['begins with a name and ='] : []),
  ];
  return problems.length === 0 ? undefined : `the secret ${problems.join(' and ')}`;
}
