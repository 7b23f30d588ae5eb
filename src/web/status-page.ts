/**
 * The page for people: how every customer does, whoever has trouble first. It is made whole on the
 * server, and needs nothing beside itself: no script, no picture, no font.
 */
import { Html, NOTHING, html } from './html.ts';
import { byTrouble } from './status-data.ts';
import type { ByTrouble, StatusCustomer, StatusData } from './status-data.ts';
import { LONGEST_FILTER, hrefOf } from './status-query.ts';
import type { StatusQuery } from './status-query.ts';
import { COLUMNS, renderRow } from './status-row.ts';
import { STYLE } from './status-style.ts';
import { formatCount } from './status-words.ts';

export interface StatusPageOptions {
  readonly version: string;
  readonly telemetryPath: string;
  /** A page that there is not is the nearest one that there is. */
  readonly query: StatusQuery;
}

const ROWS_PER_PAGE = 50;
const REFRESH_SECONDS = 60;

/** The whole document. Only the customers of the page are asked for their details. */
export function renderStatusPage(data: StatusData, options: StatusPageOptions): string {
  const { query } = options;
  const all = byTrouble(data.customers);
  const found = [...all.values()].flat().filter(matcherOf(query.filter));
  const pages = Math.max(1, Math.ceil(found.length / ROWS_PER_PAGE));
  const page = Math.min(Math.max(1, query.page), pages);
  const first = (page - 1) * ROWS_PER_PAGE;
  const rows = found.slice(first, first + ROWS_PER_PAGE);
  const troubled = troubledOf(all);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${query.refresh ? html`<meta http-equiv="refresh" content="${REFRESH_SECONDS}" />` : NOTHING}
        <title>${troubled === 0 ? '' : `(${troubled}) `}library-stats-exporter</title>
        ${new Html(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <header>
          <h1>library-stats-exporter</h1>
          <span class="soft">${options.version}</span>
          <a href="${options.telemetryPath}">Metrics</a>
        </header>
        <main>
          ${renderSummary(all)} ${renderForm(query, data.nowMs)} ${renderTable(rows, data.nowMs)}
          ${renderPager(found.length, { ...query, page }, pages)}
        </main>
      </body>
    </html> `.toString();
}

function matcherOf(filter: string): (customer: StatusCustomer) => boolean {
  const wanted = filter.toLowerCase();
  return ({ customer }) => customer.toLowerCase().includes(wanted);
}

function troubledOf(all: ByTrouble): number {
  return (all.get('credentials')?.length ?? 0) + (all.get('failing')?.length ?? 0);
}

function renderSummary(all: ByTrouble): Html {
  const waiting = all.get('waiting')?.length ?? 0;
  const well = all.get('none')?.length ?? 0;
  const troubled = troubledOf(all);
  return html`<h2 class="hidden">Summary</h2>
    <dl class="summary">
      ${renderTile('customers', troubled + waiting + well, '')}
      ${renderTile('in trouble', troubled, troubled === 0 ? '' : 'fails')}
      ${waiting === 0 ? NOTHING : renderTile('not polled yet', waiting, 'waits')}
      ${renderTile('well', well, well === 0 ? '' : 'works')}
    </dl>`;
}

function renderTile(name: string, count: number, style: string): Html {
  return html`<div class="${style}">
    <dt>${name}</dt>
    <dd>${formatCount(count)}</dd>
  </div> `;
}

function renderForm(query: StatusQuery, nowMs: number): Html {
  const { filter, refresh } = query;
  return html`<form method="get" role="search">
    <label for="filter">Filter by name</label>
    <input
      id="filter"
      name="filter"
      type="search"
      maxlength="${LONGEST_FILTER}"
      value="${filter}"
      autocomplete="off"
      spellcheck="false"
    />
    ${refresh ? NOTHING : html`<input type="hidden" name="refresh" value="off" />`}
    <button>Filter</button>
    ${filter === '' ? NOTHING : html`<a href="${hrefOf({ page: 1, filter: '', refresh })}">Show all</a>`}
    <p class="soft">${renderAsOf(nowMs, query)}</p>
  </form>`;
}

function renderAsOf(nowMs: number, query: StatusQuery): Html {
  const instant = new Date(nowMs).toISOString();
  const at = html`As of
    <time datetime="${instant}">${instant.slice(0, 19).replace('T', ' ')} UTC</time>.`;
  const other = hrefOf({ ...query, refresh: !query.refresh });
  return query.refresh
    ? html`${at} Refreshes every ${REFRESH_SECONDS} s. <a href="${other}">Stop that</a>`
    : html`${at} Does not refresh. <a href="${other}">Refresh every ${REFRESH_SECONDS} s</a>`;
}

function renderTable(customers: readonly StatusCustomer[], nowMs: number): Html {
  if (customers.length === 0) {
    return html`<p class="empty">No customer to show.</p>`;
  }
  return html`<div class="scroll">
    <table role="table">
      <caption class="hidden">
        Customers, those in trouble first
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

function renderPager(found: number, query: StatusQuery, pages: number): Html {
  const { page, filter } = query;
  const matching = filter === '' ? NOTHING : html` with ${filter} in the name`;
  const count = html`${formatCount(found)} ${found === 1 ? 'customer' : 'customers'}${matching}`;
  if (pages === 1) {
    return filter === '' ? NOTHING : html`<p class="soft">${count}</p>`;
  }
  return html`<nav aria-label="Pages">
    ${page > 1 ? html`<a rel="prev" href="${hrefOf({ ...query, page: page - 1 })}">Previous</a>` : NOTHING}
    <span class="soft">Page ${page} of ${pages}: ${count}</span>
    ${page < pages ? html`<a rel="next" href="${hrefOf({ ...query, page: page + 1 })}">Next</a>` : NOTHING}
  </nav>`;
}
