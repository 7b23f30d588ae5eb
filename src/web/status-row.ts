/** One customer on the status page. */
import type { Stream } from '../base/model.ts';
import type {
  CustomerMetrics,
  MetricsSource,
  OccupancySeries,
  StreamMetrics,
} from '../counting/customer-metrics.ts';
import type { Problem } from '../counting/problems.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';
import {
  branchesOf,
  renderBranches,
  renderInsideBranches,
  renderOpenBranches,
} from './status-branches.ts';
import type { BranchStatus } from './status-branches.ts';
import {
  ENTERED_TODAY,
  columnOfToday,
  formatAge,
  formatCount,
  formatDateTime,
  renderAgo,
  renderBadge,
  renderCount,
  renderInside,
  renderOpen,
  renderProblem,
  renderRow,
  renderTime,
  styleOf,
} from './status-cells.ts';
import type { Column } from './status-cells.ts';

/** The results of the polls of one stream. */
type Health = Omit<StreamMetrics, 'lastSeenMs'>;

/** What the page shows of a customer. Values are computed for the customers on the page only. */
export interface CustomerStatus extends MetricsSource {
  /** Its problems and those of its branches, causes first. Cheap, because the page asks every customer. */
  problemsAt(nowMs: number): readonly Problem[];
  readonly health: Readonly<Partial<Record<Stream, Health>>>;
  occupancySeriesAt(nowMs: number): OccupancySeries | undefined;
  /** Ids and names of its branches, in any order; empty for a customer that is one building. */
  readonly branchNames: readonly string[];
}

/** Returns whether a stream waits for its first poll. */
export function isUnpolled({ health }: CustomerStatus): boolean {
  return Object.values(health).some(({ up }) => up === undefined);
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
  /** Whether values wait for the 28 days before. */
  readonly isReading: boolean;
  /** Undefined for a customer that is one building. */
  readonly branches: readonly BranchStatus[] | undefined;
}

export const COLUMNS: readonly Column<Row>[] = [
  {
    name: 'State',
    style: 'state',
    render: ({ metrics, branches }) =>
      branches === undefined ? renderOpen(metrics.open) : renderOpenBranches(branches),
  },
  {
    name: 'Inside now',
    style: 'inside',
    render: ({ metrics, branches, isReading }) =>
      branches === undefined
        ? renderInside(metrics, isReading)
        : renderInsideBranches(branches, isReading),
  },
  { name: 'Inside today', style: 'series', render: renderSparkline },
  ENTERED_TODAY,
  columnOfToday('Exited today', 'people_exited'),
  columnOfToday('Logins today', 'logins'),
  { name: 'Polls', style: 'polls', render: renderPolls },
];

/**
 * Returns the row of a customer, and one of its branches: if its own name does not pass the filter `matches`,
 * of those that pass. `isOnly` says that no other is on the page.
 */
export function renderCustomer(
  customer: CustomerStatus,
  { nowMs, nextPollInMs }: PollTimes,
  isOnly: boolean,
  matches: (name: string) => boolean,
): Html {
  const metrics = customer.metricsAt(nowMs);
  const { people } = metrics.streams;
  const series = customer.occupancySeriesAt(nowMs);
  // What is usual is known once the past is read. Without a series, today's minutes are unknown, too.
  function isReading({ usual }: Pick<CustomerMetrics, 'usual'>): boolean {
    return usual === undefined && series !== undefined && people?.up === true;
  }
  const branches = branchesOf(metrics, nowMs, isReading);
  const row: Row = {
    customer,
    metrics,
    series,
    isReading: isReading(metrics),
    branches,
    nowMs,
    nextPollInMs,
  };
  const { problems } = metrics;
  const style = styleOf([...problems, ...(metrics.branches ?? []).flatMap((one) => one.problems)]);
  const isWaiting = problems.length === 0 && isUnpolled(customer);
  const parent = branches === undefined || branches.length === 0 ? '' : ' parent';
  const heading = html`${customer.customer}
    <small>${metrics.timezone}</small>
    ${isWaiting ? renderBadge('wait', 'Not polled yet') : NOTHING}
    ${problems.map((problem) => renderProblem(problem, nowMs))}`;
  return html`${renderRow(COLUMNS, row, `${isWaiting ? 'warns' : style}${parent}`, heading)}
  ${renderBranches(
    metrics.customer,
    branches ?? [],
    1 + COLUMNS.length,
    isOnly,
    ({ name, metrics: { key } }) => [metrics.customer, key, name].some(matches),
  )}`;
}

function renderPolls(row: Row): Html {
  const { streams } = row.metrics;
  return html`<ul>
      ${Object.entries(streams).map(([name, health]) => renderStream(name, health, row))}
    </ul>
    ${renderLastError(Object.values(streams), row.nowMs)} ${renderLastSeen(row)}`;
}

function renderLastSeen({ metrics, nowMs }: Row): Html {
  const lastSeenMs = metrics.streams.people?.lastSeenMs;
  return lastSeenMs === undefined
    ? NOTHING
    : html`<p class="seen soft">Last visitor counted ${renderAgo(lastSeenMs, nowMs)}</p>`;
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
    const [date = '', time = ''] = formatDateTime(waitingSinceMs, utcOffsetSeconds).split(' ');
    const isToday = formatDateTime(nowMs, utcOffsetSeconds).startsWith(date);
    const since = `${isToday ? '' : `${date} `}${time.slice(0, 5)}`;
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
  function wallTime(instantMs: number): string {
    return formatDateTime(instantMs, utcOffsetSeconds).slice(11, 16);
  }
  function x(instantMs: number): number {
    const share = (instantMs - day.startMs) / (day.endMs - day.startMs);
    return round(Math.min(1, Math.max(0, share)) * WIDTH);
  }
  function y(count: number): number {
    return round(HEIGHT - 1 - (count / Math.max(1, peak)) * (HEIGHT - 1 - TOP));
  }

  const peakTime = wallTime(instantOf(inside.indexOf(peak)));
  const caption = peak === 0 ? 'no visitors yet' : `peak ${formatCount(peak)} at ${peakTime}`;
  const line = inside.map((count, i) => `${x(instantOf(i))} ${y(count)}`).join('L');
  return html`<svg
      class="spark"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="People inside since ${wallTime(day.startMs)}: ${caption}"
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
