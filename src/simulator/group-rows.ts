/** Rows by branch, client or device: who was counted where, whenever it was. */
import type { Aggregation, Breakdown } from '../base/model.ts';
import type { Ledger } from './ledger.ts';
import type { DataQuestion } from './questions.ts';
import { addAmount, addCounts } from './summary.ts';
import type { Counts } from './summary.ts';

/** `key` is JSON. */
export interface Row {
  readonly key: string;
  readonly counts: Counts;
}

export function groupRows(
  ledger: Ledger,
  question: DataQuestion,
  aggregation: Breakdown,
  nowMs: number,
): Row[] {
  const { library, conventions } = ledger;
  const byDevice = library.devices.map(() => ({ first: 0, second: 0, seen: false }));
  ledger.scan(
    { ...question, nowMs },
    (records, at) => {
      const counts = byDevice[records.device[at] ?? 0];
      if (counts !== undefined) {
        counts.seen = true;
        addAmount(counts, records.amount[at] ?? 0);
      }
    },
    (summary) => {
      summary.byDevice.forEach((more, at) => {
        const counts = byDevice[at];
        if (counts !== undefined && more.first + more.second > 0) {
          counts.seen = true;
          addCounts(counts, more);
        }
      });
      return true;
    },
  );
  const rows = new Map<number, Row>();
  library.devices.forEach((device, at) => {
    const counts = byDevice[at];
    const listed = conventions.emptyBuckets === 'listed' && device.kind === 'door';
    if (counts === undefined || !(counts.seen || listed)) {
      return;
    }
    const id = { branch: device.branchId, client: device.clientId, device: device.id }[aggregation];
    const row = rows.get(id) ?? {
      key: groupKey(ledger, aggregation, id),
      counts: { first: 0, second: 0 },
    };
    rows.set(id, row);
    addCounts(row.counts, counts);
  });
  return [...rows.values()];
}

function groupKey(ledger: Ledger, aggregation: Breakdown, id: number): string {
  const { library, conventions } = ledger;
  if (conventions.groupKey === 'name') {
    const named =
      aggregation === 'branch'
        ? library.branches.find((branch) => branch.id === id)?.name
        : aggregation === 'device'
          ? library.devices.find((device) => device.id === id)?.name
          : undefined;
    // Two doors may have one name, so the number stays part of it.
    return JSON.stringify(`${named ?? aggregation} ${id}`);
  }
  return conventions.groupKey === 'string' ? `"${id}"` : String(id);
}

export function isGroup(aggregation: Aggregation): aggregation is Breakdown {
  return aggregation === 'branch' || aggregation === 'client' || aggregation === 'device';
}
