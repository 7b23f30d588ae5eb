/** How the status page writes numbers and times. What is not known is a dash, never 0. */
import { formatDuration } from '../base/duration.ts';
import { html } from './html.ts';
import type { Html } from './html.ts';

/** Thousands apart, as no country misreads it: by a narrow space that does not break. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, '\u202f');
}

export function renderCount(count: number | undefined): Html {
  return count === undefined
    ? html`<span class="soft" title="not known">–</span>`
    : html`${formatCount(count)}`;
}

/** How long ago, to two units, with the instant itself for whoever points at it. */
export function renderAgo(atMs: number, nowMs: number): Html {
  const instant = new Date(atMs).toISOString();
  return html`<time datetime="${instant}" title="${instant}">${formatAge(nowMs - atMs)} ago</time>`;
}

/** To two units: `1h12m`, `2d3h`. */
export function formatAge(ageMs: number): string {
  // A clock that steps back makes an age negative, which would tell nobody anything.
  const seconds = Math.max(0, Math.floor(ageMs / 1_000));
  const unit = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1;
  return formatDuration(Math.floor(seconds / unit) * unit * 1_000);
}

/** Hours and minutes on the customer's wall. */
export function formatWallTime(atMs: number, utcOffsetSeconds: number): string {
  return new Date(atMs + utcOffsetSeconds * 1_000).toISOString().slice(11, 16);
}
