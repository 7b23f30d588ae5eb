/** `${NAME}` in a scalar. Never quotes a value of the environment. */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Expansion {
  readonly text: string;
  /** Whether any of the text came from the environment. */
  readonly expanded: boolean;
  /** What is wrong, and after a colon what would be right; then the text is of no use. */
  readonly problem: string | undefined;
}

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/**
 * The text with the environment's values for each `${NAME}`, and `${` for each `$${`. It happens
 * after YAML was read, and once: no value can add a key, and none is looked at again.
 */
export function expand(text: string, environment: Environment): Expansion {
  const unset: string[] = [];
  let malformed = false;
  let expanded = false;
  const result = text.replaceAll(/\$\$\{|\$\{([^}]*)(\}?)/g, (whole, name: string, end: string) => {
    if (whole === '$${') {
      return '${';
    }
    if (end === '' || !NAME.test(name)) {
      malformed = true;
      return '';
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value === undefined) {
      unset.push(name);
    }
    expanded = true;
    return value ?? '';
  });
  return { text: result, expanded, problem: problemOf(malformed, unset) };
}

function problemOf(malformed: boolean, unset: readonly string[]): string | undefined {
  if (malformed) {
    return 'has a ${ without a name and }: write ${NAME}, or $${ for a literal ${';
  }
  return unset.length === 0
    ? undefined
    : `needs ${[...new Set(unset)].join(', ')} from the environment: set it, or write $\${ for a literal \${`;
}
