/** The tables of the status page: what customers and branches have in common. */
import { formatDuration } from '../base/duration.ts';
import type { CounterName } from '../base/model.ts';
import type { BranchMetrics, SiteMetrics } from '../counting/customer-metrics.ts';
import { PROBLEMS } from '../counting/problems.ts';
import type { Problem } from '../counting/problems.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';

/** A column after the name. The narrow layout repeats the names of columns beside the values. */
export interface Column<Row> {
  readonly name: string;
  readonly style: string;
  readonly render: (row: Row) => Html;
}

/** Returns a table. Roles repeat those of its elements, which the narrow layout would lose. */
export function renderTable(
  label: string,
  firstColumn: string,
  columns: readonly Pick<Column<never>, 'name' | 'style'>[],
  rows: readonly Html[],
): Html {
  return html`<table role="table" aria-label="${label}">
    <thead role="rowgroup">
      <tr role="row">
        <th role="columnheader" scope="col">${firstColumn}</th>
        ${columns.map(({ name, style }) => html`<th role="columnheader" scope="col" class="${style === 'number' ? style : ''}">${name}</th> `)}
      </tr>
    </thead>
    <tbody role="rowgroup">
      ${rows}
    </tbody>
  </table>`;
}

/** Returns a row of a table, which begins with its heading. */
export function renderRow<Row>(
  columns: readonly Column<Row>[],
  row: Row,
  style: string,
  heading: Html,
): Html {
  return html`<tr role="row" class="${style}">
    <th role="rowheader" scope="row">${heading}</th>
    ${columns.map(({ name, style: cell, render }) => html`<td role="cell" class="${cell}" data-label="${name}">${render(row)}</td> `)}
  </tr> `;
}

interface CountedRow {
  readonly metrics: Pick<BranchMetrics, 'counters' | 'usual'>;
  /** Whether values wait for the 28 days before. */
  readonly isReading: boolean;
}

/** Today's entries, and how many are usual by now. */
export const ENTERED_TODAY: Column<CountedRow> = {
  name: 'Entered today',
  style: 'number',
  render({ metrics: { counters, usual }, isReading }) {
    const usually =
      usual?.entriesToday === undefined
        ? isReading
          ? html`<small>${READING}</small>`
          : NOTHING
        : html`<small>usually ${formatCount(Math.round(usual.entriesToday))} by now</small>`;
    return html`${renderCount(counters.people_entered?.today)} ${usually}`;
  },
};

/** Returns a column of today's value of a counter. */
export function columnOfToday(name: string, counter: CounterName): Column<CountedRow> {
  return {
    name,
    style: 'number',
    render: ({ metrics }) => renderCount(metrics.counters[counter]?.today),
  };
}

/** Separates thousands by a narrow no-break space, which is unambiguous in every country. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, '\u202f');
}

const READING = 'reading the past';

/** Returns a count; an unknown one is a dash, never 0, or says that it waits for the 28 days before. */
export function renderCount(count: number | undefined, isReading = false): Html {
  if (count !== undefined) {
    return html`${formatCount(count)}`;
  }
  return isReading
    ? html`<span class="soft">${READING}</span>`
    : html`<span class="soft" title="unknown">–</span>`;
}

/** Returns a text for an instant, which is the tooltip. */
export function renderTime(atMs: number, text: string): Html {
  const instant = new Date(atMs).toISOString();
  return html`<time datetime="${instant}" title="${instant}">${text}</time>`;
}

/** Returns the local date and time, such as `2026-03-10 09:00:00`. */
export function formatDateTime(atMs: number, utcOffsetSeconds = 0): string {
  const local = new Date(atMs + utcOffsetSeconds * 1_000);
  return local.toISOString().slice(0, 19).replace('T', ' ');
}

/** Returns how long ago an instant was: `1h12m ago`. */
export function renderAgo(atMs: number, nowMs: number): Html {
  return renderTime(atMs, `${formatAge(nowMs - atMs)} ago`);
}

/** Returns a duration in two units, such as `1h12m`. Never negative, even if the clock stepped back. */
export function formatAge(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1_000));
  const unit = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1;
  return formatDuration(Math.floor(seconds / unit) * unit * 1_000);
}

/** Limit for listed names. */
const MAX_NAMES = 5;

/** Joins names, the first five of them. */
export function listNames(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).join(', ');
  const more = names.length - MAX_NAMES;
  return more > 0 ? `${shown} and ${more} more` : shown;
}

/** Returns a label beside a name; `bad` needs a person, `wait` may. */
export function renderBadge(style: 'bad' | 'wait', text: string): Html {
  return html`<span class="badge ${style}">${text}</span>`;
}

/** Returns a problem, for how long it has lasted, and what it cost. */
export function renderProblem({ kind, sinceMs, missed = 0 }: Problem, nowMs: number): Html {
  const { words, trusted } = PROBLEMS[kind];
  const count = Math.round(missed);
  const counted = kind === 'no_logins' ? 'logins' : 'people';
  return html`<span class="problem">
    ${renderBadge(trusted ? 'wait' : 'bad', words)}
    <small>
      ${renderTime(sinceMs, `for ${formatAge(nowMs - sinceMs)}`)}${count === 0 ? '' : `, about ${formatCount(count)} ${counted} missed`}
    </small>
  </span>`;
}

/** Returns the class of a row: red where counts are not trusted. */
export function styleOf(problems: readonly Problem[]): string {
  if (problems.length === 0) {
    return '';
  }
  return problems.every(({ kind }) => PROBLEMS[kind].trusted) ? 'warns' : 'bad';
}

/** Returns whether a building is open; a dash without opening hours. */
export function renderOpen(open: boolean | undefined): Html {
  if (open === undefined) {
    return renderCount(undefined);
  }
  return open ? html`<span class="open">Open</span>` : html`<span class="closed">Closed</span>`;
}

/** Returns the number inside, the interval of an estimate, what was counted, and the share of the capacity. */
export function renderInside(
  { inside, occupancy, capacity, estimate, isTrusted, problems }: SiteMetrics,
  isReading: boolean,
): Html {
  const counted = occupancy === undefined ? [] : `as counted ${formatCount(occupancy)}`;
  if (inside === undefined) {
    const wasMissing = isTrusted === false && problems.length === 0;
    const reason = wasMissing ? 'people were missed today' : [];
    return html`${renderCount(undefined, isReading)} ${renderNotes([reason, counted].flat())}`;
  }
  const { people } = estimate;
  const notes =
    people === undefined || inside === 0
      ? NOTHING
      : renderNotes([
          `${formatCount(Math.floor(people.lower))} to ${formatCount(Math.ceil(people.upper))}`,
          ...[counted].flat(),
        ]);
  if (capacity === undefined) {
    return html`<b>${formatCount(inside)}</b> ${notes}`;
  }
  return html`<b>${formatCount(inside)}</b> <span class="soft">of ${formatCount(capacity)}</span>
    ${notes}
    <meter min="0" max="${capacity}" high="${capacity * 0.9}" optimum="0" value="${inside}">
      ${Math.round((inside / capacity) * 100)} %
    </meter>`;
}

function renderNotes(notes: readonly string[]): Html {
  return notes.length === 0
    ? NOTHING
    : html`<small>${notes.map((note) => html`<span>${note}</span> `)}</small>`;
}
