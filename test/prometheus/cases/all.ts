/** What is proven of every alert. */
import type { AlertCase } from '../alert-case.ts';
import { COUNTING_CASES } from './counting.ts';
import { EXPORTER_CASES } from './exporter.ts';
import { POLLING_CASES } from './polling.ts';
import { ZERO_TRAFFIC_CASES } from './zero-traffic.ts';

export const ALERT_CASES: readonly AlertCase[] = [
  ...EXPORTER_CASES,
  ...POLLING_CASES,
  ...ZERO_TRAFFIC_CASES,
  ...COUNTING_CASES,
];
