/** Prometheus's HTTP service discovery: one target for each customer. */
import type { WebPaths } from './paths.ts';

export interface DiscoveredCustomer {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/**
 * Returns the target groups as JSON. `address` is host and port. Each target has an `instance` of its
 * own: `up` of a thousand targets would otherwise be one series.
 */
export function renderTargets(
  customers: readonly DiscoveredCustomer[],
  address: string,
  paths: Pick<WebPaths, 'metrics' | 'address'>,
): string {
  // Without an external URL, a proxy may add TLS: the scheme is the one of the scrape configuration.
  const scheme = paths.address === undefined ? {} : { __scheme__: paths.address.scheme };
  return JSON.stringify(
    customers.map(({ name, labels }) => ({
      targets: [address],
      labels: {
        ...scheme,
        __metrics_path__: paths.metrics,
        __param_customer: name,
        instance: `${address}/${name}`,
        ...Object.fromEntries(
          Object.entries(labels).map(([label, value]) => [`__meta_library_${label}`, value]),
        ),
      },
    })),
  );
}
