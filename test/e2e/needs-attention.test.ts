/** The problems that the overview lists, on series made for each case. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { NEEDS_ATTENTION } from '../../grafana/problems.ts';
import { debianProgram, run } from './support/processes.ts';

/** Values every five minutes from 0, as promtool writes them; undefined: no such series. */
type Story = Readonly<Record<string, string | undefined>>;

const STEPS = 9 * 288;
/** A busy, open library without a problem, for nine days: 60 an hour, 50 inside, two devices. */
const WELL: Story = {
  library_customer_info: `1x${STEPS}`,
  library_exporter_build_info: `1x${STEPS}`,
  up: `1x${STEPS}`,
  library_people_entered_total: `0+5x${STEPS}`,
  library_people_entered_today: `500x${STEPS}`,
  library_people_exited_today: `450x${STEPS}`,
  library_occupancy_people: `50x${STEPS}`,
  library_capacity_people: `100x${STEPS}`,
  library_open: `1x${STEPS}`,
  library_people_last_seen_timestamp_seconds: `0+300x${STEPS}`,
  'library_poll_last_success_timestamp_seconds{stream="people"}': `0+300x${STEPS}`,
  'library_poll_last_success_timestamp_seconds{stream="logins"}': `0+300x${STEPS}`,
  'library_up{stream="people"}': `1x${STEPS}`,
  'library_up{stream="logins"}': `1x${STEPS}`,
  library_credentials_valid: `1x${STEPS}`,
  'library_device_people_entered_today{device="1"}': `350x${STEPS}`,
  'library_device_people_entered_today{device="2"}': `150x${STEPS}`,
  'library_device_people_exited_today{device="1"}': `300x${STEPS}`,
  'library_device_people_exited_today{device="2"}': `150x${STEPS}`,
  'library_device_people_entered_total{device="1"}': `0+3.5x${STEPS}`,
  'library_device_people_entered_total{device="2"}': `0+1.5x${STEPS}`,
};
/** After eight days, nobody has been counted for two hours. */
const SILENT: Story = { library_people_last_seen_timestamp_seconds: untilHoursAgo(2) };
const EMPTY_TODAY: Story = {
  library_people_exited_today: `450x1000 0x${STEPS}`,
  library_occupancy_people: `50x1000 0x${STEPS}`,
  library_people_last_seen_timestamp_seconds: undefined,
};
const DEAD_DEVICE: Story = {
  'library_device_people_entered_today{device="2"}': `0x${STEPS}`,
  'library_device_people_exited_today{device="2"}': `0x${STEPS}`,
};
const OLD: Story = {
  'library_poll_last_success_timestamp_seconds{stream="logins"}': untilHoursAgo(1),
};
const NOBODY = 'nobody is being counted';

const folder = mkdtempSync(join(tmpdir(), 'needs-attention-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('a library needs attention', () => {
  test.each<readonly [string, Story, string]>([
    ['where nobody came for two hours, and sixty in this hour last week', SILENT, NOBODY],
    [
      'where nobody came today, and five hundred by now last week',
      {
        ...EMPTY_TODAY,
        library_people_entered_total: `0x${STEPS}`,
        library_people_entered_today: `500x1000 0x${STEPS}`,
      },
      NOBODY,
    ],
    [
      'where nobody came for a day, and last week is not known',
      {
        ...EMPTY_TODAY,
        library_people_entered_total: `_x1800 0x${STEPS}`,
        library_people_entered_today: `_x1800 0x${STEPS}`,
      },
      NOBODY,
    ],
    [
      'where it has no opening hours, and nobody came',
      { ...SILENT, library_open: undefined },
      NOBODY,
    ],
    ['where one of its doors counts nobody', DEAD_DEVICE, 'a door counter counts nobody'],
    [
      'where more are inside than may be',
      { library_occupancy_people: `101x${STEPS}`, library_people_exited_today: `399x${STEPS}` },
      'more people than the capacity',
    ],
    [
      'where four hundred came, and fifty left',
      { library_people_exited_today: `50x${STEPS}` },
      'entries and exits drift apart',
    ],
    ['where its logins were not read for an hour', OLD, 'the data is old'],
    ['where its last poll failed', { 'library_up{stream="people"}': `0x${STEPS}` }, 'polls fail'],
    [
      'where the service does not let it in',
      { library_credentials_valid: `0x${STEPS}` },
      'the credentials are refused',
    ],
  ])('%s', (_, story, problem) => {
    expect(judged({ ...WELL, ...story }, [problem])).toBe('  SUCCESS\n');
  });

  test('once, where a failed poll is also an old one', () => {
    const story = { ...WELL, ...OLD, 'library_up{stream="logins"}': `0x${STEPS}` };
    expect(judged(story, ['the data is old'])).toBe('  SUCCESS\n');
  });
});

test('an exporter that does not answer is listed', () => {
  const down = { up: `1x2200 0x${STEPS}`, library_exporter_build_info: `1x2200 _x${STEPS}` };
  expect(judged({ ...WELL, ...down }, ['an exporter does not answer'], '(exporter)')).toBe(
    '  SUCCESS\n',
  );
});

test('the absence of all libraries is listed', () => {
  expect(judged({ up: `1x${STEPS}` }, ['no library is exported'], '(exporter)')).toBe(
    '  SUCCESS\n',
  );
});

describe('a library needs no attention', () => {
  test.each<readonly [string, Story]>([
    ['where all is well', {}],
    ['where it is closed', { ...SILENT, library_open: `0x${STEPS}` }],
    ['where it has been open for half an hour', { ...SILENT, library_open: `0x2298 1x${STEPS}` }],
    [
      'where nobody came in this hour last week either',
      { ...SILENT, library_people_entered_total: `0x${STEPS}` },
    ],
    [
      'where a door counts nobody that few use',
      {
        ...DEAD_DEVICE,
        'library_device_people_entered_total{device="2"}': `0+0.2x${STEPS}`,
      },
    ],
    ['where nothing is known of its capacity', { library_capacity_people: undefined }],
  ])('%s', (_, story) => {
    expect(judged({ ...WELL, ...story }, [])).toBe('  SUCCESS\n');
  });
});

/** promtool's verdict after eight days, if both exporters of the story show these problems. */
function judged(story: Story, problems: readonly string[], customer = 'riverside'): string {
  const series = ['a', 'b'].flatMap((instance) =>
    Object.entries(story).flatMap(([name, values]) =>
      values === undefined ? [] : [{ series: labelled(name, instance), values }],
    ),
  );
  const expression = NEEDS_ATTENTION.replaceAll(/\$(job|customer)\b/g, '.+');
  const file = join(folder, 'story.json');
  const asked = {
    expr: `count by (customer, problem) (${expression})`,
    eval_time: '8d',
    exp_samples: problems.map((problem) => ({
      labels: `{customer="${customer}",problem="${problem}"}`,
      value: 1,
    })),
  };
  writeFileSync(
    file,
    JSON.stringify({
      evaluation_interval: '1m',
      tests: [{ interval: '5m', input_series: series, promql_expr_test: [asked] }],
    }),
  );
  const { output } = run(debianProgram('/usr/bin/promtool'), ['test', 'rules', file]);
  return output.replace(/^Unit Testing: .*\n/, '').replace(/\n+$/, '\n');
}

/** The time of each step, until it stood still so many hours before the eight days were over. */
function untilHoursAgo(hours: number): string {
  const step = 8 * 288 - hours * 12;
  return `0+300x${step} ${step * 300}x${STEPS}`;
}

function labelled(name: string, instance: string): string {
  const [metric = '', labels = ''] = name.replace('}', '').split('{');
  const more = labels === '' ? '' : `,${labels}`;
  return `${metric}{job="library",instance="${instance}",customer="riverside"${more}}`;
}
