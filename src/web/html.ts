/** HTML that is safe against injection. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that is HTML already. Create it by the template below, or from constants. */
export class Html {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

export const NOTHING = new Html('');

type Value = Html | readonly Html[] | string | number;

/** Tag of a template of HTML. Escapes strings and numbers, for text and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly Value[]): Html {
  return new Html(String.raw({ raw: strings }, ...values.map(markupOf)));
}

function markupOf(value: Value): string {
  if (value instanceof Html) {
    return value.markup;
  }
  if (typeof value === 'object') {
    return value.map(markupOf).join('');
  }
  return String(value).replaceAll(/[&<>"']/g, (char) => ESCAPES[char] ?? '');
}
