/** The configuration as the rest of the program sees it: whole, checked, with every default filled in. */
import type { Breakdown, MinuteStream } from '../base/model.ts';
import type { Secret } from '../base/secret.ts';

export interface Config {
  readonly service: ServiceConfig;
  readonly polling: PollingConfig;
  /** At least one, names unique, in the order of the files. */
  readonly customers: readonly CustomerConfig[];
}

export interface ServiceConfig {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** Without a slash at the end. */
  readonly authUrl: string;
  readonly scope: string;
  readonly timeoutMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerSecond: number;
  readonly allowInsecure: boolean;
  readonly proxyUrl: string | undefined;
  /** PEM text of the certificate authorities to trust beside the system's own. */
  readonly ca: string | undefined;
}

export interface PollingConfig {
  readonly intervalMs: number;
  readonly reconcileIntervalMs: number;
  readonly breakdownIntervalMs: number;
}

export interface LocalTimeOfDay {
  readonly hour: number;
  readonly minute: number;
}

/** `secret` is what was read when the configuration was; `path` is where to look for a newer one. */
export interface SecretSource {
  readonly secret: Secret;
  readonly path: string | undefined;
}

export interface CustomerConfig {
  readonly name: string;
  readonly clientId: string;
  readonly clientSecret: SecretSource;
  /** An IANA name that the runtime knows. */
  readonly timezone: string;
  readonly dayStartsAt: LocalTimeOfDay;
  readonly capacity: number | undefined;
  /** OpenStreetMap's syntax, already tried. */
  readonly openingHours: string | undefined;
  /** Country, or country-state, in lower case: `dk`, `de-by`. */
  readonly holidays: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly streams: readonly MinuteStream[];
  readonly breakdowns: readonly Breakdown[];
  /** Branch id to name. */
  readonly branches: Readonly<Record<string, string>>;
}
