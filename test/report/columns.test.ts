/** The four formats, from rows as they are. */
import { expect, test } from 'vitest';
import { csvReport, tableReport } from '../../src/report/columns.ts';
import { htmlReport } from '../../src/report/page.ts';
import type { ReportOptions } from '../../src/report/plan.ts';
import type { ReportRow, Section } from '../../src/report/rows.ts';

const OPTIONS: ReportOptions = {
  range: { from: Date.parse('2024-02-01'), to: Date.parse('2025-03-01') },
  by: 'branch',
  period: 'month',
  staffed: false,
  visits: 'mean',
  separator: ',',
  note: '',
};

function row(start: string, end: string, given: Partial<ReportRow> = {}): ReportRow {
  return {
    period: { startMs: 0, endMs: 0, start, end, cut: [] },
    entered: 1_001,
    exited: 1_000,
    visits: 1_000.5,
    daysOpen: 20,
    daysWithoutCounts: [],
    notes: [],
    ...given,
  };
}

const GAPS = ['2025-02-03', '2025-02-04', '2025-02-05', '2025-02-28'];
const MAIN: Section = {
  customer: 'northern-jutland',
  key: '101',
  name: 'Main, "old" <Library>',
  rows: [
    row('2024-02-01', '2024-03-01', { entered: 2_000, exited: 2_000, visits: 2_000 }),
    row('2025-02-01', '2025-03-01', { daysWithoutCounts: GAPS, notes: ['no counts'] }),
  ],
};

test('CSV is that of RFC 4180: a head, quotes where needed, dots in decimals', () => {
  expect(csvReport([MAIN], OPTIONS).split('\r\n')).toEqual([
    'customer,branch,branch_name,period_start,period_end,entered,exited,visits,logins,days_open,days_without_counts,note',
    'northern-jutland,101,"Main, ""old"" <Library>",2024-02-01,2024-03-01,2000,2000,2000,,20,0,',
    'northern-jutland,101,"Main, ""old"" <Library>",2025-02-01,2025-03-01,1001,1000,1000.5,,20,4,no counts',
    '',
  ]);
});

test('CSV with semicolons has decimal commas, and quotes a semicolon', () => {
  const csv = csvReport([{ ...MAIN, name: 'Main; old' }], { ...OPTIONS, separator: ';' });
  expect(csv.split('\r\n')[2]).toBe(
    'northern-jutland;101;"Main; old";2025-02-01;2025-03-01;1001;1000;1000,5;;20;4;no counts',
  );
});

test('CSV has the columns of the options, also without rows', () => {
  expect(csvReport([], { ...OPTIONS, by: 'device', staffed: true })).toBe(
    'customer,device,period_start,period_end,entered,exited,visits,logins,entered_staffed,entered_self_service,hours_staffed,hours_self_service,days_open,days_without_counts,note\r\n',
  );
});

test('the table has no empty columns, and below it the days without counts and the note', () => {
  const lines = tableReport([MAIN], { ...OPTIONS, note: 'Hours are those of today.' }).split('\n');
  expect(lines[0]).not.toContain('logins');
  expect(lines.slice(3)).toEqual([
    '',
    'Days without counts:',
    '  northern-jutland, Main, "old" <Library> (101): 2025-02-03 to 2025-02-05, 2025-02-28',
    '',
    'Hours are those of today.',
    '',
  ]);
});

const NORTH: Section = { ...MAIN, key: '102', name: 'North', rows: MAIN.rows.slice(1) };
const NOBODY = { entered: undefined, exited: undefined, visits: undefined };
const LOGINS: Section = {
  customer: 'northern-jutland',
  rows: [row('2025-02-01', '2025-03-01', { ...NOBODY, logins: 70 })],
};
const HILLTOP: Section = { customer: 'hilltop', rows: [row('2025-02-01', '2025-03-01')] };

test('tables and HTML have totals of each customer with several parts, and of all customers; CSV has none', () => {
  const sections = [MAIN, NORTH, LOGINS, HILLTOP];
  const totals = tableReport(sections, OPTIONS).match(/^.*(total|all).*$/gm) ?? [];
  expect(totals.map((line) => line.trim().replaceAll(/ +/g, ' '))).toEqual([
    expect.stringMatching(/^northern-jutland total - 2024-02-01 2024-03-01 2000 2000 2000 - - -/),
    expect.stringMatching(/^northern-jutland total - 2025-02-01 2025-03-01 2002 2000 2001 70 - -/),
    expect.stringMatching(/^all customers - - 2024-02-01 2024-03-01 2000 2000 2000 - -/),
    expect.stringMatching(/^all customers - - 2025-02-01 2025-03-01 3003 3000 3001.5 70 -/),
  ]);
  expect(textOf(htmlReport(sections, OPTIONS, 0))).toContain(
    'northern-jutland, total 4 001 70 hilltop 1 000.5 0 all customers 5 001.5 70 northern',
  );
  expect(csvReport(sections, OPTIONS)).not.toMatch(/total|all customers/);
});

function textOf(page: string): string {
  return page
    .replaceAll(/<style>.*<\/style>/gs, '')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
}

test('HTML compares with the year before, marks gaps, and loads nothing', () => {
  const options = { ...OPTIONS, note: 'Hours are those of today.' };
  const page = htmlReport([MAIN], options, Date.parse('2025-03-02'));
  const text = textOf(page);
  expect(text).toContain('February 2025 1 000.5 2 000 −50.0 % 1 001 1 000 20 4 no counts');
  expect(text).toContain('2025-02-03 to 2025-02-05, 2025-02-28');
  expect(text).toContain('Hours are those of today.');
  expect(page).toContain('class="bar lacks"');
  expect(page).toContain('Main, &#34;old&#34; &#60;Library&#62; (101)');
  expect(page).not.toMatch(/<script|<link|<img|@import|url\(|https?:/);
});
