/** A day's occupancy as a small drawing: the whole day is its width, the highest point its height. */
import { html } from './html.ts';
import type { Html } from './html.ts';
import type { StatusPath } from './status-data.ts';
import { formatCount, formatWallTime } from './status-words.ts';

const WIDTH = 120;
const HEIGHT = 28;
/** Room for half of the line above the highest point. */
const TOP = 1.5;

export function renderSparkline(path: StatusPath, utcOffsetSeconds: number): Html {
  const { day, inside, atMs } = path;
  const peak = Math.max(0, ...inside);
  const when = formatWallTime(instantOf(path, inside.indexOf(peak)), utcOffsetSeconds);
  const words = peak === 0 ? 'nobody yet' : `peak ${formatCount(peak)} at ${when}`;
  const since = formatWallTime(day.startMs, utcOffsetSeconds);
  const line = inside.map((count, i) => `${xOf(path, instantOf(path, i))} ${yOf(count, peak)}`);
  const endX = xOf(path, atMs);
  return html`<svg
      class="spark"
      viewBox="0 0 ${WIDTH} ${HEIGHT}"
      preserveAspectRatio="none"
      role="img"
      aria-label="People inside since ${since}: ${words}"
    >
      <path class="ground" d="M0 ${HEIGHT - 0.5}H${WIDTH}" />
      <path class="area" d="M0 ${HEIGHT}L${line.join('L')}V${HEIGHT}Z" />
      <path class="line" d="M0 ${yOf(0, peak)}L${line.join('L')}" />
      <path class="now" d="M${endX} ${HEIGHT}V0" />
    </svg>
    <small>${words}</small>`;
}

/** When a point was: at the end of its step, and the last one when it was read. */
function instantOf({ day, stepMs, atMs }: StatusPath, point: number): number {
  return Math.min(day.startMs + (point + 1) * stepMs, atMs);
}

function xOf({ day }: StatusPath, instantMs: number): string {
  const share = (instantMs - day.startMs) / (day.endMs - day.startMs);
  return short(Math.min(1, Math.max(0, share)) * WIDTH);
}

function yOf(count: number, peak: number): string {
  return short(HEIGHT - 1 - (count / Math.max(1, peak)) * (HEIGHT - 1 - TOP));
}

function short(number: number): string {
  return String(Math.round(number * 10) / 10);
}
