/** One bar of the bench: a value of ours beside a peer's, and the largest ratio that is allowed. */
export interface Measured {
  readonly bar: string;
  /** Values with units, as the table shows them. */
  readonly ours: string;
  readonly peer: string;
  /** What is compared with `limit`: met if not above it. */
  readonly value: number;
  readonly limit: number;
}

/** In place of a peer's value. */
export const NO_PEER = '–';

export type Progress = (line: string) => void;

/** Returns a bar without a peer. `unit` has the digits after the point, as in `.1 ms`. */
export function barOf(bar: string, value: number, unit: string, limit: number): Measured {
  return { bar, ours: textOf(value, unit), peer: NO_PEER, value, limit };
}

/** Returns a bar of which the ratio to a peer's value counts. */
export function ratioBar(
  bar: string,
  [ours = NaN, peer = NaN]: readonly number[],
  unit: string,
  limit: number,
): Measured {
  return { bar, ours: textOf(ours, unit), peer: textOf(peer, unit), value: ours / peer, limit };
}

function textOf(value: number, unit: string): string {
  const [, digits, name = ''] = /^(?:\.(\d))?(.*)$/.exec(unit) ?? [];
  return value.toFixed(Number(digits ?? 0)) + name;
}
