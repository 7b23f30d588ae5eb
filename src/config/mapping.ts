/**
 * Mappings of the configuration: those whose keys are known, by a table, and those whose keys are
 * the person's own.
 */
import { expand } from './expand.ts';
import { spend } from './lists.ts';
import { nearest } from './nearest.ts';
import type { Entry, SourceNode } from './nodes.ts';
import { orEnvironment, schemaOfKeys } from './schema.ts';
import type { JsonSchema } from './schema.ts';
import { find, wordFor } from './shapes.ts';
import type { Found, Reader, Shape } from './shapes.ts';
import type { Place } from './source.ts';

/** What is to be known of a key, once: for reading, for messages and for the documentation. */
export interface KeyRule<Value> {
  readonly shape: Shape<Value>;
  /** One line. */
  readonly about: string;
  readonly required?: true;
  /** As it would be written in the file. */
  readonly default?: Plain;
}

export type Plain =
  string | number | boolean | readonly Plain[] | { readonly [key: string]: Plain };

export type KeyTable = Readonly<Record<string, KeyRule<unknown>>>;

type ValueOf<Rule> = Rule extends { readonly shape: Shape<infer Value> } ? Value : never;

/** Undefined is what was not given and has no default, or was not good: then there is a problem. */
export type Fields<Table> = {
  readonly [Key in keyof Table]: Found<ValueOf<Table[Key]>> | undefined;
};

export interface Section<Table> {
  readonly fields: Fields<Table>;
  /** The keys that are there, good or not, and those that a misspelt one was taken for. */
  readonly given: ReadonlySet<string>;
}

export interface MappingRules {
  readonly expects: string;
  /** Where a key that is unknown here belongs: key to a place in words. */
  readonly elsewhere?: (key: string) => string | undefined;
  /** What JSON Schema can say of the checks of several keys together. */
  readonly schema?: JsonSchema;
}

/** A mapping with the keys of a table. */
export function mapping<const Table extends KeyTable>(
  table: Table,
  rules: MappingRules,
): Shape<Section<Table>> {
  return {
    expects: rules.expects,
    schema: { ...schemaOfKeys(table), ...rules.schema },
    read(node, path, reader) {
      const all = entriesOf(node);
      if (all === undefined) {
        const message = `is ${wordFor(node)}: give ${rules.expects}`;
        reader.problems.add({ place: node.place, path, message });
        return undefined;
      }
      if (!spend(reader, node, path, all.length)) {
        return undefined;
      }
      const { entries, given } = knownEntries(all, table, rules, path, reader);
      const fields = Object.entries(table).map(([key, rule]) => {
        const at = { place: node.place, path: join(path, key) };
        return [key, readKey(entries.get(key), rule, at, given.has(key), reader)];
      });
      return { fields: Object.fromEntries(fields) as Fields<Table>, given };
    },
  };
}

/** A key with nothing after it is an empty mapping: all that was in it may be commented out. */
function entriesOf(node: SourceNode): readonly Entry[] | undefined {
  if (node.kind === 'mapping') {
    return node.entries;
  }
  return node.kind === 'scalar' && node.type === 'nothing' ? [] : undefined;
}

function readKey(
  entry: Entry | undefined,
  rule: KeyRule<unknown>,
  at: { readonly place: Place; readonly path: string },
  given: boolean,
  reader: Reader,
): Found<unknown> | undefined {
  if (entry !== undefined) {
    return find(rule.shape, entry.value, at.path, reader);
  }
  if (rule.default !== undefined) {
    return find(rule.shape, nodeOf(rule.default, at.place), at.path, reader);
  }
  if (rule.required === true && !given) {
    reader.problems.add({ ...at, message: `is missing: give ${rule.shape.expects}` });
  }
  return undefined;
}

interface KnownEntries {
  readonly entries: ReadonlyMap<string, Entry>;
  readonly given: ReadonlySet<string>;
}

function knownEntries(
  all: readonly Entry[],
  table: KeyTable,
  rules: MappingRules,
  path: string,
  reader: Reader,
): KnownEntries {
  const entries = new Map<string, Entry>();
  const given = new Set<string>();
  for (const entry of withoutDuplicates(all, path, reader)) {
    if (Object.hasOwn(table, entry.key)) {
      entries.set(entry.key, entry);
      given.add(entry.key);
      continue;
    }
    const guess = nearest(entry.key, Object.keys(table));
    const message = unknownKey(entry.key, guess, table, rules);
    const { source } = entry.keyPlace;
    const at = source.hides(entry.keyPlace)
      ? `${path}.[redacted]`.replace(/^\./, '')
      : join(path, entry.key);
    reader.problems.add({ place: entry.keyPlace, path: at, message });
    if (message.startsWith(UNKNOWN) && entry.value.place.start > entry.keyPlace.start) {
      // The key may be somebody's own word for a secret.
      source.hide(entry.value.place);
    }
    if (guess !== undefined) {
      given.add(guess);
    }
  }
  return { entries, given };
}

const UNKNOWN = 'is not a known key';
const MERGE_KEY = '<<';
const MERGED = 'is a merge key, and those are not read: write the keys out';

function unknownKey(
  key: string,
  guess: string | undefined,
  table: KeyTable,
  rules: MappingRules,
): string {
  if (key === MERGE_KEY) {
    return `${MERGED}, or put them under defaults`;
  }
  const elsewhere = rules.elsewhere?.(key);
  if (elsewhere !== undefined) {
    return `does not belong here: put it under ${elsewhere}`;
  }
  return guess === undefined
    ? `${UNKNOWN}: known here are ${Object.keys(table).join(', ')}`
    : `${UNKNOWN}: did you mean ${guess}?`;
}

/** The first entry of each key; the others are problems. */
function withoutDuplicates(all: readonly Entry[], path: string, reader: Reader): readonly Entry[] {
  const first = new Map<string, Entry>();
  for (const entry of all) {
    const before = first.get(entry.key);
    if (before === undefined) {
      first.set(entry.key, entry);
    } else {
      const { source, start } = before.keyPlace;
      const message = `is given twice, first in line ${source.lineAt(start)}: remove one of them`;
      reader.problems.add({ place: entry.keyPlace, path: join(path, entry.key), message });
    }
  }
  return [...first.values()];
}

export interface FreeKeys {
  readonly expects: string;
  readonly most: number;
  /** What is wrong with a key, and after a colon what would be right; or undefined. */
  readonly keyProblem: (key: string) => string | undefined;
  /** What JSON Schema can say of a good key. */
  readonly keySchema: JsonSchema;
}

/** A mapping whose keys are the person's own. The record has no prototype: its keys are all there is. */
export function record(
  value: Shape<string>,
  rules: FreeKeys,
): Shape<Readonly<Record<string, string>>> {
  return {
    expects: rules.expects,
    schema: {
      type: ['object', 'null'],
      propertyNames: orEnvironment(rules.keySchema),
      additionalProperties: value.schema,
      maxProperties: rules.most,
    },
    read(node, path, reader) {
      function fail(place: Place, at: string, message: string): undefined {
        reader.problems.add({ place, path: at, message });
      }
      const all = entriesOf(node);
      if (all === undefined) {
        return fail(node.place, path, `is ${wordFor(node)}: give ${rules.expects}`);
      }
      if (all.length > rules.most) {
        return fail(node.place, path, `has more than ${rules.most} entries: give fewer`);
      }
      if (!spend(reader, node, path, all.length)) {
        return undefined;
      }
      const result: Record<string, string> = Object.create(null);
      for (const entry of withoutDuplicates(all, path, reader)) {
        const at = join(path, entry.key);
        const key = expand(entry.key, reader.environment);
        const merged = entry.key === MERGE_KEY ? MERGED : undefined;
        const problem = key.problem ?? merged ?? rules.keyProblem(key.text);
        if (problem !== undefined) {
          fail(entry.keyPlace, at, problem);
        } else if (Object.hasOwn(result, key.text)) {
          fail(entry.keyPlace, at, 'is the same as another key here: remove one of them');
        } else {
          result[key.text] = value.read(entry.value, at, reader) ?? '';
        }
      }
      return result;
    },
  };
}

function join(path: string, key: string): string {
  const shown = /^[\w-]+$/.test(key) ? key : JSON.stringify(key.slice(0, 64));
  return path === '' ? shown : `${path}.${shown}`;
}

function nodeOf(plain: Plain, place: Place): SourceNode {
  if (Array.isArray(plain)) {
    return { kind: 'list', place, items: plain.map((item) => nodeOf(item, place)) };
  }
  if (typeof plain === 'object') {
    const entries = Object.entries(plain).map(([key, value]) => ({
      key,
      keyPlace: place,
      value: nodeOf(value, place),
    }));
    return { kind: 'mapping', place, entries };
  }
  const type =
    typeof plain === 'string' ? 'text' : typeof plain === 'number' ? 'number' : 'boolean';
  return { kind: 'scalar', place, type, text: String(plain) };
}
