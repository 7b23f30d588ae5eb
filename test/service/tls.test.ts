/** Whom the service must be to be asked. */
import { describe, expect, test } from 'vitest';
import { AUTHORITY, startFakeService } from './support/fake-service.ts';
import { ask, createHarness, failureOf } from './support/harness.ts';

describe('TLS', () => {
  test('is trusted by the authority that the configuration names', async () => {
    await using fake = await startFakeService({ certificate: 'good' });
    using harness = createHarness(fake.url, { config: { ca: AUTHORITY } });
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
  });

  test.for([
    ['of an unknown authority', 'good', undefined],
    ['that has expired', 'expired', AUTHORITY],
    ['for another host', 'wrong-name', AUTHORITY],
  ] as const)('with a certificate %s is unreachable', async ([, certificate, ca]) => {
    await using fake = await startFakeService({ certificate });
    using harness = createHarness(fake.url, { config: { ca } });
    const error = await failureOf(ask(harness.riverside));
    expect(error.reason).toBe('unreachable');
    expect(error.message).toMatch(/^POST \/connect\/token: TLS failed; .*\([A-Z_]+\)$/);
    expect(fake.asked).toEqual([]);
  });

  test('with a service that does not speak it is unreachable', async () => {
    await using fake = await startFakeService();
    using harness = createHarness(fake.url.replace('http:', 'https:'));
    const error = await failureOf(ask(harness.riverside));
    expect(error.reason).toBe('unreachable');
    expect(error.message).toContain('TLS failed');
  });
});
