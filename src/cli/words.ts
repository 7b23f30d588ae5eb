/** What several commands write to a person, and to a terminal. */

/** To the start of the line, and everything after it away (ECMA-48, EL). */
export const CLEAR_LINE = '\r\u001b[K';

/** `1 file`, `2 files`. */
export function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
