/** Prometheus's HTTP service discovery: one target for each customer. */

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
  metricsPath: string,
): string {
  return JSON.stringify(
    customers.map(({ name, labels }) => ({
      targets: [address],
      labels: {
        __metrics_path__: metricsPath,
        __param_customer: name,
        instance: `${address}/${name}`,
        ...Object.fromEntries(
          Object.entries(labels).map(([label, value]) => [`__meta_library_${label}`, value]),
        ),
      },
    })),
  );
}
