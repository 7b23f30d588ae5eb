/** One customer on the status page. */
import type { Stream } from '../base/model.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';
import { renderSparkline } from './sparkline.ts';
import { troubleOf } from './status-data.ts';
import type { StatusCustomer, StatusDetail, StatusStream, Trouble } from './status-data.ts';
import { formatAge, formatCount, renderAgo, renderCount } from './status-words.ts';

/** The columns, in order. The narrow page repeats them beside each value. */
export const COLUMNS = [
  { name: 'Customer', isNumber: false },
  { name: 'State', isNumber: false },
  { name: 'Inside now', isNumber: false },
  { name: 'Inside today', isNumber: false },
  { name: 'Entered today', isNumber: true },
  { name: 'Exited today', isNumber: true },
  { name: 'Logins today', isNumber: true },
  { name: 'Polls', isNumber: false },
] as const;

const TROUBLES = {
  credentials: html`<span class="badge bad">Credentials refused</span>`,
  failing: html`<span class="badge bad">Polls fail</span>`,
  waiting: html`<span class="badge wait">Not polled yet</span>`,
  none: NOTHING,
} satisfies Record<Trouble, Html>;

/** The roles say what a table says by itself, but no longer once the narrow page lays it out anew. */
export function renderRow(customer: StatusCustomer, nowMs: number): Html {
  const detail = customer.detail();
  const { figures, path } = detail;
  const { counters } = figures;
  const trouble = troubleOf(customer);
  return html`<tr role="row" class="${trouble}">
    <th role="rowheader" scope="row">
      ${customer.customer} <small>${figures.timezone}</small> ${TROUBLES[trouble]}
    </th>
    <td role="cell" class="state" data-label="State">${renderOpen(figures.open)}</td>
    <td role="cell" class="inside" data-label="Inside now">${renderOccupancy(detail)}</td>
    <td role="cell" class="path" data-label="Inside today">
      ${path === undefined ? renderCount(undefined) : renderSparkline(path, figures.utcOffsetSeconds)}
    </td>
    ${renderNumber('Entered today', counters.people_entered?.today)}
    ${renderNumber('Exited today', counters.people_exited?.today)}
    ${renderNumber('Logins today', counters.logins?.today)}
    <td role="cell" class="polls" data-label="Polls">${renderPolls(customer, detail, nowMs)}</td>
  </tr> `;
}

function renderNumber(label: string, count: number | undefined): Html {
  return html`<td role="cell" class="number" data-label="${label}">${renderCount(count)}</td> `;
}

function renderOpen(open: boolean | undefined): Html {
  if (open === undefined) {
    return renderCount(undefined);
  }
  return open ? html`<span class="open">Open</span>` : html`<span class="closed">Closed</span>`;
}

function renderOccupancy({ figures: { occupancy, capacity } }: StatusDetail): Html {
  if (occupancy === undefined || capacity === undefined) {
    return html`<b>${renderCount(occupancy)}</b>`;
  }
  return html`<b>${formatCount(occupancy)}</b> <span class="soft">of ${formatCount(capacity)}</span>
    <meter min="0" max="${capacity}" high="${capacity * 0.9}" optimum="0" value="${occupancy}">
      ${Math.round((occupancy / capacity) * 100)} %
    </meter>`;
}

function renderPolls({ streams }: StatusCustomer, detail: StatusDetail, nowMs: number): Html {
  const all = Object.entries(streams);
  return html`<ul>
      ${all.map(([name, stream]) =>
        renderStream(name, stream, nowMs, detail.nextPollInMs[name as Stream]),
      )}
    </ul>
    ${renderErrors(all, nowMs)}${renderLastSeen(detail, nowMs)}`;
}

function renderStream(
  name: string,
  stream: StatusStream,
  nowMs: number,
  nextPollInMs: number | undefined,
): Html {
  const next = nextWords(nextPollInMs);
  const counts = pollCounts(stream);
  return html`<li>
    ${renderUp(name, stream, nowMs)}${
      counts.length > 0
        ? html` <small>${[...counts, ...next].join(', ')}</small>`
        : html`${next.map((words) => `, ${words}`).join('')}`
    }
  </li> `;
}

function renderUp(name: string, { up, lastSuccessMs }: StatusStream, nowMs: number): Html {
  if (up === undefined) {
    return html`<span class="waits">○ ${name}</span> not polled yet`;
  }
  if (up && lastSuccessMs !== undefined) {
    return html`<span class="works">● ${name}</span> ${renderAgo(lastSuccessMs, nowMs)}`;
  }
  const failing = html`<span class="fails">✕ ${name} failing</span>`;
  return lastSuccessMs === undefined
    ? html`${failing}, never good`
    : html`${failing}, last good ${renderAgo(lastSuccessMs, nowMs)}`;
}

function nextWords(nextPollInMs: number | undefined): readonly string[] {
  if (nextPollInMs === undefined) {
    return [];
  }
  return nextPollInMs === 0
    ? ['polling now']
    : [`next in ${formatAge(Math.ceil(nextPollInMs / 1_000) * 1_000)}`];
}

/** Only where not all went well. */
function pollCounts({ polls, failures, skipped }: StatusStream): readonly string[] {
  const failed = `${formatCount(failures)} of ${formatCount(polls)} polls failed`;
  return [
    ...(failures === 0 ? [] : [failed]),
    ...(skipped === 0 ? [] : [`${formatCount(skipped)} skipped`]),
  ];
}

/** What all the streams suffer from is said once. */
function renderErrors(all: readonly (readonly [string, StatusStream])[], nowMs: number): Html {
  const newest = new Map<string, number>();
  for (const [, { lastError }] of all) {
    if (lastError !== undefined) {
      const { message, atMs } = lastError;
      newest.set(message, Math.max(atMs, newest.get(message) ?? 0));
    }
  }
  return html`${Array.from(
    newest,
    ([message, atMs]) =>
      html`<p class="error">${message} <span class="soft">${renderAgo(atMs, nowMs)}</span></p> `,
  )}`;
}

/** A door whose counter is dead looks well in everything but this. */
function renderLastSeen({ figures: { streams } }: StatusDetail, nowMs: number): Html {
  const lastSeenMs = streams.people?.lastSeenMs;
  return lastSeenMs === undefined
    ? NOTHING
    : html`<p class="seen soft">Last visitor counted ${renderAgo(lastSeenMs, nowMs)}</p>`;
}
