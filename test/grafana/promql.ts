/**
 * What an expression says, by Prometheus's own grammar: which series it names, with which matchers,
 * in which function, and which labels it groups by. Whether its types are right is Prometheus's own
 * to say (test/e2e).
 */
import { parser } from '@prometheus-io/lezer-promql';

export interface Selector {
  readonly metric: string;
  /** As written: `job=~"$job"`. */
  readonly matchers: readonly string[];
  /** The function or aggregation that it is given to directly, in lower case. */
  readonly call: string | undefined;
  /** As written: `5m`. */
  readonly range: string | undefined;
}

type Tree = ReturnType<typeof parser.parse>;
type Node = Tree['topNode'];

/** The series that an expression names. */
export function selectorsOf(expression: string): readonly Selector[] {
  return nodesOf(expression)
    .filter(({ name }) => name === 'VectorSelector')
    .flatMap((node) => {
      const metric = node.getChild('Identifier');
      const matrix = node.parent?.name === 'MatrixSelector' ? node.parent : undefined;
      return metric === null
        ? []
        : {
            metric: text(expression, metric),
            matchers: nodesWithin(node)
              .filter(({ name }) => name.endsWith('LabelMatcher'))
              .map((matcher) => text(expression, matcher)),
            call: callAround(matrix ?? node, expression),
            range: matrix === undefined ? undefined : text(expression, lastOf(matrix)),
          };
    });
}

/** The label names that a selector matches on. */
export function matchedLabels(selector: Selector): readonly string[] {
  return selector.matchers.map((matcher) => /^\w+/.exec(matcher)?.[0] ?? '');
}

/** The labels after by, without, on, ignoring, group_left and group_right. */
export function groupingLabels(expression: string): readonly string[] {
  return nodesOf(expression)
    .filter(({ name, parent }) => name === 'LabelName' && parent?.name === 'GroupingLabels')
    .map((node) => text(expression, node));
}

/** The labels that the expression itself makes, with label_replace or count_values. */
export function madeLabels(expression: string): readonly string[] {
  return nodesOf(expression)
    .filter(({ name }) => name === 'StringLiteral')
    .filter(({ parent }) => parent?.name === 'FunctionCallBody')
    .map((node) => text(expression, node).slice(1, -1));
}

/** The pieces that the grammar does not take; none where it is well formed. */
export function syntaxErrors(expression: string): readonly string[] {
  return nodesOf(expression)
    .filter(({ type }) => type.isError)
    .map((node) => `at ${node.from}: ${expression.slice(node.from, node.from + 30)}`);
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

function callAround(node: Node, expression: string): string | undefined {
  for (let around = node.parent; around !== null; around = around.parent) {
    if (around.name === 'FunctionCall' || around.name === 'AggregateExpr') {
      return /^\w+/.exec(text(expression, around))?.[0];
    }
    if (!WRAPPERS.has(around.name)) {
      return undefined;
    }
  }
  return undefined;
}

/** What may stand between a selector and the function that it is given to. */
const WRAPPERS = new Set(['FunctionCallBody', 'OffsetExpr', 'StepInvariantExpr', 'ParenExpr']);

function lastOf(node: Node): Node {
  return node.lastChild ?? node;
}

function text(expression: string, { from, to }: Node): string {
  return expression.slice(from, to);
}
