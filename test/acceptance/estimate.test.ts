/** The occupancy estimate (docs/occupancy.md#raw-value-and-estimate). */
import { expect, test } from 'vitest';
import { eventually, launch } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';

const harness = new Harness();
const ESTIMATE = ['people', 'lower_people', 'upper_people'].map(
  (name) => `library_occupancy_estimate_${name}`,
);
const RATIO = 'library_door_count_ratio';

test('demo counts five customers, and those that empty at night have an estimate', async () => {
  const flags = ['demo', '--web.listen-address=127.0.0.1:0'];
  const demo = await launch(harness.workspace, flags).listening();
  await eventually(async () => {
    const exposition = await demo.scrape();
    function ofOneBuilding(family: string) {
      return exposition.all(family).filter(({ labels }) => labels['branch'] === undefined);
    }
    const counted = exposition.all('library_people_entered_total').map(({ labels }) => labels);
    expect(counted).toHaveLength(5);
    // One has branches, whose windows are read later. The last one never closes, and nobody is counted
    // there: at some hours nothing is known of its doors.
    const closing = counted.filter(
      ({ customer }) => customer !== 'harbour-point' && customer !== 'old-town',
    );
    expect(closing).toHaveLength(3);
    const known = exposition.all(RATIO).map(({ labels }) => labels);
    expect(known).toEqual(expect.arrayContaining(closing));
    // Nobody knows how many are behind the dead door of one of them.
    const faulty = ofOneBuilding('library_counts_trusted').filter(({ value }) => value === 0);
    const estimated = closing.filter(
      ({ customer }) => !faulty.some(({ labels }) => labels['customer'] === customer),
    );
    expect(estimated.length).toBeGreaterThanOrEqual(2);
    for (const family of ESTIMATE) {
      expect(ofOneBuilding(family).map(({ labels }) => labels)).toEqual(estimated);
    }
  });
  expect(await demo.stop('SIGINT')).toBe(0);
});

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
