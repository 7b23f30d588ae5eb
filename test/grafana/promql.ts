/**
 * As much of PromQL as the checks need: which series an expression names, with which matchers.
 * Whether it is valid at all is promtool's to say (test/e2e).
 */

export interface Selector {
  readonly metric: string;
  /** As written: `job=~"$job"`. */
  readonly matchers: readonly string[];
}

/** The series that an expression names: ours, the recorded ones, and `up`. */
export function selectorsOf(expression: string): readonly Selector[] {
  const pattern = /(?<![\w:"])(\w+:library_[\w:]+|library_\w+|up)\b(?:\{([^}]*)\})?/g;
  return [...expression.matchAll(pattern)].map(([, metric = '', matchers = '']) => ({
    metric,
    matchers: [...matchers.matchAll(/\w+\s*(?:=~|!~|!=|=)\s*"[^"]*"/g)].map(([matcher]) => matcher),
  }));
}

/** The label names that a selector matches on. */
export function matchedLabels(selector: Selector): readonly string[] {
  return selector.matchers.map((matcher) => /^\w+/.exec(matcher)?.[0] ?? '');
}
