/** One customer on the status page. */
import type { CounterName, Stream } from '../base/model.ts';
import type {
  CustomerMetrics,
  Health,
  MetricsSource,
  OccupancySeries,
} from '../counting/customer-metrics.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';
import { findSilence } from './silence.ts';
import type { Silence } from './silence.ts';
import {
  branchesOf,
  needsAttention,
  renderBranches,
  renderInsideBranches,
  renderOpenBranches,
} from './status-branches.ts';
import type { BranchHours, BranchStatus } from './status-branches.ts';
import {
  formatAge,
  formatCount,
  renderAgo,
  renderCount,
  renderDoorBadges,
  renderEntered,
  renderOccupancy,
  renderOpen,
  renderTime,
} from './status-cells.ts';

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
  /** Undefined for a customer that is one building. */
  readonly branches: BranchHours | undefined;
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
  /** Undefined for a customer that is one building. */
  readonly branches: readonly BranchStatus[] | undefined;
}

/** The columns after the customer's name. The narrow layout repeats the names beside the values. */
export const COLUMNS: readonly {
  readonly name: string;
  readonly style: string;
  readonly render: (row: Row) => Html;
}[] = [
  {
    name: 'State',
    style: 'state',
    render: ({ metrics, branches }) =>
      branches === undefined ? renderOpen(metrics.open) : renderOpenBranches(branches),
  },
  {
    name: 'Inside now',
    style: 'inside',
    render: ({ metrics, branches }) =>
      branches === undefined ? renderOccupancy(metrics) : renderInsideBranches(branches),
  },
  { name: 'Inside today', style: 'series', render: renderSparkline },
  { name: 'Entered today', style: 'number', render: ({ metrics }) => renderEntered(metrics) },
  columnOf('Exited today', 'people_exited'),
  columnOf('Logins today', 'logins'),
  { name: 'Polls', style: 'polls', render: renderPolls },
];

function columnOf(name: string, counter: CounterName) {
  return {
    name,
    style: 'number',
    render: ({ metrics }: Row) => renderCount(metrics.counters[counter]?.today),
  };
}

/**
 * Returns the row of a customer, and one of its branches. Roles repeat those of a table, which the narrow
 * layout would lose. `isOnly` says that no other customer is on the page.
 */
export function renderRow(
  customer: CustomerStatus,
  { nowMs, nextPollInMs }: PollTimes,
  isOnly: boolean,
): Html {
  const metrics = customer.metricsAt(nowMs);
  const series = customer.occupancySeriesAt(nowMs);
  const silence = findSilence(metrics, nowMs, (atMs) => customer.isOpenAt(atMs));
  const branches = branchesOf(metrics, nowMs, customer.branches);
  const row = { customer, metrics, series, silence, branches, nowMs, nextPollInMs };
  const severity = severityOf(customer);
  const warns = silence.isOverdue || branches?.some(needsAttention) === true;
  const parent = branches === undefined || branches.length === 0 ? '' : ' parent';
  const rowStyle = `${severity}${warns ? ' warns' : ''}${parent}`;
  return html`<tr role="row" class="${rowStyle}">
      <th role="rowheader" scope="row">
        ${customer.customer} <small>${metrics.timezone}</small> ${BADGES[severity]}
        ${renderDoorBadges(silence.isSilent, metrics.estimate)}
      </th>
      ${COLUMNS.map(({ name, style, render }) => html`<td role="cell" class="${style}" data-label="${name}">${render(row)}</td> `)}
    </tr>
    ${renderBranches(metrics.customer, branches ?? [], 1 + COLUMNS.length, nowMs, isOnly)}`;
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
