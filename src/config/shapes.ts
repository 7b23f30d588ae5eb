/**
 * The shapes that values of the configuration can have, and how each is read from a file. A value
 * that does not fit is a problem at its place, and reading goes on. Must not know any key.
 */
import { expand } from './expand.ts';
import type { Environment } from './expand.ts';
import type { ScalarNode, SourceNode } from './nodes.ts';
import type { Problems } from './problems.ts';
import { ONE_LINE, orEnvironment } from './schema.ts';
import type { JsonSchema } from './schema.ts';
import { lengthOf } from './source.ts';
import type { Place } from './source.ts';

export interface Reader {
  readonly problems: Problems;
  readonly environment: Environment;
  /** How many entries may still be read: aliases can make a small file a large one. */
  readonly budget: { entries: number };
}

export interface Shape<Value> {
  /** Completes "give …". */
  readonly expects: string;
  /** The same for editors. */
  readonly schema: JsonSchema;
  /** The value, or undefined after at least one problem. */
  read(node: SourceNode, path: string, reader: Reader): Value | undefined;
}

/** Why a text is not a value. */
export class Refusal {
  readonly message: string;
  readonly quoting: string | undefined;

  /** `message` is what is wrong; `quoting` may quote the text, and also says what would be right. */
  constructor(message: string, quoting?: string) {
    this.message = message;
    this.quoting = quoting;
  }
}

export interface ScalarRules<Value> {
  readonly expects: string;
  /** A scalar with `${NAME}` in it has no type of its own, in quotes or not. */
  readonly accepts: readonly ScalarNode['type'][];
  readonly parse: (text: string) => Value | Refusal;
  /** What JSON Schema can say of a good value beside its type, or in place of that. */
  readonly schema?: JsonSchema;
}

const SCHEMA_TYPES = { text: 'string', number: 'number', boolean: 'boolean', nothing: 'null' };

export function scalar<Value>(rules: ScalarRules<Value>): Shape<Value> {
  const { expects, accepts, parse } = rules;
  const types = accepts.map((type) => SCHEMA_TYPES[type]);
  return {
    expects,
    schema: orEnvironment({ type: types.length === 1 ? types.join() : types, ...rules.schema }),
    read(node, path, reader) {
      function fail(message: string): undefined {
        reader.problems.add({ place: node.place, path, message });
      }
      if (node.kind !== 'scalar') {
        return fail(`is ${wordFor(node)}: give ${expects}`);
      }
      const expansion = expand(node.text, reader.environment);
      if (expansion.problem !== undefined) {
        return fail(expansion.problem);
      }
      if (!expansion.expanded && !accepts.includes(node.type)) {
        return fail(`is ${wordFor(node)}: give ${expects}`);
      }
      const value = parse(expansion.text);
      if (!(value instanceof Refusal)) {
        return value;
      }
      const quoting = isQuotable(node, reader) ? value.quoting : undefined;
      return fail(quoting ?? `${value.message}: give ${expects}`);
    },
  };
}

export function wordFor(node: SourceNode): string {
  if (node.kind !== 'scalar') {
    return node.kind === 'list' ? 'a list' : 'a mapping';
  }
  const words = { text: 'text', number: 'a number', boolean: 'true or false', nothing: 'empty' };
  return words[node.type];
}

interface TextRules {
  readonly expects: string;
  readonly longest: number;
  readonly mayBeEmpty?: boolean;
}

/** Numbers and booleans are taken as they are written: `client_id: 0123` is the text 0123. */
export const TEXT_TYPES = ['text', 'number', 'boolean'] as const;

export function text(rules: TextRules): Shape<string> {
  return scalar({
    expects: rules.expects,
    accepts: TEXT_TYPES,
    parse: (value) => textProblem(value, rules) ?? value,
    schema: {
      minLength: rules.mayBeEmpty === true ? 0 : 1,
      maxLength: rules.longest,
      pattern: ONE_LINE,
    },
  });
}

/** The path of a file. */
export function filePath(expects: string): Shape<string> {
  return text({ expects, longest: 4_096 });
}

function textProblem(value: string, rules: TextRules): Refusal | undefined {
  if (value === '' && rules.mayBeEmpty !== true) {
    return new Refusal('is empty');
  }
  if (/\p{Cc}/u.test(value)) {
    return new Refusal('holds a line end or another control character');
  }
  if (!value.isWellFormed()) {
    return new Refusal('holds half of a character (a lone surrogate)');
  }
  return lengthOf(value) > rules.longest
    ? new Refusal(`is longer than ${rules.longest} characters`)
    : undefined;
}

interface NumberRules {
  readonly least: number;
  readonly most: number;
  readonly example: string;
}

/** In decimal digits alone: 0x10, 1e3 and 0123 are numbers to YAML, and not what somebody meant. */
export function wholeNumber({ least, most, example }: NumberRules): Shape<number> {
  return scalar({
    expects: `a whole number from ${least} to ${most} without quotes, as in ${example}`,
    accepts: ['number'],
    parse: (value) =>
      /^-?(0|[1-9]\d*)$/.test(value)
        ? within(Number(value), least, most)
        : new Refusal('is not a whole number in plain digits'),
    schema: { type: 'integer', minimum: least, maximum: most },
  });
}

export function decimalNumber({ least, most, example }: NumberRules): Shape<number> {
  return scalar({
    expects: `a number from ${least} to ${most} without quotes, as in ${example}`,
    accepts: ['number'],
    parse: (value) =>
      /^-?(0|[1-9]\d*)(\.\d+)?$/.test(value)
        ? within(Number(value), least, most)
        : new Refusal('is not a number in plain digits'),
    schema: { minimum: least, maximum: most },
  });
}

export function within(value: number, least: number, most: number): number | Refusal {
  if (value < least) {
    return new Refusal('is too small');
  }
  return value > most ? new Refusal('is too large') : value;
}

export function trueOrFalse(): Shape<boolean> {
  return scalar({
    expects: 'true or false, without quotes',
    accepts: ['boolean'],
    parse: (value) =>
      /^(true|false)$/i.test(value)
        ? value.toLowerCase() === 'true'
        : new Refusal('is not true or false'),
  });
}

/** One of some words. */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  expects = words.length === 1 ? words.join() : `one of ${words.join(', ')}`,
): Shape<Word> {
  return scalar<Word>({
    expects,
    accepts: ['text'],
    parse: (value) =>
      words.find((word) => word === value) ?? new Refusal('is not a known word here'),
    schema: { enum: words },
  });
}

/** A value together with where it was, for checks of several values. */
export interface Found<Value> {
  readonly value: Value;
  readonly place: Place;
  /** Whether a message may quote the value: not what is secret or from the environment. */
  readonly quotable: boolean;
  readonly path: string;
}

export function find<Value>(
  shape: Shape<Value>,
  node: SourceNode,
  path: string,
  reader: Reader,
): Found<Value> | undefined {
  const value = shape.read(node, path, reader);
  return value === undefined
    ? undefined
    : {
        value,
        place: node.place,
        // Asked for only where something is wrong: to look through all that is hidden takes long.
        get quotable() {
          return isQuotable(node, reader);
        },
        path,
      };
}

function isQuotable(node: SourceNode, { problems }: Reader): boolean {
  return (
    node.kind === 'scalar' &&
    node.aliased === undefined &&
    !node.text.includes('${') &&
    !node.place.source.hides(node.place) &&
    !problems.isSecret(node.text)
  );
}
