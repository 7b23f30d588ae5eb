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
