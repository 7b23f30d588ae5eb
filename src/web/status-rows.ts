/** The rows of the status page: a customer, and below it its branches. */
import { formatDuration } from '../base/duration.ts';
import type { CounterName, Stream } from '../base/model.ts';
import type {
  BranchMetrics,
  CustomerMetrics,
  MetricsSource,
  OccupancySeries,
  StreamMetrics,
} from '../counting/customer-metrics.ts';
import { PROBLEM_KINDS, PROBLEMS } from '../counting/problems.ts';
import type { Problem } from '../counting/problems.ts';
import { formatNumber, html } from './html.ts';
import type { Column, Content, Html } from './html.ts';

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

/** A customer or a branch. */
interface Row {
  readonly kind: 'customer' | 'branch';
  readonly heading: string;
  /** The time zone of a customer; the id of a branch that has a name. */
  readonly note: string;
  readonly site: CustomerMetrics | BranchMetrics;
  /** Of a customer that is polled by branch: state and people inside are theirs. */
  readonly branches: readonly BranchMetrics[] | undefined;
  /** Today's occupancy, and the state of the polls. */
  readonly curve: Content;
  readonly polls: Content;
  readonly nowMs: number;
}

/** Returns the row of a customer and those of its branches, problems first. */
export function rowsOf(customer: CustomerStatus, nowMs: number): readonly Row[] {
  const metrics = customer.metricsAt(nowMs);
  const { branches, streams, utcOffsetSeconds } = metrics;
  const series = customer.occupancySeriesAt(nowMs);
  const states = Object.entries(streams).map((stream) => renderStream(...stream, nowMs));
  const row: Row = {
    kind: 'customer',
    heading: metrics.customer,
    note: metrics.timezone,
    site: metrics,
    branches,
    curve: series === undefined ? UNKNOWN : renderCurve(series, utcOffsetSeconds),
    polls: html`${states} ${renderLastError(Object.values(streams), nowMs)}
    ${renderLastSeen(streams.people?.lastSeenMs, nowMs)}`,
    nowMs,
  };
  const sorted = branches?.toSorted((a, b) => rankOf(a.problems) - rankOf(b.problems)) ?? [];
  const ofBranches = sorted.map((branch): Row => ({
    kind: 'branch',
    heading: branch.name ?? branch.key,
    note: branch.name === undefined ? '' : branch.key,
    site: branch,
    branches: undefined,
    curve: '',
    polls: renderLastSeen(branch.lastSeenMs, nowMs),
    nowMs,
  }));
  return [row, ...ofBranches];
}

/** Returns the place of the first problem among their kinds, causes first. */
export function rankOf([first]: readonly Problem[]): number {
  return first === undefined ? PROBLEM_KINDS.length : PROBLEM_KINDS.indexOf(first.kind);
}

/** Returns the class of a row: `fails` where counts are not trusted. */
export function styleOf({ kind, site }: Row): string {
  return site.problems.every((problem) => PROBLEMS[problem.kind].trusted) ? kind : `${kind} fails`;
}

export const COLUMNS: readonly Column<Row>[] = [
  { title: 'Customer', cell: renderHeading },
  { title: 'State', style: 'state', cell: renderState },
  { title: 'Inside now', style: 'inside', cell: renderInside },
  { title: 'Inside today', style: 'curve', cell: ({ curve }) => curve },
  { title: 'Entered today', style: 'number', cell: renderEntered },
  { title: 'Exited today', style: 'number minor', cell: (row) => today(row, 'people_exited') },
  { title: 'Logins today', style: 'number minor', cell: (row) => today(row, 'logins') },
  { title: 'Polls', style: 'polls', cell: ({ polls }) => polls },
];

function renderHeading({ heading, note, site, nowMs }: Row): Html {
  return html`<b>${heading}</b> ${small(note)}
    ${site.problems.map((problem) => renderProblem(problem, nowMs))}`;
}

/** Returns a problem in words, for how long it has lasted, and what it cost. */
function renderProblem({ kind, sinceMs, missed = 0 }: Problem, nowMs: number): Html {
  const { words, trusted } = PROBLEMS[kind];
  const people = `${formatNumber(Math.round(missed))} ${kind === 'no_logins' ? 'logins' : 'people'}`;
  const cost = Math.round(missed) === 0 ? '' : `, about ${people} missed`;
  return html`<span class="badge ${trusted ? 'wait' : 'bad'}">${words}</span>
    ${small(`for ${formatAge(nowMs - sinceMs)}${cost}`)}`;
}

/** Returns whether it is open; a dash without opening hours. */
function renderState({ site, branches }: Row): Html {
  const known = (branches ?? [site]).flatMap(({ open }) => open ?? []);
  const open = known.filter(Boolean).length;
  if (open === 0) {
    return known.length === 0 ? UNKNOWN : html`<span class="soft">○ Closed</span>`;
  }
  const part = branches === undefined ? '' : `${open} of ${known.length}`;
  return html`<span class="good">● Open</span> ${small(part)}`;
}

/** Returns the people inside; of a customer that is polled by branch, those of its branches together. */
function renderInside({ site, branches }: Row): Html {
  const { inside, capacity, problems } = site;
  if (branches !== undefined) {
    const known = branches.flatMap((branch) => branch.inside ?? []);
    const part = `in ${known.length} of ${branches.length}`;
    return known.length === 0
      ? UNKNOWN
      : html`<b>${formatNumber(known.reduce((sum, one) => sum + one))}</b>
          ${small(known.length === branches.length ? '' : part)}`;
  }
  if (inside === undefined) {
    const wasMissing = site.isTrusted === false && problems.length === 0;
    const notes = [...(wasMissing ? ['people were missed today'] : []), ...counted(site)];
    return html`${UNKNOWN} ${small(notes.join(', '))}`;
  }
  const notes = [
    ...(capacity === undefined ? [] : [`${Math.round((100 * inside) / capacity)} %`]),
    ...(inside === 0 ? [] : interval(site)),
  ];
  const limit = capacity === undefined ? '' : ` of ${formatNumber(capacity)}`;
  return html`<b>${formatNumber(inside)}</b>${limit} ${small(notes.join(', '))}`;
}

function counted({ occupancy }: Row['site']): readonly string[] {
  return occupancy === undefined ? [] : [`as counted ${formatNumber(occupancy)}`];
}

/** Returns the interval of an estimate, and what was counted. */
function interval(site: Row['site']): readonly string[] {
  const { people } = site.estimate;
  if (people === undefined) {
    return [];
  }
  const [lower, upper] = [Math.floor(people.lower), Math.ceil(people.upper)].map(formatNumber);
  return [`${lower} to ${upper}`, ...counted(site)];
}

/** Returns today's entries, and how many are usual by now. */
function renderEntered(row: Row): Html {
  const usual = row.site.usual?.entriesToday;
  const usually = usual === undefined ? '' : `usually ${formatNumber(Math.round(usual))} by now`;
  return html`${today(row, 'people_entered')} ${small(usually)}`;
}

/** Returns today's value of a counter; nothing if it is not counted. */
function today({ site }: Row, counter: CounterName): Content {
  const { today: value } = site.counters[counter] ?? { today: 0 };
  return !(counter in site.counters) ? '' : value === undefined ? UNKNOWN : formatNumber(value);
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

/** Returns the newest error of all streams. */
function renderLastError(streams: readonly Health[], nowMs: number): Content {
  const errors = streams.flatMap(({ lastError }) => lastError ?? []);
  const [newest] = errors.toSorted((a, b) => b.atMs - a.atMs);
  return newest === undefined
    ? ''
    : html`<div class="bad">${newest.message} ${ago(newest.atMs, nowMs)}</div>`;
}

function renderLastSeen(atMs: number | undefined, nowMs: number): Content {
  return atMs === undefined
    ? ''
    : html`<div class="soft">Last visitor counted ${ago(atMs, nowMs)}</div>`;
}

const WIDTH = 120;
const HEIGHT = 28;

/** Returns today's occupancy: the width is the whole day, the height is the peak. */
function renderCurve(
  { day, stepMs, inside, atMs }: OccupancySeries,
  utcOffsetSeconds: number,
): Html {
  const peak = Math.max(0, ...inside);

  function wallTime(instantMs: number): string {
    return new Date(instantMs + utcOffsetSeconds * 1_000).toISOString().slice(11, 16);
  }
  /** A point is at the end of its step; the last one is at the time of the reading. */
  function instantOf(point: number): number {
    return Math.min(day.startMs + (point + 1) * stepMs, atMs);
  }
  function x(instantMs: number): string {
    return ((WIDTH * (instantMs - day.startMs)) / (day.endMs - day.startMs)).toFixed(1);
  }

  const y = inside.map((count) =>
    (HEIGHT - 1 - (count / Math.max(1, peak)) * (HEIGHT - 2)).toFixed(1),
  );
  const line = y.map((height, i) => `L${x(instantOf(i))} ${height}`).join('');
  const time = wallTime(instantOf(inside.indexOf(peak)));
  const caption = peak === 0 ? 'no visitors yet' : `peak ${formatNumber(peak)} at ${time}`;
  const label = `People inside since ${wallTime(day.startMs)}: ${caption}`;
  return html`<svg
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="${label}"
    >
      <path class="line" d="M0 ${HEIGHT - 1}${line}" />
      <path class="now" d="M${x(atMs)} ${HEIGHT}V0" />
    </svg>
    ${small(caption)}`;
}

/** What is not known is a dash, never 0. */
const UNKNOWN = html`<span class="soft" title="unknown">–</span>`;

function small(text: string): Content {
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
