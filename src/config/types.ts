/** The validated configuration, with all defaults, as the other modules use it. */
import type { Breakdown, MinuteStream } from '../base/model.ts';
import type { Secret } from '../base/secret.ts';
import type { ServiceSettings } from '../base/service-settings.ts';

export interface Config {
  readonly service: ServiceSettings;
  readonly polling: PollingConfig;
  /** At least one, names unique, in the order of the files. */
  readonly customers: readonly CustomerConfig[];
}

export interface PollingConfig {
  readonly intervalMs: number;
  readonly reconcileIntervalMs: number;
  readonly breakdownIntervalMs: number;
}

/** A secret that was read with the configuration, and the file that may hold a newer one. */
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
  readonly dayStartsAt: { readonly hour: number; readonly minute: number };
  /** True if the occupancy estimate is published. */
  readonly estimate: boolean;
  readonly capacity: number | undefined;
  /** Valid text in OpenStreetMap's syntax. */
  readonly openingHours: string | undefined;
  /** When staff is there, in the same syntax. */
  readonly staffedHours: string | undefined;
  /** Country, or country-state, in lower case: `dk`, `de-by`. */
  readonly holidays: string | undefined;
  readonly labels: Readonly<Record<string, string>>;
  readonly streams: readonly MinuteStream[];
  readonly breakdowns: readonly Breakdown[];
  /** The configured branches by branch id. */
  readonly branches: Readonly<Record<string, BranchConfig>>;
}

/** A building of a customer. What a branch does not say is as for its customer, but name and capacity. */
export interface BranchConfig extends Pick<
  CustomerConfig,
  'openingHours' | 'staffedHours' | 'holidays' | 'capacity' | 'estimate'
> {
  readonly name: string | undefined;
}
