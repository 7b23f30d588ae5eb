/** Without the occupancy estimate (docs/occupancy.md#raw-value-and-estimate). */
import { expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';

const harness = new Harness();
const ESTIMATE = ['people', 'lower_people', 'upper_people'].map(
  (name) => `library_occupancy_estimate_${name}`,
);
const RATIO = 'library_door_count_ratio';

test('estimate: false removes its metrics, but not what is usual', async () => {
  const [on, off] = [harness.addCustomer('on'), harness.addCustomer('off')];
  const settings = { customers: { off: { estimate: false } } };
  const daemon = await harness.start(harness.configure([on, off], settings));
  await exact(daemon, on, off);
  await eventually(async () => {
    expect(await daemon.value(RATIO, { customer: 'on' })).toBeDefined();
  });
  await eventually(async () => {
    expect(
      await daemon.value('library_people_entered_usual_today', { customer: 'off' }),
    ).toBeDefined();
  });
  const exposition = await daemon.scrape();
  const shown = [...ESTIMATE, RATIO].flatMap((family) => exposition.all(family));
  expect(shown.filter(({ labels }) => labels['customer'] === 'off')).toEqual([]);
});
