/** The series and labels that an expression names, by Prometheus's own grammar. Prometheus itself checks types (test/e2e). */
import { parser } from '@prometheus-io/lezer-promql';

export interface Selector {
  readonly metric: string;
  /** Matcher as written: `job=~"$job"`. */
  readonly matchers: readonly string[];
  /** Range as written: `5m`. */
  readonly range: string | undefined;
}

type Node = ReturnType<typeof parser.parse>['topNode'];

/** The series that an expression names. */
export function selectorsOf(expression: string): readonly Selector[] {
  return nodesOf(expression).flatMap((node) => {
    const metric = node.name === 'VectorSelector' ? node.getChild('Identifier') : null;
    if (metric === null) {
      return [];
    }
    const matrix = node.parent?.name === 'MatrixSelector' ? node.parent : null;
    const matchers = nodesWithin(node).filter(({ name }) => name.endsWith('LabelMatcher'));
    const range = matrix?.lastChild;
    return {
      metric: text(expression, metric),
      matchers: matchers.map((matcher) => text(expression, matcher)),
      range: range ? text(expression, range) : undefined,
    };
  });
}

/** The labels after by, without, on, ignoring, group_left and group_right. */
export function groupingLabels(expression: string): readonly string[] {
  return textsOf(expression, 'LabelName', 'GroupingLabels');
}

/** The labels that the expression itself makes, with label_replace or count_values. */
export function madeLabels(expression: string): readonly string[] {
  return textsOf(expression, 'StringLiteral', 'FunctionCallBody').map((quoted) =>
    quoted.slice(1, -1),
  );
}

/** The pieces that the grammar does not take; none where it is well formed. */
export function syntaxErrors(expression: string): readonly string[] {
  return nodesOf(expression)
    .filter(({ type }) => type.isError)
    .map(({ from }) => `at ${from}: ${expression.slice(from, from + 30)}`);
}

/** The nodes of a name directly below those of another one. */
function textsOf(expression: string, child: string, parent: string): readonly string[] {
  return nodesOf(expression)
    .filter((node) => node.name === child && node.parent?.name === parent)
    .map((node) => text(expression, node));
}

function nodesOf(expression: string): readonly Node[] {
  return nodesWithin(parser.parse(expression).topNode);
}

function nodesWithin(node: Node): readonly Node[] {
  const nodes = [node];
  for (let child = node.firstChild; child !== null; child = child.nextSibling) {
    nodes.push(...nodesWithin(child));
  }
  return nodes;
}

function text(expression: string, { from, to }: Node): string {
  return expression.slice(from, to);
}
