/** What this room gives to the others: the service in our nouns. Nothing here knows HTTP. */
import type {
  AggregatedQuestion,
  Page,
  PageQuestion,
  Question,
  AggregatedResponse,
} from '../base/model.ts';
import type { Secret } from '../base/secret.ts';

/** Who asks. `readSecret` gives the secret as it is now, read anew from its file if it has one. */
export interface CustomerAccess {
  readonly name: string;
  readonly clientId: string;
  readonly readSecret: () => Promise<Secret>;
}

/** One customer's access to the service, with a token of its own. */
export interface CustomerClient {
  /**
   * A whole answer. Retries inside, until the signal aborts. Throws a ServiceError with its reason
   * when there is none; never an empty or partial reading in its place. An abort of the signal ends
   * it: with the failure that it was about to retry, else with the reason `timeout`; where the
   * signal's reason is itself a ServiceError, with that.
   */
  query(question: Question, signal: AbortSignal): Promise<AggregatedResponse>;
}

/** The whole interface of the service for one customer, beyond what counting asks. */
export interface WholeClient extends CustomerClient {
  query(question: AggregatedQuestion, signal: AbortSignal): Promise<AggregatedResponse>;
  /** One page of raw records, as whole as a reading, with the same retries and errors. */
  page(question: PageQuestion, signal: AbortSignal): Promise<Page>;
}

export interface ServiceObserver {
  /** One HTTP exchange has ended; `code` is `none` where no answer came. */
  request(event: {
    readonly customer: string;
    readonly endpoint: 'token' | 'peoplecount' | 'login';
    readonly code: number | 'none';
    readonly durationMs: number;
  }): void;
  /** The service took the credentials, or refused them. Told at each change and at the first time. */
  credentials(customer: string, valid: boolean): void;
}

/** How the service's clock compares with ours. */
export interface ClockReading {
  readonly aheadMs: number;
  /** Within a minute it agrees, within a day it is gone by, and beyond that ours is. */
  readonly verdict: 'agrees' | 'followed' | 'ignored';
}

/** All customers together: one pool of connections, one set of limits. */
export interface Service {
  clientFor(access: CustomerAccess): WholeClient;
  /** What time it is for the service: ours, unless its answers show that it is minutes or hours off. */
  nowMs(): number;
  /** How its clock compares with ours; undefined before an answer has told the time. */
  clockReading(): ClockReading | undefined;
  /** Ends every connection. Requests under way fail as `unreachable`. */
  close(): void;
}
