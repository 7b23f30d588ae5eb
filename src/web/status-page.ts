/**
 * The status page: a table of all customers, those that need attention first. Rendered on the server; it loads
 * nothing else: no script, no image, no font.
 */
import { Html, NOTHING, html } from './html.ts';
import { formatCount, formatDateTime, renderAgo, renderTable, renderTime } from './status-cells.ts';
import { PROBLEM_KINDS } from '../counting/problems.ts';
import type { ProblemKind } from '../counting/problems.ts';
import { COLUMNS, isUnpolled, renderCustomer } from './status-row.ts';
import type { CustomerStatus, PollTimes } from './status-row.ts';
import { STYLE } from './status-style.ts';

export interface StatusData extends PollTimes {
  readonly customers: readonly CustomerStatus[];
  readonly failedReload: FailedReload | undefined;
  /** The state file could not be saved, and was not saved since. */
  readonly stateFailure: { readonly sinceMs: number; readonly error: string } | undefined;
}

/** The newest reload that failed, if no later one succeeded. */
export interface FailedReload {
  readonly atMs: number;
  readonly problems: number;
}

const ROWS_PER_PAGE = 50;
const REFRESH_SECONDS = 60;

/** Returns the whole document. Only the customers on the page are asked for their values. */
export function renderStatusPage(
  data: StatusData,
  version: string,
  telemetryPath: string,
  query: URLSearchParams,
): string {
  const { nowMs, customers, failedReload, stateFailure } = data;
  const filter = (query.get('filter') ?? '').trim();
  const lowerCase = filter.toLowerCase();
  function matches(name: string): boolean {
    return name.toLowerCase().includes(lowerCase);
  }
  const groups = Map.groupBy(customers, (customer) => rankOf(customer, nowMs));
  const found = [...PROBLEM_KINDS, ...OTHER_RANKS]
    .flatMap((rank) => groups.get(rank) ?? [])
    .filter(({ customer, branchNames }) => matches(customer) || branchNames.some(matches));
  const pages = Math.max(1, Math.ceil(found.length / ROWS_PER_PAGE));
  // Beyond the last page, the last one is shown.
  const page = Math.min(Math.max(1, Math.trunc(Number(query.get('page')) || 1)), pages);
  const rows = found.slice((page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE);
  const [unpolled = 0, works = 0] = OTHER_RANKS.map((rank) => groups.get(rank)?.length);
  const attention = customers.length - unpolled - works;
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="refresh" content="${REFRESH_SECONDS}" />
        <title>${attention === 0 ? '' : `(${attention}) `}library-stats-exporter</title>
        ${new Html(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <header>
          <h1>library-stats-exporter</h1>
          <span class="soft">${version}</span>
          <a href=".${telemetryPath}">Metrics</a>
          <a href="./config">Configuration</a>
          <span class="soft">Documentation: README.md and docs</span>
        </header>
        <main>
          ${failedReload === undefined ? NOTHING : renderFailedReload(failedReload, nowMs)}
          ${stateFailure === undefined ? NOTHING : renderStateFailure(stateFailure)}
          <h2 class="hidden">Summary</h2>
          <dl class="summary">
            ${renderTile('customers', customers.length, '')}
            ${renderTile('need attention', attention, 'fails')}
            ${renderTile('not polled yet', unpolled, 'waits')}
            ${renderTile('without problems', works, 'works')}
          </dl>
          ${renderForm(filter, nowMs)} ${renderCustomers(rows, data, matches)}
          ${renderPager(found.length, filter, page, pages)}
        </main>
      </body>
    </html> `.markup;
}

/** After those with problems. */
const OTHER_RANKS = ['unpolled', 'works'] as const;

/** Returns by what the page sorts a customer: its first problem, or that of a branch. */
function rankOf(
  customer: CustomerStatus,
  nowMs: number,
): ProblemKind | (typeof OTHER_RANKS)[number] {
  const [first] = customer.problemsAt(nowMs);
  return first?.kind ?? (isUnpolled(customer) ? 'unpolled' : 'works');
}

function renderFailedReload({ atMs, problems }: FailedReload, nowMs: number): Html {
  return html`<p class="alert" role="alert">
    Configuration reload failed ${renderAgo(atMs, nowMs)} (problems: ${formatCount(problems)}). The
    previous configuration stays in use; the log has the details.
  </p>`;
}

function renderStateFailure({ sinceMs, error }: NonNullable<StatusData['stateFailure']>): Html {
  return html`<p class="alert" role="alert">
    State not saved since ${renderTime(sinceMs, formatDateTime(sinceMs).slice(0, 16))} UTC:
    ${error}. After a restart, counters could be lower.
  </p>`;
}

function renderTile(name: string, count: number, style: string): Html {
  return html`<div class="${count === 0 ? '' : style}">
    <dt>${name}</dt>
    <dd>${formatCount(count)}</dd>
  </div> `;
}

function renderForm(filter: string, nowMs: number): Html {
  return html`<form method="get" role="search">
    <label for="filter">Filter by name</label>
    <input
      id="filter"
      name="filter"
      type="search"
      value="${filter}"
      autocomplete="off"
      spellcheck="false"
    />
    <button>Filter</button>
    ${filter === '' ? NOTHING : html`<a href="?">Show all</a>`}
    <p class="soft">
      As of ${renderTime(nowMs, formatDateTime(nowMs))} UTC. Refreshes every ${REFRESH_SECONDS} s.
    </p>
  </form>`;
}

function renderCustomers(
  customers: readonly CustomerStatus[],
  times: PollTimes,
  matches: (name: string) => boolean,
): Html {
  if (customers.length === 0) {
    return html`<p class="empty">No customers found.</p>`;
  }
  const rows = customers.map((one) => renderCustomer(one, times, customers.length === 1, matches));
  return html`<div class="scroll">
    ${renderTable('Customers, those that need attention first', 'Customer', COLUMNS, rows)}
  </div>`;
}

function renderPager(found: number, filter: string, page: number, pages: number): Html {
  function link(rel: string, text: string, other: number): Html {
    const query = new URLSearchParams({ filter, page: String(other) });
    return html`<a rel="${rel}" href="?${query.toString()}">${text}</a>`;
  }
  return html`<nav aria-label="Pages">
    ${page > 1 ? link('prev', 'Previous', page - 1) : NOTHING}
    <span class="soft">Page ${page} of ${pages}, customers found: ${formatCount(found)}</span>
    ${page < pages ? link('next', 'Next', page + 1) : NOTHING}
  </nav>`;
}
