/**
 * One stream of one customer in the poller's list: when it is due, and what becomes of turns that
 * nobody could take. It knows no clock and asks nothing.
 */
import type { Stream } from '../base/model.ts';
import type { Customer } from '../counting/customer.ts';
import type { CustomerClient } from '../service/types.ts';

export interface TurnOptions {
  readonly customer: Customer;
  readonly client: CustomerClient;
  readonly stream: Stream;
  readonly intervalMs: number;
  readonly phase: number;
}

/** A poll ends before its next turn: the rest is for the work between two polls. */
const DEADLINE_SHARE = 0.9;
/** A first poll that does not end holds up others that wait for theirs, so it has less time. */
const FIRST_DEADLINE_MS = 15_000;

export class Turn {
  readonly customer: Customer;
  readonly stream: Stream;
  readonly #intervalMs: number;
  client: CustomerClient;
  /**
   * Place in the interval, in [0, 1). Neighbours in the list are neighbours in time, so that what
   * changes together lies together in the exposition.
   */
  phase: number;
  /** When the next poll is due, monotonic; undefined before the first poll has ended. */
  dueMs: number | undefined;
  /** Ends the poll that is under way. */
  underWay: AbortController | undefined;
  /** Whether that poll came beside the turns, for an anchor: it serves a turn that falls into it. */
  isBesideTurns = false;

  constructor({ customer, client, stream, intervalMs, phase }: TurnOptions) {
    this.customer = customer;
    this.client = client;
    this.stream = stream;
    this.#intervalMs = intervalMs;
    this.phase = phase;
  }

  /** How long a poll that starts now may take. */
  get deadlineMs(): number {
    const deadlineMs = deadlineOf(this.#intervalMs);
    return this.dueMs === undefined ? Math.min(deadlineMs, FIRST_DEADLINE_MS) : deadlineMs;
  }

  /** Goes on at another place of the list. */
  move(client: CustomerClient, phase: number, nowMs: number): void {
    this.client = client;
    this.phase = phase;
    if (this.dueMs !== undefined) {
      this.schedule(nowMs);
    }
  }

  /** Is due next at its place in the interval. */
  schedule(nowMs: number): void {
    this.dueMs = this.lastMomentMs(nowMs, this.#intervalMs) + this.#intervalMs;
  }

  /** When it had its place for the last time, by `nowMs`, in an interval of this length. */
  lastMomentMs(nowMs: number, intervalMs: number): number {
    const offsetMs = this.phase * intervalMs;
    return offsetMs + Math.floor((nowMs - offsetMs) / intervalMs) * intervalMs;
  }

  /**
   * How many turns were missed, if one has fallen due by now: those that passed while nobody looked,
   * and this one where the poll of the one before is still under way. Undefined if none is due.
   */
  fallDue(nowMs: number): { readonly missed: number } | undefined {
    if (this.dueMs === undefined || this.dueMs > nowMs) {
      return undefined;
    }
    const passed = Math.floor((nowMs - this.dueMs) / this.#intervalMs);
    this.dueMs += (passed + 1) * this.#intervalMs;
    const isBusy = this.underWay !== undefined && !this.isBesideTurns;
    return { missed: passed + (isBusy ? 1 : 0) };
  }
}

/** How long a poll may take that comes once an interval. */
export function deadlineOf(intervalMs: number): number {
  return intervalMs * DEADLINE_SHARE;
}

/** What is one turn, however often the list is made anew. */
export function keyOf({ customer, stream }: Pick<Turn, 'customer' | 'stream'>): string {
  return JSON.stringify([customer.customer, stream]);
}
