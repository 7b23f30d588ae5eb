/** The header Retry-After, in both its forms (RFC 9110, 10.2.3). Pure. */

/** Nobody is believed who asks for more. */
const LONGEST_RETRY_AFTER_MS = 3_600_000;

const WEEKDAY = /^(?:mon|tue|wed|thu|fri|sat|sun)/i;

/**
 * How long to wait, in milliseconds from 0 to an hour; undefined where the header says nothing that
 * can be understood. A date is measured from the answer's own Date, because the service's clock and
 * ours need not agree; from `nowMs` where it has none.
 */
export function parseRetryAfter(
  value: string | undefined,
  date: string | undefined,
  nowMs: number,
): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) {
    return clamp(Number(text) * 1_000);
  }
  const untilMs = parseHttpDate(text);
  if (untilMs === undefined) {
    return undefined;
  }
  return clamp(untilMs - (parseHttpDate(date?.trim() ?? '') ?? nowMs));
}

/**
 * A date of HTTP in milliseconds since 1970; undefined for any other text. All three forms begin with
 * the day of the week; the oldest one does not say GMT, and means it.
 */
export function parseHttpDate(text: string): number | undefined {
  if (!WEEKDAY.test(text)) {
    return undefined;
  }
  const ms = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

function clamp(ms: number): number {
  return Math.min(Math.max(0, ms), LONGEST_RETRY_AFTER_MS);
}
