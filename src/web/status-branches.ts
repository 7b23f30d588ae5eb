/** The branches of a customer on the status page, below its row. */
import { NO_ESTIMATE } from '../counting/customer-metrics.ts';
import type { BranchMetrics, CustomerMetrics } from '../counting/customer-metrics.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';
import { isBranchSilent, listNames } from './silence.ts';
import {
  formatCount,
  isDoorSuspect,
  renderAgo,
  renderCount,
  renderDoorBadges,
  renderEntered,
  renderOccupancy,
  renderOpen,
} from './status-cells.ts';

/** More are folded. */
const MAX_UNFOLDED = 3;
/** A page of fifty customers with a thousand branches each would be too long to load. */
const MAX_ROWS = 100;

/** A branch, and what the page says of it beside its values. */
export interface BranchStatus {
  readonly metrics: BranchMetrics;
  readonly name: string;
  /** Nobody was counted within two hours, in which it was open. */
  readonly isSilent: boolean;
}

/** The opening hours of the branches of a customer. */
export interface BranchHours {
  /** Returns whether a branch is open; undefined without opening hours. */
  isOpenAt(key: string, atMs: number): boolean | undefined;
}

/** Returns the branches of a customer; undefined for a customer that is one building. */
export function branchesOf(
  metrics: CustomerMetrics,
  nowMs: number,
  hours: BranchHours | undefined,
): readonly BranchStatus[] | undefined {
  const names = new Map(metrics.breakdowns.branch?.names);
  return metrics.branches?.map((branch) => ({
    metrics: branch,
    name: names.get(branch.key) ?? branch.key,
    isSilent: isBranchSilent(branch, metrics, nowMs, (atMs) => hours?.isOpenAt(branch.key, atMs)),
  }));
}

/** Returns whether a person should look at a branch. */
export function needsAttention({ isSilent, metrics }: BranchStatus): boolean {
  return isSilent || isDoorSuspect(metrics.estimate);
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

/** Returns the people inside all branches together; a dash while one of them is unknown. */
export function renderInsideBranches(branches: readonly BranchStatus[]): Html {
  const counts = branches.map(({ metrics }) => metrics.occupancy ?? NaN);
  const sum = counts.reduce((total, count) => total + count, 0);
  const occupancy = Number.isNaN(sum) || counts.length === 0 ? undefined : sum;
  return renderOccupancy({ occupancy, capacity: undefined, estimate: NO_ESTIMATE });
}

const COLUMNS: readonly {
  readonly name: string;
  readonly style: string;
  readonly render: (branch: BranchMetrics, nowMs: number) => Html;
}[] = [
  { name: 'State', style: 'state', render: ({ open }) => renderOpen(open) },
  { name: 'Inside now', style: 'inside', render: renderOccupancy },
  { name: 'Entered today', style: 'number', render: renderEntered },
  {
    name: 'Exited today',
    style: 'number',
    render: ({ counters }) => renderCount(counters.people_exited?.today),
  },
  {
    name: 'Last visitor counted',
    style: 'last',
    render: ({ lastSeenMs }, nowMs) =>
      lastSeenMs === undefined ? renderCount(undefined) : renderAgo(lastSeenMs, nowMs),
  },
];

/**
 * Returns a row of `columns` columns with the branches of a customer, those that need attention first.
 * `isOnly` says that no other customer is on the page: then they are not folded.
 */
export function renderBranches(
  customer: string,
  branches: readonly BranchStatus[],
  columns: number,
  nowMs: number,
  isOnly: boolean,
): Html {
  if (branches.length === 0) {
    return NOTHING;
  }
  const [first, others] = [true, false].map((needs) =>
    branches.filter((branch) => needsAttention(branch) === needs),
  );
  const inOrder = [...(first ?? []), ...(others ?? [])];
  const more = inOrder.length - MAX_ROWS;
  const isOpen = isOnly || branches.length <= MAX_UNFOLDED;
  return html`<tr role="row" class="branches">
    <td role="cell" colspan="${columns}">
      <details ${isOpen ? 'open' : ''}>
        <summary>
          ${branches.length === 1 ? '1 branch' : `${formatCount(branches.length)} branches`}
          ${renderAttention(first ?? [])}
        </summary>
        <table role="table" aria-label="Branches of ${customer}">
          <thead role="rowgroup">
            <tr role="row">
              <th role="columnheader" scope="col">Branch</th>
              ${COLUMNS.map(({ name, style }) => html`<th role="columnheader" scope="col" class="${style === 'number' ? style : ''}">${name}</th> `)}
            </tr>
          </thead>
          <tbody role="rowgroup">
            ${inOrder.slice(0, MAX_ROWS).map((branch) => renderBranch(branch, nowMs))}
          </tbody>
        </table>
        ${more > 0 ? html`<p class="soft">${formatCount(more)} more are in the metrics.</p>` : NOTHING}
      </details>
    </td>
  </tr> `;
}

function renderAttention(branches: readonly BranchStatus[]): Html {
  return branches.length === 0
    ? NOTHING
    : html`<span class="badge wait"
        >Needs attention: ${listNames(branches.map(({ name }) => name))}</span
      >`;
}

function renderBranch(branch: BranchStatus, nowMs: number): Html {
  const { metrics, name, isSilent } = branch;
  return html`<tr role="row" class="${needsAttention(branch) ? 'warns' : ''}">
    <th role="rowheader" scope="row">
      ${name} ${name === metrics.key ? NOTHING : html`<small>${metrics.key}</small>`}
      ${renderDoorBadges(isSilent, metrics.estimate)}
    </th>
    ${COLUMNS.map((column) => html`<td role="cell" class="${column.style}" data-label="${column.name}">${column.render(metrics, nowMs)}</td> `)}
  </tr> `;
}
