import { Secret } from '../../src/base/secret.ts';
import type { Config, CustomerConfig, PollingConfig } from '../../src/config/types.ts';
import type { SimulatedService } from '../../src/simulator/simulated-service.ts';

/** A configuration of all customers of a simulated service. */
export function configOf(
  service: SimulatedService,
  polling: PollingConfig,
  rest: Pick<CustomerConfig, 'streams' | 'breakdowns'>,
): Config {
  return {
    service: {
      baseUrl: 'https://statistics.example.org',
      authUrl: 'https://identity.example.org',
      scope: 'ServiceAPI',
      timeoutMs: 10_000,
      maxConcurrency: 8,
      maxRequestsPerSecond: 50,
      requestTimes: 'offset',
      keyTimes: 'local',
      proxyUrl: undefined,
      ca: undefined,
    },
    polling,
    customers: service.customers.map(({ library, clientId, clientSecret }) => ({
      name: library.name,
      clientId,
      clientSecret: { secret: new Secret(clientSecret), path: undefined },
      timezone: library.timezone,
      dayStartsAt: { hour: 4, minute: 0 },
      capacity: undefined,
      openingHours: undefined,
      staffedHours: undefined,
      holidays: undefined,
      labels: {},
      branches: {},
      estimate: true,
      ...rest,
    })),
  };
}
