/**
 * The status page: one table of all customers and their branches, those that need attention first. It loads
 * nothing else: no script, no image, no font.
 */
import { createHash } from 'node:crypto';
import { formatNumber, html, renderPage, renderTable } from '../base/html.ts';
import type { Content, Html } from '../base/html.ts';
import { STYLE } from '../base/style.ts';
import { PROBLEM_KINDS } from '../counting/problems.ts';
import { ago, COLUMNS, rankOf, rowsOf, styleOf } from './status-rows.ts';
import type { CustomerStatus } from './status-rows.ts';

export interface StatusData {
  readonly nowMs: number;
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

/** A customer is not divided: one with more branches has a page of its own. */
const MAX_ROWS = 200;
const REFRESH_SECONDS = 60;

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** Forbids scripts, frames and every resource but the page's own style. */
export const CONTENT_SECURITY_POLICY =
  `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; ` +
  "form-action 'self'; frame-ancestors 'none'";

/** Ranks of customers without problems: those that wait for a first poll, and those that work. */
const [UNPOLLED, WORKS] = [PROBLEM_KINDS.length, PROBLEM_KINDS.length + 1];

/** Returns the whole document. Only the customers on the page are asked for their values. */
export function renderStatusPage(
  data: StatusData,
  version: string,
  telemetryPath: string,
  query: URLSearchParams,
): string {
  const { nowMs, customers } = data;
  const filter = (query.get('filter') ?? '').trim();
  const ranked = customers
    .map((customer) => ({ customer, rank: rankOfCustomer(customer, nowMs) }))
    .toSorted((a, b) => a.rank - b.rank);
  const found = ranked
    .map(({ customer }) => customer)
    .filter((customer) => passes(customer, filter));
  const pages = pagesOf(found);
  // Beyond the last page, the last one is shown.
  const page = Math.min(Math.max(1, Math.trunc(Number(query.get('page')) || 1)), pages.length);
  const rows = pages[page - 1]?.flatMap((customer) => rowsOf(customer, nowMs)) ?? [];
  const unpolled = ranked.filter(({ rank }) => rank === UNPOLLED).length;
  const works = ranked.filter(({ rank }) => rank === WORKS).length;
  const attention = ranked.length - unpolled - works;
  const body = html`<header>
      <h1>library-stats-exporter</h1>
      <span class="soft">${version}</span>
      <a href=".${telemetryPath}">Metrics</a>
      <a href="./config">Configuration</a>
    </header>
    ${renderAlerts(data)}
    <p>
      <b class="tile ${attention === 0 ? 'good' : 'bad'}"
        >${formatNumber(attention)} of ${formatNumber(ranked.length)} need attention</b
      >
      Not polled yet: ${formatNumber(unpolled)}, without problems: ${formatNumber(works)}.
      <span class="soft">As of ${formatTime(nowMs)}. Refreshes every ${REFRESH_SECONDS} s.</span>
    </p>
    <form method="get" role="search">
      <label for="filter">Filter by name</label>
      <input id="filter" name="filter" type="search" value="${filter}" />
      <button>Filter</button>
      ${filter === '' ? '' : html`<a href="?">Show all</a>`}
    </form>
    ${renderTable('Customers, those that need attention first', COLUMNS, rows, styleOf)}
    ${renderPager(found.length, filter, page, pages.length)}`;
  const title = `${attention === 0 ? '' : `(${attention}) `}library-stats-exporter`;
  const head = html`<meta http-equiv="refresh" content="${REFRESH_SECONDS}" />`;
  return renderPage(title, 'status', head, body);
}

/** Returns by what the page sorts a customer: its first problem, or that of a branch. */
function rankOfCustomer(customer: CustomerStatus, nowMs: number): number {
  const isUnpolled = Object.values(customer.health).some(({ up }) => up === undefined);
  const rank = rankOf(customer.problemsAt(nowMs));
  return rank === UNPOLLED && !isUnpolled ? WORKS : rank;
}

/** Whether a customer, or the id or name of one of its branches, has a text in its name. */
function passes({ customer, branchNames }: CustomerStatus, text: string): boolean {
  const names = [customer, ...branchNames.keys(), ...branchNames.values()];
  return names.some((name) => name.toLowerCase().includes(text.toLowerCase()));
}

/** Returns at least one page, which may be empty. */
function pagesOf(customers: readonly CustomerStatus[]): readonly (readonly CustomerStatus[])[] {
  const pages: CustomerStatus[][] = [[]];
  let rows = 0;
  for (const customer of customers) {
    const own = 1 + customer.branchNames.size;
    rows += own;
    if (rows > MAX_ROWS && rows > own) {
      pages.push([]);
      rows = own;
    }
    pages.at(-1)?.push(customer);
  }
  return pages;
}

function renderAlerts({ nowMs, failedReload, stateFailure }: StatusData): readonly Html[] {
  const alerts = [
    failedReload &&
      `Configuration reload failed ${ago(failedReload.atMs, nowMs)} (problems: ` +
        `${failedReload.problems}). The previous configuration stays in use; the log has the details.`,
    stateFailure &&
      `State not saved since ${formatTime(stateFailure.sinceMs)}: ${stateFailure.error}. ` +
        'After a restart, counters could be lower.',
  ];
  return alerts
    .filter((text) => text !== undefined)
    .map((text) => html`<p class="alert bad" role="alert">${text}</p>`);
}

function renderPager(found: number, filter: string, page: number, pages: number): Html {
  function link(rel: string, text: string, other: number): Content {
    const query = new URLSearchParams({ filter, page: String(other) });
    return other < 1 || other > pages
      ? ''
      : html`<a rel="${rel}" href="?${query.toString()}">${text}</a>`;
  }
  return html`<nav aria-label="Pages">
    ${link('prev', 'Previous', page - 1)}
    <span class="soft">Page ${page} of ${pages}, customers found: ${formatNumber(found)}</span>
    ${link('next', 'Next', page + 1)}
  </nav>`;
}

/** Returns an instant as `2026-03-10 09:00:00 UTC`. */
function formatTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
