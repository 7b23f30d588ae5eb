/** HTML that is safe against injection, and how the status page writes numbers and times. */
import { formatDuration } from '../base/duration.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that is HTML already. Create it by the template below, or from constants. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** A template of HTML. Strings and numbers are escaped, for text and for quoted attributes. */
export function html(
  strings: TemplateStringsArray,
  ...values: readonly (Html | readonly Html[] | string | number)[]
): Html {
  return new Html(
    strings.reduce((text, string, i) => {
      const value = values[i - 1] ?? '';
      const written =
        typeof value === 'string' || typeof value === 'number'
          ? String(value).replaceAll(/[&<>"']/g, (char) => ESCAPES[char] ?? '')
          : value instanceof Html
            ? value.toString()
            : value.join('');
      return text + written + string;
    }),
  );
}

export const NOTHING = new Html('');

/** With thousands separated by a narrow no-break space, which is unambiguous in every country. */
export function formatCount(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, '\u202f');
}

/** An unknown count is a dash, never 0. */
export function renderCount(count: number | undefined): Html {
  return count === undefined
    ? html`<span class="soft" title="unknown">–</span>`
    : html`${formatCount(count)}`;
}

/** `1h12m ago`, with the instant as a tooltip. */
export function renderAgo(atMs: number, nowMs: number): Html {
  const instant = new Date(atMs).toISOString();
  return html`<time datetime="${instant}" title="${instant}">${formatAge(nowMs - atMs)} ago</time>`;
}

/** In two units, such as `1h12m`. Never negative, even if the clock stepped back. */
export function formatAge(ageMs: number): string {
  const seconds = Math.max(0, Math.floor(ageMs / 1_000));
  const unit = seconds >= 86_400 ? 3_600 : seconds >= 3_600 ? 60 : 1;
  return formatDuration(Math.floor(seconds / unit) * unit * 1_000);
}

/** Local hours and minutes. */
export function formatWallTime(atMs: number, utcOffsetSeconds: number): string {
  return new Date(atMs + utcOffsetSeconds * 1_000).toISOString().slice(11, 16);
}
