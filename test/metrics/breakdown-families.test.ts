import { expect, test } from 'vitest';
import { createExposition } from '../../src/metrics/exposition.ts';
import type { BreakdownMetrics } from '../../src/counting/customer-metrics.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { MovableSource, NOW_MS, harbour, riverside } from './fixtures.ts';

const POLLED = 'Polled from the service in the background, not at the scrape.';

const BRANCH: BreakdownMetrics = {
  keys: [
    {
      key: '101',
      counters: {
        people_entered: { total: 400, excess: 0, today: 9 },
        people_exited: { total: 390, excess: 2, today: 4 },
      },
      occupancy: 5,
    },
    {
      key: 'West "Wing"',
      counters: {
        people_entered: { total: 30, excess: 30, today: undefined },
        people_exited: { total: undefined, excess: undefined, today: 0 },
      },
      occupancy: undefined,
    },
  ],
  droppedKeys: 0,
  names: [
    ['99', 'Old Town'],
    ['101', 'Main Library'],
    ['West "Wing"', 'West "Wing"'],
  ],
};

const BRANCHES = `\
# HELP library_branch_people_entered_total People counted in at the branch since the epoch: the service's own total of in, kept from falling. A part of library_people_entered_total. ${POLLED}
# TYPE library_branch_people_entered_total counter
library_branch_people_entered_total{customer="riverside",branch="101"} 400
library_branch_people_entered_total{customer="riverside",branch="West \\"Wing\\""} 30
# HELP library_branch_people_exited_total People counted out at the branch since the epoch: the service's own total of out, kept from falling. A part of library_people_exited_total. ${POLLED}
# TYPE library_branch_people_exited_total counter
library_branch_people_exited_total{customer="riverside",branch="101"} 390
# HELP library_branch_people_entered_today People counted in at the branch since the day started, corrections included. ${POLLED}
# TYPE library_branch_people_entered_today gauge
library_branch_people_entered_today{customer="riverside",branch="101"} 9
# HELP library_branch_people_exited_today People counted out at the branch since the day started, corrections included. ${POLLED}
# TYPE library_branch_people_exited_today gauge
library_branch_people_exited_today{customer="riverside",branch="101"} 4
library_branch_people_exited_today{customer="riverside",branch="West \\"Wing\\""} 0
# HELP library_branch_occupancy_people People inside the branch: today's in minus today's out, never below 0. The service gives no minutes of a branch, so that nothing is floored in between, as library_occupancy_people is. Absent when the newest good poll is too old to tell. ${POLLED}
# TYPE library_branch_occupancy_people gauge
library_branch_occupancy_people{customer="riverside",branch="101"} 5
# HELP library_branch_info Name of the branch as configured; where none is, the branch as the service calls it. Always 1.
# TYPE library_branch_info gauge
library_branch_info{customer="riverside",branch="99",name="Old Town"} 1
library_branch_info{customer="riverside",branch="101",name="Main Library"} 1
library_branch_info{customer="riverside",branch="West \\"Wing\\"",name="West \\"Wing\\""} 1
# HELP library_branch_counter_excess By how much the exported counter of the branch is above the service's total now. Above 0 only after the service took counts back, or lists the branch no more; it ends with the epoch.
# TYPE library_branch_counter_excess gauge
library_branch_counter_excess{customer="riverside",branch="101",counter="people_entered"} 0
library_branch_counter_excess{customer="riverside",branch="101",counter="people_exited"} 2
library_branch_counter_excess{customer="riverside",branch="West \\"Wing\\"",counter="people_entered"} 30
# HELP library_breakdown_keys_dropped Branches, clients or devices that the service lists and that are not shown, because there are too many of them. Which ones are shown stays the same until the epoch ends.
# TYPE library_breakdown_keys_dropped gauge
library_breakdown_keys_dropped{customer="riverside",stream="branch"} 0
`;

function expose(...sources: readonly MovableSource[]): string {
  const exposition = createExposition({ clock: new VirtualClock(NOW_MS) });
  exposition.setCustomers(sources);
  return Buffer.concat(exposition.render('text').parts).toString();
}

test('branches come after everything else, with the breakdown as a label', () => {
  const text = expose(
    new MovableSource(riverside({ breakdowns: { branch: BRANCH } })),
    new MovableSource(harbour()),
  );
  const without = expose(new MovableSource(riverside()), new MovableSource(harbour()));
  expect(text).toBe(without + BRANCHES);
});

test('clients and devices are called by their own names, without names and occupancy', () => {
  const device = { ...BRANCH, droppedKeys: 7, names: [] };
  const text = expose(new MovableSource(riverside({ breakdowns: { device } })));
  expect(text).toContain(
    'library_device_people_entered_total{customer="riverside",device="101"} 400\n',
  );
  expect(text).toContain(
    'library_breakdown_keys_dropped{customer="riverside",stream="device"} 7\n',
  );
  expect(text).not.toMatch(/library_(device_info|device_occupancy|branch|client)/);
});

test('families come and go with the customers that have them', () => {
  const exposition = createExposition({ clock: new VirtualClock(NOW_MS) });
  const source = new MovableSource(riverside());
  const texts = [{}, { branch: BRANCH }, {}].map((breakdowns) => {
    source.figures = riverside({ breakdowns });
    exposition.setCustomers([source]);
    return Buffer.concat(exposition.render('text').parts).toString();
  });
  expect(texts[1]).toBe(`${texts[0]}${BRANCHES}`);
  expect(texts[2]).toBe(texts[0]);
});
