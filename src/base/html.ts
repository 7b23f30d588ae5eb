/** HTML of the status page and of reports, safe against injection: documents, tables and numbers. */
import { STYLE } from './style.ts';

/** Text that is HTML already. Create it by the template below, or from constants. */
export interface Html {
  readonly markup: string;
}

export type Content = Html | readonly Html[] | string | number;

/** Tag of a template of HTML. Escapes strings and numbers, for text and for quoted attributes. */
export function html(strings: TemplateStringsArray, ...values: readonly Content[]): Html {
  return { markup: String.raw({ raw: strings }, ...values.map(markupOf)) };
}

function markupOf(value: Content): string {
  if (typeof value === 'object') {
    return 'markup' in value ? value.markup : value.map(markupOf).join('');
  }
  return String(value).replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

const NUMBERS = new Intl.NumberFormat('en', { maximumFractionDigits: 2 });

/** Returns a number with narrow spaces between thousands (ISO 80000-1), and at most two decimals. */
export function formatNumber(value: number): string {
  return NUMBERS.format(value).replaceAll(',', '\u202f');
}

/** Returns a whole document, which loads nothing. `style` is the class of its body. */
export function renderPage(title: string, style: 'status' | 'report', head: Html, body: Html) {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        ${head}
        <title>${title}</title>
        ${{ markup: `<style>${STYLE}</style>` }}
      </head>
      <body class="${style}">
        ${body}
      </body>
    </html> `.markup;
}

/** A column of a table. The first one is the heading of a row. */
export interface Column<Row> {
  readonly title: string;
  /** Class of its cells. `minor` ones are hidden on phones. */
  readonly style?: string | undefined;
  readonly cell: (row: Row) => Content;
  /** Below all rows. */
  readonly total?: Content | undefined;
}

/** Returns a table. `styleOf` returns the class of a row. */
export function renderTable<Row>(
  label: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  styleOf: (row: Row) => string = () => '',
): Html {
  function line(style: string, cellOf: (column: Column<Row>) => Content): Html {
    const [first, ...others] = columns.map((column) => ({ column, content: cellOf(column) }));
    return html`<tr class="${style}">
      <th scope="row">${first?.content ?? ''}</th>
      ${others.map(({ column, content }) => html`<td class="${column.style ?? ''}">${content}</td> `)}
    </tr> `;
  }
  const heads = columns.map(
    ({ title, style = '' }) => html`<th scope="col" class="${style}">${title}</th>`,
  );
  const hasTotals = columns.some(({ total }) => total !== undefined);
  const totals = hasTotals ? line('', ({ total = '' }) => total) : '';
  return html`<div class="scroll">
    <table aria-label="${label}">
      <thead>
        <tr>
          ${heads}
        </tr>
      </thead>
      <tbody>
        ${rows.map((row) => line(styleOf(row), ({ cell }) => cell(row)))}
      </tbody>
      <tfoot>
        ${totals}
      </tfoot>
    </table>
  </div>`;
}
