/** HTML that cannot be injected into: whatever is put into a template is text, unless it is Html. */

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Text that is HTML already. Beside the template, only what is our own to the last character makes it. */
export class Html {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

export type HtmlValue = Html | readonly Html[] | string | number;

/** A template of HTML. Values are good for text and for quoted attributes, and for nothing else. */
export function html(strings: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(
    strings.reduce((text, string, i) => {
      const value = values[i - 1];
      return text + (value === undefined ? '' : writeValue(value)) + string;
    }),
  );
}

/** HTML that is empty. */
export const NOTHING = new Html('');

function writeValue(value: HtmlValue): string {
  if (value instanceof Html) {
    return value.toString();
  }
  if (typeof value === 'string' || typeof value === 'number') {
    return String(value).replaceAll(/[&<>"']/g, (char) => ESCAPES[char] ?? '');
  }
  return value.map(String).join('');
}
