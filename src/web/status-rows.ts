/** The rows of the status page: a customer, and below it its branches. */
import { formatDuration } from '../base/duration.ts';
import { formatNumber, html } from '../base/html.ts';
import type { Column, Content, Html } from '../base/html.ts';
import type { Stream } from '../base/model.ts';
import type {
  BranchMetrics,
  MetricsSource,
  OccupancySeries,
  SiteMetrics,
  StreamMetrics,
} from '../counting/customer-metrics.ts';
import { PROBLEM_KINDS, PROBLEMS } from '../counting/problems.ts';
import type { Problem } from '../counting/problems.ts';

/** The results of the polls of one stream. */
type Health = Omit<StreamMetrics, 'lastSeenMs'>;

/** What the page shows of a customer. Values are computed for the customers on the page only. */
export interface CustomerStatus extends MetricsSource {
  /** Its problems and those of its branches, causes first. Cheap, because the page asks every customer. */
  problemsAt(nowMs: number): readonly Problem[];
  readonly health: Readonly<Partial<Record<Stream, Health>>>;
  occupancySeriesAt(nowMs: number): OccupancySeries | undefined;
  /** The names of its branches by id; empty for a customer that is one building. */
  readonly branchNames: ReadonlyMap<string, string>;
}

interface Row {
  readonly kind: 'customer' | 'branch';
  readonly problems: readonly Problem[];
  /** In the order of {@link COLUMNS}. */
  readonly cells: readonly Content[];
}

const HEADS = [
  ['Customer', ''],
  ['State', 'state'],
  ['Inside now', 'inside'],
  ['Inside today', 'curve'],
  ['Entered today', 'number'],
  ['Exited today', 'number minor'],
  ['Logins today', 'number minor'],
  ['Polls', 'polls'],
] as const;

export const COLUMNS = HEADS.map(([title, style], i): Column<Row> => ({
  title,
  style,
  cell: ({ cells }) => cells[i] ?? '',
}));

/** Returns the row of a customer and those of its branches, problems first. */
export function rowsOf(customer: CustomerStatus, nowMs: number): readonly Row[] {
  const metrics = customer.metricsAt(nowMs);
  const { branches, counters, streams, problems, timezone } = metrics;
  const series = customer.occupancySeriesAt(nowMs);
  const errors = Object.values(streams).flatMap(({ lastError }) => lastError ?? []);
  const [newest] = errors.toSorted((a, b) => b.atMs - a.atMs);
  const polls = html`${Object.entries(streams).map((stream) => renderStream(...stream, nowMs))}
    <div class="bad">
      ${newest === undefined ? '' : `${newest.message} ${ago(newest.atMs, nowMs)}`}
    </div>
    ${renderLastSeen(streams.people?.lastSeenMs, nowMs)}`;
  const ofCustomer: Row = {
    kind: 'customer',
    problems,
    cells: [
      renderHeading(customer.customer, timezone, problems, nowMs),
      renderState(branches ?? [metrics]),
      branches === undefined ? renderInside(metrics) : renderSum(branches),
      series === undefined ? UNKNOWN : renderCurve(series),
      renderEntered(metrics),
      renderCount(counters.people_exited?.today),
      renderCount(counters.logins?.today),
      polls,
    ],
  };
  const ofBranches = branches?.map((branch): Row => ({
    kind: 'branch',
    problems: branch.problems,
    cells: [
      renderHeading(branch.name ?? branch.key, branch.name && branch.key, branch.problems, nowMs),
      renderState([branch]),
      renderInside(branch),
      '',
      renderEntered(branch),
      renderCount(branch.counters.people_exited?.today),
      '',
      renderLastSeen(branch.lastSeenMs, nowMs),
    ],
  }));
  const sorted = ofBranches?.toSorted((a, b) => rankOf(a.problems) - rankOf(b.problems));
  return [ofCustomer, ...(sorted ?? [])];
}

/** Returns the place of the first problem among their kinds, causes first. */
export function rankOf([first]: readonly Problem[]): number {
  return first === undefined ? PROBLEM_KINDS.length : PROBLEM_KINDS.indexOf(first.kind);
}

/** Returns the class of a row: `fails` where counts are not trusted. */
export function styleOf({ kind, problems }: Row): string {
  return problems.every((problem) => PROBLEMS[problem.kind].trusted) ? kind : `${kind} fails`;
}

/** Returns a name, the time zone or id, and the problems in words: since when, and what they cost. */
function renderHeading(
  name: string,
  note: string | undefined,
  problems: readonly Problem[],
  nowMs: number,
): Html {
  const badges = problems.map(({ kind, sinceMs, missed = 0 }) => {
    const { words, trusted } = PROBLEMS[kind];
    const count = Math.round(missed);
    const who = kind === 'no_logins' ? 'logins' : 'people';
    return html`<span class="badge ${trusted ? 'wait' : 'bad'}">${words}</span>
      ${small(`for ${formatAge(nowMs - sinceMs)}`, count > 0 && `about ${formatNumber(count)} ${who} missed`)}`;
  });
  return html`<b>${name}</b> ${small(note)} ${badges}`;
}

/** Returns whether any building is open; a dash without opening hours. */
function renderState(sites: readonly SiteMetrics[]): Html {
  const known = sites.flatMap(({ open }) => open ?? []);
  const open = known.filter(Boolean).length;
  if (open === 0) {
    return known.length === 0 ? UNKNOWN : html`<span class="soft">○ Closed</span>`;
  }
  return html`<span class="good">● Open</span>
    ${small(sites.length > 1 && `${open} of ${known.length}`)}`;
}

/** Returns the people inside all branches together, of those where they are known. */
function renderSum(branches: readonly SiteMetrics[]): Html {
  const known = branches.flatMap(({ inside }) => inside ?? []);
  const sum = known.reduce((total, inside) => total + inside, 0);
  return known.length === 0
    ? UNKNOWN
    : html`<b>${formatNumber(sum)}</b>
        ${small(known.length < branches.length && `in ${known.length} of ${branches.length}`)}`;
}

/** Returns the people inside, their share of the capacity, the interval of an estimate, and what was counted. */
function renderInside(site: SiteMetrics): Html {
  const { inside, occupancy, capacity, estimate, isTrusted, problems } = site;
  const counted = occupancy !== undefined && `as counted ${formatNumber(occupancy)}`;
  if (inside === undefined) {
    const wasMissing = isTrusted === false && problems.length === 0;
    return html`${UNKNOWN} ${small(wasMissing && 'people were missed today', counted)}`;
  }
  const { lower, upper } = (inside > 0 && estimate.people) || {};
  return html`<b>${formatNumber(inside)}</b> ${small(
      capacity !== undefined &&
        `${formatNumber(Math.round((100 * inside) / capacity))} % of ${formatNumber(capacity)}`,
      lower !== undefined &&
        upper !== undefined &&
        `${formatNumber(Math.floor(lower))} to ${formatNumber(Math.ceil(upper))}`,
      lower !== undefined && counted,
    )}`;
}

/** Returns today's entries, and how many are usual by now. */
function renderEntered({ counters, usual }: Pick<BranchMetrics, 'counters' | 'usual'>): Html {
  const entries = usual?.entriesToday;
  return html`${renderCount(counters.people_entered?.today)}
  ${small(entries !== undefined && `usually ${formatNumber(Math.round(entries))} by now`)}`;
}

/** Returns the state of a stream, and when its last poll succeeded. */
function renderStream(stream: string, health: Health, nowMs: number): Html {
  const { up, lastSuccessMs, waitingSinceMs } = health;
  const last = lastSuccessMs === undefined ? 'never' : ago(lastSuccessMs, nowMs);
  if (up === undefined) {
    return html`<div>○ ${stream} not polled yet</div>`;
  }
  if (!up) {
    return html`<div><span class="bad">✕ ${stream} failing</span>, last success: ${last}</div>`;
  }
  if (waitingSinceMs === undefined) {
    return html`<div><span class="good">● ${stream}</span> ${last}</div>`;
  }
  const since = ago(waitingSinceMs, nowMs);
  return html`<div><span class="wait">◐ ${stream} not confirmed</span> since ${since}</div>`;
}

function renderLastSeen(atMs: number | undefined, nowMs: number): Html {
  const text = atMs === undefined ? '' : `Last visitor counted ${ago(atMs, nowMs)}`;
  return html`<span class="soft">${text}</span>`;
}

const WIDTH = 120;
const HEIGHT = 28;

/** Returns today's occupancy: the width is the whole day, the height is the peak. */
function renderCurve({ day, stepMs, inside, atMs }: OccupancySeries): Html {
  const peak = Math.max(0, ...inside);
  const caption = peak === 0 ? 'no visitors yet' : `peak ${formatNumber(peak)}`;
  function x(instantMs: number): string {
    return ((WIDTH * (instantMs - day.startMs)) / (day.endMs - day.startMs)).toFixed(1);
  }
  const points = inside.map((count, i) => {
    // At the end of its step; the last one at the time of the reading.
    const instantMs = Math.min(day.startMs + (i + 1) * stepMs, atMs);
    const y = HEIGHT - 1 - (count / Math.max(1, peak)) * (HEIGHT - 2);
    return `L${x(instantMs)} ${y.toFixed(1)}`;
  });
  return html`<svg
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="People inside today: ${caption}"
    >
      <path d="M0 ${HEIGHT - 1}${points.join('')}" />
      <path class="now" d="M${x(atMs)} ${HEIGHT}V0" />
    </svg>
    ${small(caption)}`;
}

const UNKNOWN = html`<span class="soft" title="unknown">–</span>`;

/** Returns a count; what is not known is a dash, never 0. */
function renderCount(count: number | undefined): Content {
  return count === undefined ? UNKNOWN : formatNumber(count);
}

function small(...notes: readonly (string | false | undefined)[]): Content {
  const text = notes.filter(Boolean).join(', ');
  return text === '' ? '' : html`<small>${text}</small>`;
}

/** Returns how long ago an instant was: `1h12m ago`. */
export function ago(atMs: number, nowMs: number): string {
  return `${formatAge(nowMs - atMs)} ago`;
}

/** Returns a duration in two units, such as `1h12m`. Never negative, even if the clock stepped back. */
function formatAge(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1_000));
  const unit = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1;
  return formatDuration(Math.floor(seconds / unit) * unit * 1_000);
}
