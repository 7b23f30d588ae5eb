/** One customer on the status page. */
import { formatDuration } from '../base/duration.ts';
import type { CounterName, Stream } from '../base/model.ts';
import type {
  CustomerMetrics,
  EstimateMetrics,
  Health,
  MetricsSource,
  OccupancySeries,
} from '../counting/customer-metrics.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';
import { findSilence } from './silence.ts';
import type { Silence } from './silence.ts';

/** Separates thousands by a narrow no-break space, which is unambiguous in every country. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, '\u202f');
}

/** An unknown count is a dash, never 0. */
function renderCount(count: number | undefined): Html {
  return count === undefined
    ? html`<span class="soft" title="unknown">–</span>`
    : html`${formatCount(count)}`;
}

/** Returns a text for an instant, which is the tooltip. */
export function renderTime(atMs: number, text: string): Html {
  const instant = new Date(atMs).toISOString();
  return html`<time datetime="${instant}" title="${instant}">${text}</time>`;
}

/** Returns how long ago an instant was: `1h12m ago`. */
export function renderAgo(atMs: number, nowMs: number): Html {
  return renderTime(atMs, `${formatAge(nowMs - atMs)} ago`);
}

/** Returns a duration in two units, such as `1h12m`. Never negative, even if the clock stepped back. */
function formatAge(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1_000));
  const unit = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1;
  return formatDuration(Math.floor(seconds / unit) * unit * 1_000);
}

/** Local hours and minutes. */
function formatWallTime(atMs: number, utcOffsetSeconds: number): string {
  return formatWallDateTime(atMs, utcOffsetSeconds).slice(11);
}

function formatWallDateTime(atMs: number, utcOffsetSeconds: number): string {
  const local = new Date(atMs + utcOffsetSeconds * 1_000);
  return local.toISOString().slice(0, 16).replace('T', ' ');
}

/** Local hours and minutes, after the date if it is not the one of `nowMs`. */
function formatSince(atMs: number, nowMs: number, utcOffsetSeconds: number): string {
  const text = formatWallDateTime(atMs, utcOffsetSeconds);
  const today = formatWallDateTime(nowMs, utcOffsetSeconds).slice(0, 10);
  return text.startsWith(today) ? text.slice(11) : text;
}

/** What the page shows of a customer. Values are computed for the customers on the page only. */
export interface CustomerStatus extends MetricsSource {
  readonly credentialsValid: boolean | undefined;
  readonly health: Readonly<Partial<Record<Stream, Health>>>;
  /** Undefined without opening hours. */
  isOpenAt(atMs: number): boolean | undefined;
  occupancySeriesAt(nowMs: number): OccupancySeries | undefined;
}

/** Refused credentials need a person; a failed poll may recover by itself. */
export type Severity = 'credentials' | 'failing' | 'unconfirmed' | 'unpolled' | 'ok';

const BADGES = {
  credentials: html`<span class="badge bad">Credentials refused</span>`,
  failing: html`<span class="badge bad">Polls failing</span>`,
  unconfirmed: html`<span class="badge wait">Values not confirmed</span>`,
  unpolled: html`<span class="badge wait">Not polled yet</span>`,
  ok: NOTHING,
} satisfies Record<Severity, Html>;

/** Returns the severity by which the page sorts and colours a customer. */
export function severityOf({ credentialsValid, health }: CustomerStatus): Severity {
  if (credentialsValid === false) {
    return 'credentials';
  }
  const polled = Object.values(health);
  if (polled.some(({ up }) => up === false)) {
    return 'failing';
  }
  if (polled.some(({ waitingSinceMs }) => waitingSinceMs !== undefined)) {
    return 'unconfirmed';
  }
  return polled.some(({ up }) => up === undefined) ? 'unpolled' : 'ok';
}

const DOOR_FAULT_BADGES = {
  exits_missing: html`<span class="badge wait">Exits missing?</span>`,
  entries_missing: html`<span class="badge wait">Entries missing?</span>`,
  silent: html`<span class="badge wait">Doors silent?</span>`,
  none: NOTHING,
} satisfies Record<NonNullable<EstimateMetrics['fault']>, Html>;

/** The time of the page, and the time until the next polls. */
export interface PollTimes {
  readonly nowMs: number;
  /** 0 for a stream that is being polled; undefined if it is not known. */
  readonly nextPollInMs: (customer: CustomerStatus, stream: string) => number | undefined;
}

/** A customer's values at the time of the page. */
interface Row extends PollTimes {
  readonly customer: CustomerStatus;
  readonly metrics: CustomerMetrics;
  readonly series: OccupancySeries | undefined;
  readonly silence: Silence;
}

/** The columns after the customer's name. The narrow layout repeats the names beside the values. */
export const COLUMNS: readonly {
  readonly name: string;
  readonly style: string;
  readonly render: (row: Row) => Html;
}[] = [
  { name: 'State', style: 'state', render: ({ metrics }) => renderOpen(metrics.open) },
  { name: 'Inside now', style: 'inside', render: ({ metrics }) => renderOccupancy(metrics) },
  { name: 'Inside today', style: 'series', render: renderSparkline },
  { name: 'Entered today', style: 'number', render: ({ metrics }) => renderEntered(metrics) },
  columnOf('Exited today', 'people_exited'),
  columnOf('Logins today', 'logins'),
  { name: 'Polls', style: 'polls', render: renderPolls },
];

function renderEntered({ counters, usual }: CustomerMetrics): Html {
  const usually =
    usual?.entriesToday === undefined
      ? NOTHING
      : html`<small>usually ${formatCount(Math.round(usual.entriesToday))} by now</small>`;
  return html`${renderCount(counters.people_entered?.today)} ${usually}`;
}

function columnOf(name: string, counter: CounterName) {
  return {
    name,
    style: 'number',
    render: ({ metrics }: Row) => renderCount(metrics.counters[counter]?.today),
  };
}

/** Returns a row. Its roles repeat those of a table, which the narrow layout would lose. */
export function renderRow(customer: CustomerStatus, { nowMs, nextPollInMs }: PollTimes): Html {
  const metrics = customer.metricsAt(nowMs);
  const series = customer.occupancySeriesAt(nowMs);
  const silence = findSilence(metrics, nowMs, (atMs) => customer.isOpenAt(atMs));
  const row = { customer, metrics, series, silence, nowMs, nextPollInMs };
  const { fault } = metrics.estimate;
  const severity = severityOf(customer);
  return html`<tr role="row" class="${severity}${silence.isOverdue ? ' warns' : ''}">
    <th role="rowheader" scope="row">
      ${customer.customer} <small>${metrics.timezone}</small> ${BADGES[severity]}
      ${silence.isSilent ? html`<span class="badge wait">Nobody counted</span>` : NOTHING}
      ${fault === undefined ? NOTHING : DOOR_FAULT_BADGES[fault]}
    </th>
    ${COLUMNS.map(({ name, style, render }) => html`<td role="cell" class="${style}" data-label="${name}">${render(row)}</td> `)}
  </tr> `;
}

function renderOpen(open: boolean | undefined): Html {
  if (open === undefined) {
    return renderCount(undefined);
  }
  return open ? html`<span class="open">Open</span>` : html`<span class="closed">Closed</span>`;
}

function renderEstimate({ estimate }: CustomerMetrics): Html {
  if (estimate.people === undefined) {
    return NOTHING;
  }
  const { people, lower, upper } = estimate.people;
  return html`<small>
    <span>estimate ${formatCount(Math.round(people))}</span>
    <span>(${formatCount(Math.floor(lower))} to ${formatCount(Math.ceil(upper))})</span>
  </small>`;
}

function renderOccupancy(metrics: CustomerMetrics): Html {
  const { occupancy, capacity } = metrics;
  if (occupancy === undefined || capacity === undefined) {
    return html`<b>${renderCount(occupancy)}</b> ${renderEstimate(metrics)}`;
  }
  return html`<b>${formatCount(occupancy)}</b> <span class="soft">of ${formatCount(capacity)}</span>
    ${renderEstimate(metrics)}
    <meter min="0" max="${capacity}" high="${capacity * 0.9}" optimum="0" value="${occupancy}">
      ${Math.round((occupancy / capacity) * 100)} %
    </meter>`;
}

function renderPolls(row: Row): Html {
  const { streams } = row.metrics;
  return html`<ul>
      ${Object.entries(streams).map(([name, health]) => renderStream(name, health, row))}
    </ul>
    ${renderLastError(Object.values(streams), row.nowMs)} ${renderLastSeen(row)}
    ${renderUncounted(row)}`;
}

function renderLastSeen({ metrics, nowMs, silence: { isSilent } }: Row): Html {
  const lastSeenMs = metrics.streams.people?.lastSeenMs;
  if (isSilent) {
    const since = lastSeenMs === undefined ? 'today' : `for ${formatAge(nowMs - lastSeenMs)}`;
    return html`<p class="seen waits">Open, but nobody counted ${since}</p>`;
  }
  return lastSeenMs === undefined
    ? NOTHING
    : html`<p class="seen soft">Last visitor counted ${renderAgo(lastSeenMs, nowMs)}</p>`;
}

function renderUncounted({ silence: { uncounted, isOverdue } }: Row): Html {
  return uncounted === ''
    ? NOTHING
    : html`<p class="seen ${isOverdue ? 'waits' : 'soft'}">Nobody counted today: ${uncounted}</p>`;
}

function renderStream(name: string, health: Health, row: Row): Html {
  const { polls, failures, skipped } = health;
  const nextInMs = row.nextPollInMs(row.customer, name);
  const counts = [
    failures === 0 ? [] : `${formatCount(failures)} of ${formatCount(polls)} polls failed`,
    skipped === 0 ? [] : `${formatCount(skipped)} skipped`,
  ].flat();
  return html`<li>
    ${renderUp(name, health, row)}${nextInMs === undefined ? '' : formatNextPoll(nextInMs)}
    ${counts.length === 0 ? NOTHING : html`<small>${counts.join(', ')}</small>`}
  </li> `;
}

function formatNextPoll(inMs: number): string {
  return inMs === 0 ? ', polling now' : `, next in ${formatAge(Math.ceil(inMs / 1_000) * 1_000)}`;
}

function renderUp(
  name: string,
  { up, lastSuccessMs, waitingSinceMs }: Health,
  { nowMs, metrics: { utcOffsetSeconds } }: Row,
): Html {
  const lastSuccess = lastSuccessMs === undefined ? undefined : renderAgo(lastSuccessMs, nowMs);
  if (up === undefined) {
    return html`<span class="waits">○ ${name}</span> not polled yet`;
  }
  if (up && waitingSinceMs !== undefined) {
    const since = formatSince(waitingSinceMs, nowMs, utcOffsetSeconds);
    return html`<span class="waits">◐ ${name}</span> waiting for confirmation since
      ${renderTime(waitingSinceMs, since)}`;
  }
  if (up && lastSuccess !== undefined) {
    return html`<span class="works">● ${name}</span> ${lastSuccess}`;
  }
  return html`<span class="fails">✕ ${name} failing</span>,
    ${lastSuccess === undefined ? 'never succeeded' : html`last success ${lastSuccess}`}`;
}

/** The newest one of all streams. */
function renderLastError(streams: readonly Health[], nowMs: number): Html {
  const [newest] = streams
    .flatMap(({ lastError }) => lastError ?? [])
    .toSorted((a, b) => b.atMs - a.atMs);
  return newest === undefined
    ? NOTHING
    : html`<p class="error">
        ${newest.message} <span class="soft">${renderAgo(newest.atMs, nowMs)}</span>
      </p> `;
}

const WIDTH = 120;
const HEIGHT = 28;
/** Room for half of the line above the peak. */
const TOP = 1.5;

/** Today's occupancy: the width is the whole day, the height is the peak. */
function renderSparkline({ series, metrics: { utcOffsetSeconds } }: Row): Html {
  if (series === undefined) {
    return renderCount(undefined);
  }
  const { day, stepMs, inside, atMs } = series;
  const peak = Math.max(0, ...inside);

  /** A point is at the end of its step; the last one is at the time of the reading. */
  function instantOf(point: number): number {
    return Math.min(day.startMs + (point + 1) * stepMs, atMs);
  }
  function x(instantMs: number): number {
    const share = (instantMs - day.startMs) / (day.endMs - day.startMs);
    return round(Math.min(1, Math.max(0, share)) * WIDTH);
  }
  function y(count: number): number {
    return round(HEIGHT - 1 - (count / Math.max(1, peak)) * (HEIGHT - 1 - TOP));
  }

  const peakTime = formatWallTime(instantOf(inside.indexOf(peak)), utcOffsetSeconds);
  const caption = peak === 0 ? 'no visitors yet' : `peak ${formatCount(peak)} at ${peakTime}`;
  const since = formatWallTime(day.startMs, utcOffsetSeconds);
  const line = inside.map((count, i) => `${x(instantOf(i))} ${y(count)}`).join('L');
  return html`<svg
      class="spark"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="People inside since ${since}: ${caption}"
    >
      <path class="ground" d="M0 ${HEIGHT - 0.5}H${WIDTH}" />
      <path class="area" d="M0 ${HEIGHT}L${line}V${HEIGHT}Z" />
      <path class="line" d="M0 ${y(0)}L${line}" />
      <path class="now" d="M${x(atMs)} ${HEIGHT}V0" />
    </svg>
    <small>${caption}</small>`;
}

function round(number: number): number {
  return Math.round(number * 10) / 10;
}
