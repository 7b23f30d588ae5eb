/**
 * What is to be proven of an alert, and the file for promtool that proves it. A case is one story in
 * which the alert fires; every other one is that story with something changed, so that nothing can be
 * silent for want of data.
 */
import { readAlerts, recordingsFor } from './rules.ts';
import type { Alert } from './rules.ts';
import { inputSeries, ruleFileOf } from './story.ts';
import type { Story, UnitTest } from './story.ts';

export interface Variant {
  /** What is different from the story. */
  readonly change: Story;
  /** The first minute at which it fires; of those that resolve, the first at which it does no more. */
  readonly at: number;
  /** Which of several alerts is meant. */
  readonly matching?: string;
}

export interface AlertCase {
  readonly alert: string;
  /** Which of its sides, where one case is not enough. */
  readonly side?: string;
  /** How long the stories last. */
  readonly minutes: number;
  /** Minutes between samples, and between evaluations, of all stories but the first. Default: 1. */
  readonly step?: number;
  readonly story: Story;
  /** The first minute at which the alert fires; at the one before it does not. */
  readonly firesAt: number;
  /** Beside severity and customer. */
  readonly labels: Readonly<Record<string, string>>;
  readonly description: string;
  /** Whether the alert is about a customer. Stories about customers are told of `riverside`. */
  readonly ofCustomer: boolean;
  readonly alsoFires?: Readonly<Record<string, Variant>>;
  /** Never fires in these. */
  readonly silent: Readonly<Record<string, Story>>;
  readonly resolves: Readonly<Record<string, Variant>>;
  /** What is found in the rule, and what it is weakened to: each must be found out. */
  readonly mutations: readonly (readonly [from: string, to: string])[];
}

/** The rule as shipped. */
export function alertNamed(name: string): Alert {
  const alert = readAlerts().find((candidate) => candidate.alert === name);
  if (alert === undefined) {
    throw new Error(`there is no alert ${name}`);
  }
  return alert;
}

/** The alert, and what it needs recorded but for what its stories give by themselves. */
export function rulesFor(alertCase: AlertCase, alert: Alert): object {
  const stories = [alertCase.story, ...changesOf(alertCase)];
  const given = new Set(
    stories.flatMap((story) => Object.keys(story).map((series) => series.replace(/\{.*/, ''))),
  );
  const recordings = recordingsFor(alert.expr).filter(({ record }) => !given.has(record));
  return ruleFileOf([...recordings, alert]);
}

/**
 * The files for `promtool test rules`: all that is changed in the story, and the story itself, minute
 * by minute. `ruleFile` is where {@link rulesFor} was written to.
 */
export function unitTestsOf(alertCase: AlertCase, ruleFile: string): readonly object[] {
  const variants = alertCase.ofCustomer
    ? [testOfCustomers(alertCase)]
    : variantsOf(alertCase).map((one) => testOfVariant(alertCase, one));
  return [
    { rule_files: [ruleFile], evaluation_interval: intervalOf(alertCase), tests: variants },
    { rule_files: [ruleFile], evaluation_interval: '1m', tests: [wholeTest(alertCase)] },
  ];
}

function intervalOf({ step = 1 }: AlertCase): string {
  return `${step}m`;
}

interface NamedStory {
  readonly name: string;
  readonly matching?: string | undefined;
  readonly story: Story;
  /** Whether it fires at minutes; empty: at none of all. */
  readonly expected: readonly (readonly [minute: number, fires: boolean])[];
}

function variantsOf(alertCase: AlertCase): readonly NamedStory[] {
  const { story, alsoFires = {}, silent, resolves, step = 1 } = alertCase;
  return [
    ...Object.entries(alsoFires).map(([name, { change, at, matching }]) => ({
      name,
      matching,
      story: { ...story, ...change },
      expected: [[at - step, false] as const, [at, true] as const],
    })),
    ...Object.entries(silent).map(([name, change]) => ({
      name,
      story: { ...story, ...change },
      expected: [],
    })),
    ...Object.entries(resolves).map(([name, { change, at }]) => ({
      name,
      story: { ...story, ...change },
      expected: [[at - step, true] as const, [at, false] as const],
    })),
  ];
}

function changesOf({ alsoFires = {}, silent, resolves }: AlertCase): readonly Story[] {
  return [
    ...Object.values(silent),
    ...[...Object.values(alsoFires), ...Object.values(resolves)].map(({ change }) => change),
  ];
}

/** The story itself, with every label and word of the alert. */
function wholeTest(alertCase: AlertCase): UnitTest {
  const { alert, story, firesAt, labels, description, ofCustomer } = alertCase;
  const customer = ofCustomer ? { customer: 'riverside' } : {};
  const { labels: own, annotations } = alertNamed(alert);
  const firing = {
    exp_labels: { ...own, ...customer, ...labels },
    exp_annotations: { ...annotations, description },
  };
  return {
    name: alert,
    interval: '1m',
    input_series: inputSeries(story, firesAt, customer),
    alert_rule_test: [
      { alertname: alert, eval_time: `${firesAt - 1}m`, exp_alerts: [] },
      { alertname: alert, eval_time: `${firesAt}m`, exp_alerts: [firing] },
    ],
  };
}

function testOfVariant(alertCase: AlertCase, variant: NamedStory): UnitTest {
  const { alert, minutes, step } = alertCase;
  return {
    name: `${alert}: ${variant.name}`,
    interval: intervalOf(alertCase),
    input_series: inputSeries(variant.story, minutes, {}, step),
    promql_expr_test: expectationsOf(variant, `alertname="${alert}"`, minutes),
  };
}

/** All variants at once, each told of a customer of its own: that takes a fraction of the time. */
function testOfCustomers(alertCase: AlertCase): UnitTest {
  const { alert, minutes, step } = alertCase;
  const variants = variantsOf(alertCase);
  return {
    name: `${alert}: its variants, each a customer`,
    interval: intervalOf(alertCase),
    input_series: variants.flatMap(({ name, story }) =>
      inputSeries(story, minutes, { customer: name }, step),
    ),
    promql_expr_test: variants.flatMap((variant) =>
      expectationsOf(variant, `alertname="${alert}",customer="${variant.name}"`, minutes),
    ),
  };
}

function expectationsOf(
  { name, expected, matching = '' }: NamedStory,
  matchers: string,
  minutes: number,
): readonly object[] {
  const firing = `ALERTS{alertstate="firing",${[matchers, matching].filter((text) => text !== '').join(',')}}`;
  if (expected.length === 0) {
    const ever = `count(count_over_time(${firing}[${minutes}m])) # ${name}`;
    return [{ expr: ever, eval_time: `${minutes}m`, exp_samples: [] }];
  }
  return expected.map(([minute, fires]) => ({
    expr: `count(${firing}) # ${name}`,
    eval_time: `${minute}m`,
    exp_samples: fires ? [{ labels: '{}', value: 1 }] : [],
  }));
}
