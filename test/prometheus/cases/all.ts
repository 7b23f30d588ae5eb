/** What is proven of every alert. */
import type { AlertCase } from '../alert-case.ts';
import { COUNTING_CASES } from './counting.ts';
import { EXPORTER_CASES } from './exporter.ts';
import { HELD_CASES } from './held.ts';
import { INSIDE_CASES } from './inside.ts';
import { POLLING_CASES } from './polling.ts';
import { FIRST_ZERO_TRAFFIC_CASES } from './zero-traffic-at-first.ts';
import { ZERO_TRAFFIC_CASES } from './zero-traffic.ts';

export const ALERT_CASES: readonly AlertCase[] = [
  ...EXPORTER_CASES,
  ...POLLING_CASES,
  ...HELD_CASES,
  ...ZERO_TRAFFIC_CASES,
  ...FIRST_ZERO_TRAFFIC_CASES,
  ...COUNTING_CASES,
  ...INSIDE_CASES,
];
