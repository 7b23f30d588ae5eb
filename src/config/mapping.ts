/** Mappings of the configuration whose keys are known, by a table. */
import { REDACTED } from '../base/secret.ts';
import { entriesOf, joinPath, MERGE_KEY, MERGED, withoutDuplicates } from './entries.ts';
import { spend } from './lists.ts';
import { nearest } from './nearest.ts';
import type { Entry, SourceNode } from './nodes.ts';
import { schemaOfKeys } from './schema.ts';
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
        const at = { place: node.place, path: joinPath(path, key) };
        return [key, readKey(entries.get(key), rule, at, given.has(key), reader)];
      });
      return { fields: Object.fromEntries(fields) as Fields<Table>, given };
    },
  };
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
      ? `${path}.${REDACTED}`.replace(/^\./, '')
      : joinPath(path, entry.key);
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
