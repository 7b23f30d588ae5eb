/** The branches of a customer on the status page, below its row. */
import type { BranchMetrics, CustomerMetrics } from '../counting/customer-metrics.ts';
import { inOrder } from '../counting/problems.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';
import {
  ENTERED_TODAY,
  columnOfToday,
  formatCount,
  renderAgo,
  listNames,
  renderBadge,
  renderCount,
  renderInside,
  renderOpen,
  renderProblem,
  renderRow,
  renderTable,
  styleOf,
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
  /** Whether values wait for the 28 days before. */
  readonly isReading: boolean;
  readonly nowMs: number;
}

/**
 * Returns the branches of a customer; undefined for a customer that is one building. `isReading` says of a
 * branch whether its values wait for the 28 days before.
 */
export function branchesOf(
  metrics: CustomerMetrics,
  nowMs: number,
  isReading: (branch: BranchMetrics) => boolean,
): readonly BranchStatus[] | undefined {
  return metrics.branches?.map((branch) => ({
    metrics: branch,
    name: branch.name ?? branch.key,
    isReading: isReading(branch),
    nowMs,
  }));
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

/** Returns the people inside all branches together whose counts are trusted, if they are known. */
export function renderInsideBranches(branches: readonly BranchStatus[], isReading: boolean): Html {
  const trusted = branches.filter(({ metrics }) => metrics.isTrusted !== false);
  const sum = trusted.reduce((total, { metrics }) => total + (metrics.inside ?? NaN), 0);
  if (Number.isNaN(sum) || trusted.length === 0) {
    return renderCount(undefined, isReading || trusted.some((branch) => branch.isReading));
  }
  const leftOut = branches.length - trusted.length;
  return html`<b>${formatCount(sum)}</b>
    ${leftOut === 0 ? NOTHING : html`<small>without ${formatCount(leftOut)} of ${formatCount(branches.length)}</small>`}`;
}

const COLUMNS: readonly Column<BranchStatus>[] = [
  { name: 'State', style: 'state', render: ({ metrics }) => renderOpen(metrics.open) },
  {
    name: 'Inside now',
    style: 'inside',
    render: ({ metrics, isReading }) => renderInside(metrics, isReading),
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
  const byProblem = Map.groupBy(matching, ({ metrics }) => metrics.problems[0]?.kind);
  const first = inOrder(
    [...byProblem.values()].flatMap(([one]) => one?.metrics.problems[0] ?? []),
  ).flatMap(({ kind }) => byProblem.get(kind) ?? []);
  const rowsInOrder = [...first, ...(byProblem.get(undefined) ?? [])];
  const more = rowsInOrder.length - MAX_ROWS;
  const isOfFilter = matching.length < branches.length;
  const isOpen = isOnly || isOfFilter || branches.length <= MAX_UNFOLDED;
  const rows = rowsInOrder.slice(0, MAX_ROWS).map(renderBranch);
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
  const { metrics, name, nowMs } = branch;
  const heading = html`${name}
  ${name === metrics.key ? NOTHING : html`<small>${metrics.key}</small>`}
  ${metrics.problems.map((problem) => renderProblem(problem, nowMs))}`;
  return renderRow(COLUMNS, branch, styleOf(metrics.problems), heading);
}
