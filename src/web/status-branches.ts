/** The branches of a customer on the status page, below its row. */
import { NO_ESTIMATE } from '../counting/customer-metrics.ts';
import type { BranchMetrics, CustomerMetrics } from '../counting/customer-metrics.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';
import { countsNobody, listDoorFaults, listNames, wasOpen } from './door-faults.ts';
import {
  ENTERED_TODAY,
  columnOfToday,
  formatCount,
  renderAgo,
  renderBadge,
  renderCount,
  renderOccupancy,
  renderOpen,
  renderRow,
  renderTable,
} from './status-cells.ts';
import type { Column } from './status-cells.ts';

/** More are folded. */
const MAX_UNFOLDED = 3;
/** A page of fifty customers with a thousand branches each would be too long to load. */
const MAX_ROWS = 100;

/** A branch, and what the page says of it beside its values. */
export interface BranchStatus {
  readonly metrics: BranchMetrics;
  readonly name: string;
  /** What may be wrong with its doors: then a person should look at it. */
  readonly faults: readonly string[];
  /** Whether values wait for the 28 days before. */
  readonly isReading: boolean;
  readonly nowMs: number;
}

/** The opening hours of the branches of a customer. */
export interface BranchHours {
  /** Returns whether a branch is open; undefined without opening hours. */
  isOpenAt(key: string, atMs: number): boolean | undefined;
}

/**
 * Returns the branches of a customer; undefined for a customer that is one building. `isReading` says of a
 * branch whether its values wait for the 28 days before.
 */
export function branchesOf(
  metrics: CustomerMetrics,
  nowMs: number,
  hours: BranchHours | undefined,
  isReading: (branch: BranchMetrics) => boolean,
): readonly BranchStatus[] | undefined {
  return metrics.branches?.map((branch) => {
    const isSilent =
      countsNobody(branch, metrics.streams.people, nowMs) &&
      wasOpen(branch.open, nowMs, (atMs) => hours?.isOpenAt(branch.key, atMs));
    return {
      metrics: branch,
      name: branch.name ?? branch.key,
      faults: listDoorFaults(isSilent, branch.estimate),
      isReading: isReading(branch),
      nowMs,
    };
  });
}

/** Returns how many of the branches with opening hours are open. */
export function renderOpenBranches(branches: readonly BranchStatus[]): Html {
  const withHours = branches.filter(({ metrics }) => metrics.open !== undefined);
  const open = withHours.filter(({ metrics }) => metrics.open === true);
  if (withHours.length === 0 || open.length === 0) {
    return renderOpen(withHours.length === 0 ? undefined : false);
  }
  return html`${renderOpen(true)} <small>${open.length} of ${withHours.length}</small>`;
}

/** Returns the people inside all branches together, if all are known. */
export function renderInsideBranches(branches: readonly BranchStatus[], isReading: boolean): Html {
  const counts = branches.map(({ metrics }) => metrics.occupancy ?? NaN);
  const sum = counts.reduce((total, count) => total + count, 0);
  const occupancy = Number.isNaN(sum) || counts.length === 0 ? undefined : sum;
  return renderOccupancy(
    { occupancy, capacity: undefined, estimate: NO_ESTIMATE },
    isReading || branches.some((branch) => branch.isReading),
  );
}

const COLUMNS: readonly Column<BranchStatus>[] = [
  { name: 'State', style: 'state', render: ({ metrics }) => renderOpen(metrics.open) },
  {
    name: 'Inside now',
    style: 'inside',
    render: ({ metrics, isReading }) => renderOccupancy(metrics, isReading),
  },
  ENTERED_TODAY,
  columnOfToday('Exited today', 'people_exited'),
  {
    name: 'Last visitor counted',
    style: 'last',
    render: ({ metrics: { lastSeenMs }, isReading, nowMs }) =>
      lastSeenMs === undefined ? renderCount(undefined, isReading) : renderAgo(lastSeenMs, nowMs),
  },
];

/**
 * Returns a row of `columns` columns with the branches of a customer, those that need attention first.
 * They are not folded if `isOnly` says that no other customer is on the page, or if only some `match` its
 * filter.
 */
export function renderBranches(
  customer: string,
  branches: readonly BranchStatus[],
  columns: number,
  isOnly: boolean,
  match: (branch: BranchStatus) => boolean,
): Html {
  if (branches.length === 0) {
    return NOTHING;
  }
  const matching = branches.filter(match);
  const first = matching.filter(({ faults }) => faults.length > 0);
  const inOrder = [...first, ...matching.filter(({ faults }) => faults.length === 0)];
  const more = inOrder.length - MAX_ROWS;
  const isOfFilter = matching.length < branches.length;
  const isOpen = isOnly || isOfFilter || branches.length <= MAX_UNFOLDED;
  const rows = inOrder.slice(0, MAX_ROWS).map(renderBranch);
  const attention = `Needs attention: ${listNames(first.map(({ name }) => name))}`;
  return html`<tr role="row" class="branches">
    <td role="cell" colspan="${columns}">
      <details ${isOpen ? 'open' : ''}>
        <summary>
          ${isOfFilter ? `${formatCount(matching.length)} of ` : ''}${branches.length === 1 ? '1 branch' : `${formatCount(branches.length)} branches`}
          ${first.length === 0 ? NOTHING : renderBadge('wait', attention)}
        </summary>
        ${renderTable(`Branches of ${customer}`, 'Branch', COLUMNS, rows)}
        ${more > 0 ? html`<p class="soft">${formatCount(more)} more are in the metrics.</p>` : NOTHING}
      </details>
    </td>
  </tr> `;
}

function renderBranch(branch: BranchStatus): Html {
  const { metrics, name, faults } = branch;
  const heading = html`${name}
  ${name === metrics.key ? NOTHING : html`<small>${metrics.key}</small>`}
  ${faults.map((fault) => renderBadge('wait', fault))}`;
  return renderRow(COLUMNS, branch, faults.length > 0 ? 'warns' : '', heading);
}
