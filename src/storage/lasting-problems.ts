/** The problems that last, which a restart could not find again: what has become usual since is missed no more. */
import { PROBLEM_KINDS } from '../counting/problems.ts';
import type { Problem, RememberedProblems } from '../counting/problems.ts';
import { arrayOf, NOTHING, parseArray } from './daily-rows.ts';
import type { RowKind } from './daily-rows.ts';

export const LASTING_PROBLEMS: RowKind = {
  stream: 'problems',
  serialize({ rememberedProblems }) {
    return rememberedProblems.size === 0 ? NOTHING : JSON.stringify([...rememberedProblems]);
  },
  restore(customer, content) {
    customer.restoreProblems(parseProblems(content));
  },
};

/** Returns the valid problems by branch. */
function parseProblems(content: string): RememberedProblems {
  return new Map(
    parseArray(content).map((entry) => {
      const [branch, problems] = arrayOf(entry);
      return [typeof branch === 'string' ? branch : null, arrayOf(problems).filter(isProblem)];
    }),
  );
}

function isProblem(value: unknown): value is Problem {
  const { kind, sinceMs, missed = 0 } = Object(value) as Readonly<Record<string, unknown>>;
  return (
    PROBLEM_KINDS.some((one) => one === kind) &&
    Number.isSafeInteger(sinceMs) &&
    Number.isSafeInteger(missed) &&
    Number(missed) >= 0
  );
}
