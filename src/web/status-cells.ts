/** What the cells of a building have in common, whether it is a customer or one of its branches. */
import { formatDuration } from '../base/duration.ts';
import type { BranchMetrics, EstimateMetrics, SiteMetrics } from '../counting/customer-metrics.ts';
import { NOTHING, html } from './html.ts';
import type { Html } from './html.ts';

/** Separates thousands by a narrow no-break space, which is unambiguous in every country. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, '\u202f');
}

/** Returns a count; an unknown one is a dash, never 0. */
export function renderCount(count: number | undefined): Html {
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
export function formatAge(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1_000));
  const unit = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1;
  return formatDuration(Math.floor(seconds / unit) * unit * 1_000);
}

const DOOR_FAULT_BADGES = {
  exits_missing: html`<span class="badge wait">Exits missing?</span>`,
  entries_missing: html`<span class="badge wait">Entries missing?</span>`,
  silent: html`<span class="badge wait">Doors silent?</span>`,
  none: NOTHING,
} satisfies Record<NonNullable<EstimateMetrics['fault']>, Html>;

const UNBALANCED_BADGE = html`<span class="badge wait">Directions unbalanced?</span>`;
const SILENT_BADGE = html`<span class="badge wait">Nobody counted</span>`;

/** Whether a fault of the doors is suspected. */
export function isDoorSuspect({ fault, isUnbalanced }: EstimateMetrics): boolean {
  return (fault !== undefined && fault !== 'none') || isUnbalanced === true;
}

/** Returns what may be wrong with the doors of a building. */
export function renderDoorBadges(isSilent: boolean, estimate: EstimateMetrics): Html {
  const { fault = 'none', isUnbalanced } = estimate;
  return html`${isSilent ? SILENT_BADGE : NOTHING} ${DOOR_FAULT_BADGES[fault]}
  ${isUnbalanced === true ? UNBALANCED_BADGE : NOTHING}`;
}

/** Returns today's entries, and how many are usual by now. */
export function renderEntered({
  counters,
  usual,
}: Pick<BranchMetrics, 'counters' | 'usual'>): Html {
  const usually =
    usual?.entriesToday === undefined
      ? NOTHING
      : html`<small>usually ${formatCount(Math.round(usual.entriesToday))} by now</small>`;
  return html`${renderCount(counters.people_entered?.today)} ${usually}`;
}

/** Returns whether a building is open; a dash without opening hours. */
export function renderOpen(open: boolean | undefined): Html {
  if (open === undefined) {
    return renderCount(undefined);
  }
  return open ? html`<span class="open">Open</span>` : html`<span class="closed">Closed</span>`;
}

function renderEstimate({ estimate }: Pick<SiteMetrics, 'estimate'>): Html {
  if (estimate.people === undefined) {
    return NOTHING;
  }
  const { people, lower, upper } = estimate.people;
  return html`<small>
    <span>estimate ${formatCount(Math.round(people))}</span>
    <span>(${formatCount(Math.floor(lower))} to ${formatCount(Math.ceil(upper))})</span>
  </small>`;
}

/** Returns the people inside, their estimate with its interval, and the share of the capacity. */
export function renderOccupancy(
  metrics: Pick<SiteMetrics, 'occupancy' | 'capacity' | 'estimate'>,
): Html {
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
