/** Audits that no counter decreases within its counting period, over kills, and that no earlier period comes back. */
import { SAME_PERIOD_MS } from './tolerances.ts';
import type { AuditContext } from './auditor.ts';

/** A value exported for this long is in the state file. */
const WRITTEN_WITHIN_MS = 11_000;

/** The last value of a series in a period, and the one before. */
interface Shown {
  readonly value: number;
  readonly sinceMs: number;
  readonly before: number;
}

export function createDecreaseAuditor({ clock, report }: Pick<AuditContext, 'clock' | 'report'>) {
  /** By series, then by period. */
  const shownOf = new Map<string, Map<number, Shown>>();

  /** Forgets what a killed exporter had not written: only high-water marks on the disk count. */
  function killed(exporter: string, disk: 'whole' | 'lost'): void {
    for (const [series, periods] of shownOf) {
      if (series.startsWith(exporter) && disk === 'lost') {
        shownOf.delete(series);
      } else if (series.startsWith(exporter)) {
        for (const [periodMs, { value, sinceMs, before }] of periods) {
          const isWritten = sinceMs <= clock.nowMs() - WRITTEN_WITHIN_MS;
          periods.set(periodMs, { value: isWritten ? value : before, sinceMs, before });
        }
      }
    }
  }

  function audit(series: string, periodMs: number, value: number): void {
    const periods = shownOf.get(series) ?? new Map<number, Shown>();
    shownOf.set(series, periods);
    const last = periods.get(periodMs) ?? { value: 0, sinceMs: 0, before: 0 };
    if (value < last.value) {
      report(`${series} decreases from ${last.value} to ${value}`);
    }
    if (value !== last.value || !periods.has(periodMs)) {
      periods.set(periodMs, { value, sinceMs: clock.nowMs(), before: last.value });
    }
    const newestMs = Math.max(...periods.keys());
    if (newestMs - periodMs > SAME_PERIOD_MS) {
      report(`${series} is shown of the period ${periodMs} after that of ${newestMs}`);
    }
  }

  return { killed, audit };
}
