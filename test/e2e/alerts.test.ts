/** Every alert in promtool's unit tests: fires, is silent, resolves; and that weaker alerts are found out. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { alertNamed, rulesFor, unitTestsOf } from '../prometheus/alert-case.ts';
import type { AlertCase } from '../prometheus/alert-case.ts';
import { ALERT_CASES } from '../prometheus/cases/all.ts';
import type { Alert } from '../prometheus/rules.ts';
import { debianProgram, outcomeOf } from './support/processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.concurrent.each(ALERT_CASES)('$alert $side', (alertCase) => {
  test('fires, is silent and resolves when it is to', async () => {
    const { status, output } = await judge(alertCase, alertNamed(alertCase.alert));
    expect(output).not.toContain('FAILED');
    expect(status).toBe(0);
  });

  test.each(alertCase.mutations)('would be found out with %j as %j', async (from, to) => {
    const { status, output } = await judge(
      alertCase,
      weakened(alertNamed(alertCase.alert), from, to),
    );
    expect({ status, output }).toMatchObject({ status: 1 });
    // By what the alert did, not for a rule that cannot be read.
    expect(output).toMatch(/exp:\s|exp: nil|got:/);
  });
});

/** The rule as text, with the first place that says `from` saying `to`. */
function weakened(alert: Alert, from: string, to: string): Alert {
  const text = stringify(alert, { lineWidth: 0 });
  if (!text.includes(from)) {
    throw new Error(`${alert.alert} does not say ${from}:\n${text}`);
  }
  return parse(text.replace(from, () => to)) as Alert;
}

let judged = 0;

/** Whether promtool sees the rule do what is expected of it; the first thing that it does not. */
async function judge(alertCase: AlertCase, alert: Alert): ReturnType<typeof outcomeOf> {
  judged += 1;
  const rules = join(folder, `rules-${judged}.json`);
  const file = join(folder, `tests-${judged}.json`);
  // JSON is YAML.
  writeFileSync(rules, JSON.stringify(rulesFor(alertCase, alert)));
  for (const tests of unitTestsOf(alertCase, rules)) {
    writeFileSync(file, JSON.stringify(tests));
    const result = await outcomeOf(debianProgram('/usr/bin/promtool'), ['test', 'rules', file]);
    if (result.status !== 0) {
      return result;
    }
  }
  return { status: 0, output: '' };
}
