/**
 * A file of the configuration as scalars, lists and mappings, each with its place. What YAML allows
 * and nobody means in a configuration is a problem here. Must not know any key.
 */
import { isAlias, isMap, isNode, isPair, isScalar, isSeq, parseDocument } from 'yaml';
import type { Document, Scalar } from 'yaml';
import { hideSecrets } from './hiding.ts';
import type { Problems } from './problems.ts';
import type { Place, SourceFile } from './source.ts';
import { syntaxErrors } from './syntax-errors.ts';
import { YAML_MESSAGES } from './yaml-messages.ts';

export type SourceNode = ScalarNode | ListNode | MappingNode;

export interface ScalarNode {
  readonly kind: 'scalar';
  readonly place: Place;
  /** As written, without quotes; what `${NAME}` stands for is not filled in. */
  readonly text: string;
  readonly type: 'text' | 'number' | 'boolean' | 'nothing';
  /** Whether an alias stood here: the text itself is elsewhere, and may be a secret. */
  readonly aliased?: true;
}

export interface ListNode {
  readonly kind: 'list';
  readonly place: Place;
  readonly items: readonly SourceNode[];
}

export interface MappingNode {
  readonly kind: 'mapping';
  readonly place: Place;
  readonly entries: readonly Entry[];
}

export interface Entry {
  readonly key: string;
  readonly keyPlace: Place;
  readonly value: SourceNode;
}

const DEEPEST = 16;
const SYNTAX = '(YAML)';

/**
 * The whole of a file, or undefined after at least one problem. What is secret in it is hidden from
 * then on.
 */
export function parseSource(
  source: SourceFile,
  { knownKeys, example }: Expected,
  problems: Problems,
): SourceNode | undefined {
  const document = parseYaml(source, problems);
  hideSecrets(source, document, knownKeys, problems);
  if (document === undefined) {
    return undefined;
  }
  const errors = syntaxErrors(source, document);
  for (const error of errors) {
    problems.add(error);
  }
  const version = document.directives?.yaml;
  if (version?.explicit === true && version.version !== '1.2') {
    const message = 'another version of YAML than 1.2: remove the line that begins with %YAML';
    problems.add({ place: source.at(0), path: SYNTAX, message });
    return undefined;
  }
  return errors.length > 0
    ? undefined
    : new Converter(source, problems).convertAll(document, example);
}

/** What a file is expected to hold. */
export interface Expected {
  readonly knownKeys: ReadonlySet<string>;
  /** The file that shows it. */
  readonly example: string;
}

function parseYaml(source: SourceFile, problems: Problems): Document | undefined {
  const strange = /[^\P{Cc}\t\n\r]|\r(?!\n)/u.exec(source.text);
  if (strange !== null) {
    const code = strange[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    problems.add({
      place: source.at(strange.index),
      path: '(text)',
      message: `holds the control character U+${code}: remove it`,
    });
    return undefined;
  }
  try {
    return parseDocument(source.text, {
      logLevel: 'error',
      prettyErrors: false,
      resolveKnownTags: false,
      stringKeys: true,
      uniqueKeys: false,
    });
  } catch {
    // The parser calls itself for every level, and the stack ends somewhere.
    const message = 'not understood as a whole: check the brackets, and nest less deeply';
    problems.add({ place: source.at(0), path: SYNTAX, message });
    return undefined;
  }
}

/** Goes through a document once, in its order, so that an alias means the last anchor before it. */
class Converter {
  readonly #source: SourceFile;
  readonly #problems: Problems;
  readonly #anchored = new Map<string, SourceNode | 'unfinished'>();
  #failed = false;

  constructor(source: SourceFile, problems: Problems) {
    this.#source = source;
    this.#problems = problems;
  }

  convertAll(document: Document, example: string): SourceNode | undefined {
    if (!isNode(document.contents) || this.#isEmpty(document.contents)) {
      const message = `is empty: see ${example} for what it can hold`;
      this.#problems.add({ place: this.#source.at(0), path: '(file)', message });
      return undefined;
    }
    const converted = this.#convert(document.contents, this.#source.at(0), 0);
    return this.#failed ? undefined : converted;
  }

  #isEmpty(contents: unknown): boolean {
    return isScalar(contents) && contents.value === null;
  }

  /** `fallback` is the place of what has none: a value that is not there. */
  #convert(node: unknown, fallback: Place, depth: number): SourceNode {
    const place = this.#placeOf(node, fallback);
    if (depth > DEEPEST) {
      return this.#fail(place, YAML_MESSAGES.RESOURCE_EXHAUSTION);
    }
    if (isAlias(node)) {
      const target = this.#anchored.get(node.source);
      if (target === undefined) {
        return this.#fail(place, YAML_MESSAGES.BAD_ALIAS);
      }
      return target === 'unfinished'
        ? this.#fail(place, 'an alias inside of what it stands for: write the value out')
        : target.kind === 'scalar'
          ? { ...target, place, aliased: true }
          : { ...target, place };
    }
    const anchor = isNode(node) && 'anchor' in node ? node.anchor : undefined;
    if (anchor !== undefined) {
      this.#anchored.set(anchor, 'unfinished');
    }
    const converted = this.#convertContents(node, place, depth);
    if (anchor !== undefined) {
      this.#anchored.set(anchor, converted);
    }
    return converted;
  }

  #convertContents(node: unknown, place: Place, depth: number): SourceNode {
    if (isMap(node)) {
      const entries = node.items.filter(isPair).map((pair): Entry => {
        const keyPlace = this.#startOf(pair.key, place);
        const key = isScalar(pair.key) ? String(pair.key.value) : '';
        return { key, keyPlace, value: this.#convert(pair.value, keyPlace, depth + 1) };
      });
      return { kind: 'mapping', place, entries };
    }
    if (isSeq(node)) {
      const items = node.items.map((item) =>
        this.#convert(item, this.#startOf(item, place), depth + 1),
      );
      return { kind: 'list', place, items };
    }
    return isScalar(node)
      ? { kind: 'scalar', place, ...scalarContents(node) }
      : { kind: 'scalar', place, type: 'nothing', text: '' };
  }

  #placeOf(node: unknown, fallback: Place): Place {
    const range = isNode(node) ? node.range : undefined;
    return range && range[1] > range[0] ? this.#source.at(range[0], range[1]) : fallback;
  }

  /** As above, but something that is empty is where it begins. */
  #startOf(node: unknown, fallback: Place): Place {
    const start = isNode(node) ? node.range?.[0] : undefined;
    if (start === undefined) {
      return this.#placeOf(node, fallback);
    }
    const spaces = /^ */.exec(this.#source.text.slice(start, start + 1_024))?.[0].length ?? 0;
    return this.#placeOf(node, this.#source.at(start + spaces));
  }

  #fail(place: Place, message: string): SourceNode {
    this.#failed = true;
    this.#problems.add({ place, path: SYNTAX, message });
    return { kind: 'scalar', place, type: 'nothing', text: '' };
  }
}

/** Numbers keep their writing: 0123 may be somebody's client id. */
function scalarContents(scalar: Scalar): Pick<ScalarNode, 'text' | 'type'> {
  const { value, source } = scalar;
  if (typeof value === 'string') {
    return { type: 'text', text: value };
  }
  if (typeof value === 'number' || typeof value === 'boolean') {
    const type = typeof value === 'number' ? 'number' : 'boolean';
    return { type, text: source ?? String(value) };
  }
  return { type: 'nothing', text: '' };
}
