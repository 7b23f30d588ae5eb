/** `check --connect` over drawn conventions: whatever the service means, the figures are its own. */
import { expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { drawConventions } from '../../src/simulator/conventions.ts';
import { concernsOf, fieldsOf, started } from './connect-world.ts';

/** README, Limits: no way of asking gives such a service's totals, and that is said. */
const HOPELESS = [
  'wrong: day does not agree with minute, which is answered by something coarser',
  'wrong: timeout: the totals take more than the 1000 requests that one interval allows',
];

test.each(Array.from({ length: 24 }, (_, i) => i + 1))('world %d', async (seed) => {
  const conventions = { ...drawConventions(seededRandom(seed)), rateLimit: undefined };
  const world = await started({ drawn: {} }, conventions);
  const result = await world.check({ polling: { interval: '1s' } });
  const findings = Object.keys(concernsOf(result));
  const isHopeless = HOPELESS.some((finding) => findings.includes(finding));
  const shown = { ...fieldsOf(result, 'drawn'), ...fieldsOf(result, 'drawn', 'logins') };
  const right = {
    people_entered: '10',
    people_exited: '5',
    people_entered_today: '10',
    people_exited_today: '5',
    logins: '10',
    logins_today: '10',
  };
  expect(isHopeless ? right : shown).toMatchObject(right);
  const isWrong = findings.some((finding) => finding.startsWith('wrong: '));
  expect({ isWrong, status: result.status }).toEqual({
    isWrong: isHopeless || shown['occupancy'] === '-',
    status: isWrong ? 1 : 0,
  });
});
