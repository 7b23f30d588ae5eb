/**
 * The status page: a table of all customers, failing ones first. Rendered on the server; it loads
 * nothing else: no script, no image, no font.
 */
import {
  COLUMNS,
  Html,
  NOTHING,
  formatCount,
  html,
  renderAgo,
  renderRow,
  severityOf,
} from './status-row.ts';
import type { CustomerStatus, Severity } from './status-row.ts';
import { STYLE } from './status-style.ts';

export interface StatusData {
  readonly nowMs: number;
  readonly customers: readonly CustomerStatus[];
  readonly failedReload: FailedReload | undefined;
}

/** The newest reload that failed, if no later one succeeded. */
export interface FailedReload {
  readonly atMs: number;
  readonly problems: number;
}

export interface StatusPageOptions {
  readonly version: string;
  readonly telemetryPath: string;
  readonly query: StatusQuery;
}

/** The query of the page's address. */
export interface StatusQuery {
  /** From 1. Beyond the last page, the last one is shown. */
  readonly page: number;
  /** A part of a customer's name, in any case; empty for all. */
  readonly filter: string;
}

const ROWS_PER_PAGE = 50;
const REFRESH_SECONDS = 60;
/** The maximum length of a customer's name. */
const MAX_FILTER_CHARACTERS = 128;

const BY_SEVERITY: readonly Severity[] = ['credentials', 'failing', 'waiting', 'ok'];

/** The query of a path such as `/?filter=river`. Invalid values are ignored. */
export function parseStatusQuery(path: string): StatusQuery {
  const mark = path.indexOf('?');
  const query = new URLSearchParams(mark === -1 ? '' : path.slice(mark));
  const page = query.get('page') ?? '';
  const filter = (query.get('filter') ?? '').trim();
  return {
    page: /^\d{1,6}$/.test(page) ? Number(page) : 1,
    filter: Array.from(filter).slice(0, MAX_FILTER_CHARACTERS).join(''),
  };
}

function hrefOf(page: number, filter: string): string {
  const query = new URLSearchParams({
    ...(filter === '' ? {} : { filter }),
    ...(page === 1 ? {} : { page: String(page) }),
  });
  return `?${query.toString()}`;
}

/** The whole document. Only the customers on the page are asked for their details. */
export function renderStatusPage(
  { nowMs, customers, failedReload }: StatusData,
  { version, telemetryPath, query }: StatusPageOptions,
): string {
  const groups = Map.groupBy(customers, severityOf);
  const wanted = query.filter.toLowerCase();
  const found = BY_SEVERITY.flatMap((severity) => groups.get(severity) ?? []).filter(
    ({ customer }) => customer.toLowerCase().includes(wanted),
  );
  const pages = Math.max(1, Math.ceil(found.length / ROWS_PER_PAGE));
  const page = Math.min(Math.max(1, query.page), pages);
  const rows = found.slice((page - 1) * ROWS_PER_PAGE, page * ROWS_PER_PAGE);
  const failing = countOf(groups, 'credentials') + countOf(groups, 'failing');
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="refresh" content="${REFRESH_SECONDS}" />
        <title>${failing === 0 ? '' : `(${failing}) `}library-stats-exporter</title>
        ${new Html(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <header>
          <h1>library-stats-exporter</h1>
          <span class="soft">${version}</span>
          <a href="${telemetryPath}">Metrics</a>
        </header>
        <main>
          ${renderFailedReload(failedReload, nowMs)}
          <h2 class="hidden">Summary</h2>
          <dl class="summary">
            ${renderTile('customers', customers.length, '')}
            ${renderTile('failing', failing, failing === 0 ? '' : 'fails')}
            ${
              groups.has('waiting')
                ? renderTile('not polled yet', countOf(groups, 'waiting'), 'waits')
                : NOTHING
            }
            ${renderTile('OK', countOf(groups, 'ok'), groups.has('ok') ? 'works' : '')}
          </dl>
          ${renderForm(query.filter, nowMs)} ${renderTable(rows, nowMs)}
          ${renderPager(found.length, query.filter, page, pages)}
        </main>
      </body>
    </html> `.toString();
}

function countOf(groups: ReadonlyMap<Severity, readonly unknown[]>, severity: Severity): number {
  return groups.get(severity)?.length ?? 0;
}

function renderFailedReload(failed: FailedReload | undefined, nowMs: number): Html {
  if (failed === undefined) {
    return NOTHING;
  }
  const problems = `${formatCount(failed.problems)} ${failed.problems === 1 ? 'problem' : 'problems'}`;
  return html`<p class="alert" role="alert">
    Configuration reload failed ${renderAgo(failed.atMs, nowMs)}, ${problems}. The previous
    configuration stays in use; the log has the details.
  </p>`;
}

function renderTile(name: string, count: number, style: string): Html {
  return html`<div class="${style}">
    <dt>${name}</dt>
    <dd>${formatCount(count)}</dd>
  </div> `;
}

function renderForm(filter: string, nowMs: number): Html {
  const instant = new Date(nowMs).toISOString();
  return html`<form method="get" role="search">
    <label for="filter">Filter by name</label>
    <input
      id="filter"
      name="filter"
      type="search"
      maxlength="${MAX_FILTER_CHARACTERS}"
      value="${filter}"
      autocomplete="off"
      spellcheck="false"
    />
    <button>Filter</button>
    ${filter === '' ? NOTHING : html`<a href="?">Show all</a>`}
    <p class="soft">
      As of <time datetime="${instant}">${instant.slice(0, 19).replace('T', ' ')} UTC</time>.
      Refreshes every ${REFRESH_SECONDS} s.
    </p>
  </form>`;
}

function renderTable(customers: readonly CustomerStatus[], nowMs: number): Html {
  if (customers.length === 0) {
    return html`<p class="empty">No customers found.</p>`;
  }
  return html`<div class="scroll">
    <table role="table">
      <caption class="hidden">
        Customers, failing ones first
      </caption>
      <thead role="rowgroup">
        <tr role="row">
          ${COLUMNS.map(
            ({ name, isNumber }) =>
              html`<th role="columnheader" scope="col" class="${isNumber ? 'number' : ''}">
                ${name}
              </th> `,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${customers.map((customer) => renderRow(customer, nowMs))}
      </tbody>
    </table>
  </div>`;
}

function renderPager(found: number, filter: string, page: number, pages: number): Html {
  const matching = filter === '' ? NOTHING : html` with ${filter} in the name`;
  const count = html`${formatCount(found)} ${found === 1 ? 'customer' : 'customers'}${matching}`;
  if (pages === 1) {
    return filter === '' ? NOTHING : html`<p class="soft">${count}</p>`;
  }
  return html`<nav aria-label="Pages">
    ${page > 1 ? html`<a rel="prev" href="${hrefOf(page - 1, filter)}">Previous</a>` : NOTHING}
    <span class="soft">Page ${page} of ${pages}: ${count}</span>
    ${page < pages ? html`<a rel="next" href="${hrefOf(page + 1, filter)}">Next</a>` : NOTHING}
  </nav>`;
}
