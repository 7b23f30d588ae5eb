import type { KeyTimes, RequestTimes } from './model.ts';

/** How the service is reached. URLs have no slash at the end. */
export interface ServiceSettings {
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly scope: string;
  /** Limit for one request, all of it. */
  readonly timeoutMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerSecond: number;
  readonly requestTimes: RequestTimes;
  readonly keyTimes: KeyTimes;
  /** Proxy of all requests, whatever the environment says. */
  readonly proxyUrl: string | undefined;
  /** PEM text of certificate authorities that are trusted beside the system's. */
  readonly ca: string | undefined;
}
