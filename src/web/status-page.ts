/**
 * The page for people: how every customer does, whoever has trouble first. It is made whole on the
 * server, and what is not known is a dash, never 0.
 */
import { formatDuration } from '../base/duration.ts';
import { NOTHING, Html, html } from './html.ts';
import { troubleFirst, troubleOf } from './status-data.ts';
import type { StatusCustomer, StatusData, StatusStream, Trouble } from './status-data.ts';
import { STYLE } from './status-style.ts';

export interface StatusPageOptions {
  readonly version: string;
  readonly telemetryPath: string;
  /** From 1; a page that there is not is the nearest one that there is. */
  readonly page: number;
}

const ROWS_PER_PAGE = 200;

/** The whole document. */
export function renderStatusPage(data: StatusData, options: StatusPageOptions): string {
  const pages = Math.max(1, Math.ceil(data.customers.length / ROWS_PER_PAGE));
  const page = Math.min(Math.max(1, options.page), pages);
  const first = (page - 1) * ROWS_PER_PAGE;
  const rows = troubleFirst(data.customers).slice(first, first + ROWS_PER_PAGE);
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>library-stats-exporter</title>
        ${new Html(`<style>${STYLE}</style>`)}
      </head>
      <body>
        <header>
          <h1>library-stats-exporter</h1>
          <span>${options.version}</span>
          <a href="${options.telemetryPath}">Metrics</a>
        </header>
        <p>${summaryOf(data)}</p>
        ${rows.length === 0 ? NOTHING : renderTable(rows, data.nowMs)} ${renderPager(page, pages)}
      </body>
    </html> `.toString();
}

function summaryOf({ nowMs, customers }: StatusData): Html {
  const troubled = customers.filter((customer) => isTrouble(troubleOf(customer))).length;
  const at = `${new Date(nowMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const count = customers.length === 1 ? '1 customer' : `${customers.length} customers`;
  return troubled === 0
    ? html`${count}, none in trouble. ${at}`
    : html`${count}, <strong class="bad">${troubled} in trouble</strong>. ${at}`;
}

function renderTable(customers: readonly StatusCustomer[], nowMs: number): Html {
  return html`<div class="scroll">
    <table>
      <thead>
        <tr>
          <th scope="col">Customer</th>
          <th scope="col">State</th>
          <th scope="col">Inside now</th>
          <th scope="col" class="number">Entered today</th>
          <th scope="col" class="number">Exited today</th>
          <th scope="col" class="number">Logins today</th>
          <th scope="col">Polls</th>
        </tr>
      </thead>
      <tbody>
        ${customers.map((customer) => renderRow(customer, nowMs))}
      </tbody>
    </table>
  </div>`;
}

function renderRow(customer: StatusCustomer, nowMs: number): Html {
  const trouble = troubleOf(customer);
  const { kinds } = customer;
  return html`<tr class="${isTrouble(trouble) ? 'trouble' : 'fine'}">
    <th scope="row">${customer.customer} <small>${customer.timezone}</small></th>
    <td class="state" data-label="State">${renderOpen(customer.open)}</td>
    <td class="inside full" data-label="Inside now">${renderOccupancy(customer)}</td>
    <td class="number" data-label="Entered today">${renderCount(kinds.people_entered?.today)}</td>
    <td class="number" data-label="Exited today">${renderCount(kinds.people_exited?.today)}</td>
    <td class="number" data-label="Logins today">${renderCount(kinds.logins?.today)}</td>
    <td class="polls full" data-label="Polls">
      ${renderCredentials(customer)}
      <ul>
        ${Object.entries(customer.streams).map(([name, stream]) =>
          renderStream(name, stream, nowMs),
        )}
      </ul>
    </td>
  </tr>`;
}

function renderOpen(open: boolean | undefined): Html {
  if (open === undefined) {
    return renderCount(undefined);
  }
  return open ? html`<span class="good">Open</span>` : html`<span class="unknown">Closed</span>`;
}

function renderOccupancy({ occupancy, capacity }: StatusCustomer): Html {
  if (occupancy === undefined || capacity === undefined) {
    return renderCount(occupancy);
  }
  return html`${renderCount(occupancy)} of ${renderCount(capacity)}
    <meter min="0" max="${Math.max(capacity, 1)}" high="${capacity * 0.9}" value="${occupancy}">
      ${occupancy} of ${capacity}
    </meter>`;
}

function renderCredentials({ credentialsValid }: StatusCustomer): Html {
  return credentialsValid === false
    ? html`<div class="error">The service refuses the credentials.</div>`
    : NOTHING;
}

function renderStream(name: string, stream: StatusStream, nowMs: number): Html {
  return html`<li>
    ${renderUp(name, stream, nowMs)} <small>${pollCounts(stream)}</small>
    ${renderError(stream.lastError, nowMs)}
  </li>`;
}

function renderUp(name: string, { up, lastSuccessMs }: StatusStream, nowMs: number): Html {
  if (up === undefined) {
    return html`<span class="wait">○ ${name}</span> not polled yet`;
  }
  const lastGood =
    lastSuccessMs === undefined ? renderCount(undefined) : renderAgo(lastSuccessMs, nowMs);
  return up
    ? html`<span class="good">● ${name}</span> good ${lastGood}`
    : html`<span class="bad">✕ ${name} failing</span>, last good ${lastGood}`;
}

function pollCounts({ polls, failures, skipped }: StatusStream): string {
  const failed =
    failures === 0
      ? `${formatCount(polls)} polls`
      : `${formatCount(failures)} of ${formatCount(polls)} polls failed`;
  return skipped === 0 ? failed : `${failed}, ${formatCount(skipped)} skipped`;
}

function renderError(lastError: StatusStream['lastError'], nowMs: number): Html {
  return lastError === undefined
    ? NOTHING
    : html`<div class="error">
        ${lastError.message} <span class="unknown">${renderAgo(lastError.atMs, nowMs)}</span>
      </div>`;
}

/** How long ago, to two units, with the instant itself for whoever points at it. */
function renderAgo(atMs: number, nowMs: number): Html {
  const instant = new Date(atMs).toISOString();
  return html`<time datetime="${instant}" title="${instant}">${formatAge(nowMs - atMs)} ago</time>`;
}

function formatAge(ageMs: number): string {
  // A clock that steps back makes an age negative, which would tell nobody anything.
  const seconds = Math.max(0, Math.floor(ageMs / 1_000));
  const unit = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1;
  return formatDuration(Math.floor(seconds / unit) * unit * 1_000);
}

function renderCount(count: number | undefined): Html {
  return count === undefined
    ? html`<span class="unknown" title="not known">–</span>`
    : html`${formatCount(count)}`;
}

/** Thousands apart, as no country misreads it: by a narrow space that does not break. */
function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, '\u202f');
}

function isTrouble(trouble: Trouble): boolean {
  return trouble === 'credentials' || trouble === 'failing';
}

function renderPager(page: number, pages: number): Html {
  if (pages === 1) {
    return NOTHING;
  }
  return html`<nav aria-label="Pages">
    ${page > 1 ? html`<a rel="prev" href="?page=${page - 1}">Previous</a>` : NOTHING}
    ${page < pages ? html`<a rel="next" href="?page=${page + 1}">Next</a>` : NOTHING}
    <span>${`Page ${page} of ${pages}`}</span>
  </nav>`;
}
