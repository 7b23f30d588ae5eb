import type { ReportOptions } from './plan.ts';
import type { Section } from './rows.ts';
export function htmlReport(
  sections: readonly Section[],
  options: ReportOptions,
  nowMs: number,
): string {
  return String([sections, options, nowMs]);
}
