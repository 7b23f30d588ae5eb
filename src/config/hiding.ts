/**
 * Which parts of a file are secret, whether or not it is good YAML: what follows a key such as
 * `client_secret`, to the end of its line and of its value; user, password and query in a URL; and
 * all of a file that is none of ours, which may be a file of a secret. In doubt more is hidden.
 */
import { isAlias, isMap, isNode, isScalar, visit } from 'yaml';
import type { Document, Node } from 'yaml';
import { editDistance, plain } from './nearest.ts';
import type { Problems } from './problems.ts';
import type { SourceFile } from './source.ts';

const SECRET_KEY = plain('client_secret');
/** A mapping whose values are secret, and whose keys are the person's own. */
const USERS_KEY = plain('basic_auth_users');
const SECRET_FILE_KEY = 'client_secret_file';
const LONGEST_PATH = 4_096;
/** A misspelt key is a problem that is shown, and what follows it is as secret. */
const MISSPELT_BY = 3;

/** `knownKeys` are the keys of the configuration: one of them ends a secret that YAML cannot delimit. */
export function hideSecrets(
  source: SourceFile,
  document: Document | undefined,
  knownKeys: ReadonlySet<string>,
  problems: Problems,
): void {
  if (!mentionsAny(knownKeys, source.text)) {
    source.hide({ start: 0, end: source.text.length });
    return;
  }
  const broken = document === undefined || document.errors.length > 0;
  hideByLine(source, broken ? knownKeys : undefined);
  hideByWord(source);
  hideByForm(source);
  if (document !== undefined) {
    hideByNode(source, document, knownKeys, problems);
  }
}

function mentionsAny(keys: ReadonlySet<string>, text: string): boolean {
  // Each word is tried from its beginning alone, or a long one would take for ever.
  for (const [, word = ''] of text.matchAll(/(?<![\w-])([\w-]+)["']?\s*[:=]/g)) {
    if (keys.has(word)) {
      return true;
    }
  }
  return false;
}

/** Credentials in a URL, with a scheme or not, its query, and a secret that follows its key at once. */
function hideByWord(source: SourceFile): void {
  for (const { 0: word, index } of source.text.matchAll(/[^\s"']+/g)) {
    const scheme = word.indexOf('://');
    const end = word.lastIndexOf('@');
    const start = scheme !== -1 && scheme < end ? scheme + 3 : 0;
    if (end > start) {
      source.hide({ start: index + start, end: index + end });
    }
    const query = scheme === -1 ? -1 : word.slice(scheme).search(/[?#]/);
    if (query !== -1) {
      source.hide({ start: index + scheme + query + 1, end: index + word.length });
    }
    const fused = startOfFused(word);
    if (fused !== undefined) {
      const lineEnd = source.text.indexOf('\n', index);
      source.hide({ start: index + fused, end: lineEnd === -1 ? source.text.length : lineEnd });
    }
  }
}

/** What is a secret wherever it is: a private key in PEM, and the hash of a password. */
function hideByForm(source: SourceFile): void {
  const forms =
    /-----BEGIN [A-Z ]*PRIVATE KEY[^]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)|\$2[a-z]?\$\d\d\$[^\s"',}]*/g;
  for (const { 0: secret, index } of source.text.matchAll(forms)) {
    source.hide({ start: index, end: index + secret.length });
  }
}

/** Where in a word a secret begins that follows its key, or a part of it, without a colon. */
function startOfFused(word: string): number | undefined {
  const match = /client[-_]?s[\w-]*/i.exec(word);
  if (match === null || /file$/i.test(match[0])) {
    return undefined;
  }
  const key = match[0].toLowerCase().replace('-', '_');
  if (key === 'client_secret' || (resemblesSecretKey(key) && !key.startsWith('client_secret'))) {
    return undefined;
  }
  let length = 0;
  while (length < key.length && key[length] === 'client_secret'[length]) {
    length += 1;
  }
  return match.index + length;
}

/** With `knownKeys`, the lines after such a key are hidden as well, up to one with a known key. */
function hideByLine(source: SourceFile, knownKeys: ReadonlySet<string> | undefined): void {
  let secretIndent: number | undefined;
  for (const match of source.text.matchAll(/[^\n]+/g)) {
    const line = match[0];
    const end = match.index + line.length;
    const scheme = line.indexOf('://');
    if (scheme !== -1 && line.lastIndexOf('@') > scheme) {
      source.hide({ start: match.index + scheme + 3, end: match.index + line.lastIndexOf('@') });
    }
    const strange = knownKeys && startOfStrange(line, knownKeys);
    if (strange !== undefined) {
      source.hide({ start: match.index + strange, end });
    }
    const at = startOfSecret(line, knownKeys !== undefined);
    if (at !== undefined) {
      source.hide({ start: match.index + at, end });
      secretIndent = knownKeys === undefined ? undefined : indentOf(line);
    } else if (secretIndent !== undefined) {
      const key = /^[\s{[,-]*["']?([\w-]+)["']?\s*:/.exec(line)?.[1] ?? '';
      if (indentOf(line) > secretIndent || !knownKeys?.has(key)) {
        source.hide({ start: match.index, end });
      } else {
        secretIndent = undefined;
      }
    }
  }
}

/** Where the value of a key begins that is not known, for it may be somebody's word for a secret. */
function startOfStrange(line: string, knownKeys: ReadonlySet<string>): number | undefined {
  const match = /^[\s{[,?-]*["']?(.*?)["']?\s*:(?=\s|$)/s.exec(line);
  return match === null || knownKeys.has(match[1] ?? '') ? undefined : match[0].length;
}

/** Where in a line the value of a secret key begins; in a broken file a path may be a secret as well. */
function startOfSecret(line: string, broken: boolean): number | undefined {
  for (const match of line.matchAll(/([\w-]+)(["']?\s*[:=]?\s*)/g)) {
    const [whole, word = '', rest = ''] = match;
    const isKey = rest.includes(':') || rest.includes('=');
    const isSecret =
      namesSecret(word) || (broken && (word === SECRET_FILE_KEY || namesUsers(word)));
    if (resemblesSecretKey(word) || (isKey && isSecret)) {
      return match.index + whole.length;
    }
  }
  return undefined;
}

function indentOf(line: string): number {
  return /^[\s-]*/.exec(line)?.[0].length ?? 0;
}

interface KeyMeaning {
  readonly isSecret: boolean;
  /** Whether all that is in its value is secret. */
  readonly isUsers: boolean;
}

function hideByNode(
  source: SourceFile,
  document: Document,
  knownKeys: ReadonlySet<string>,
  problems: Problems,
): void {
  const anchored = new Map<string, Node>();
  /** A file has few keys, and each of them often. */
  const known = new Map<string, KeyMeaning>();
  function meaningOf(key: string): KeyMeaning {
    const meaning = known.get(key) ?? {
      isSecret: resemblesSecretKey(key) || namesSecret(key),
      isUsers: namesUsers(key),
    };
    known.set(key, meaning);
    return meaning;
  }
  /** With all that is in them: secret keys may be nested, and each node is gone through once. */
  const hidden = new Set<unknown>();
  function hide(node: unknown): void {
    if (isNode(node) && !hidden.has(node)) {
      hideNode(source, node, hidden, problems);
    }
  }
  visit(document, {
    Value(_, node) {
      if (node.anchor !== undefined) {
        anchored.set(node.anchor, node);
      }
    },
    Pair(_, pair) {
      const key = isScalar(pair.key) ? String(pair.key.value) : '';
      const { isSecret, isUsers } = meaningOf(key);
      const isStrange = !knownKeys.has(key);
      if (isStrange && isScalar(pair.value) && resemblesSecretKey(String(pair.value.value))) {
        // The wrong way round.
        hide(pair.key);
      }
      if (key === SECRET_FILE_KEY && !isPath(pair.value)) {
        hide(pair.value);
      }
      if (isSecret) {
        hide(isAlias(pair.value) ? anchored.get(pair.value.source) : pair.value);
      }
      if (isUsers) {
        const users = isAlias(pair.value) ? anchored.get(pair.value.source) : pair.value;
        const values = isMap(users) ? users.items.map(({ value }) => value) : [users];
        values.forEach((value) => hide(isAlias(value) ? anchored.get(value.source) : value));
      }
    },
  });
}

function hideNode(source: SourceFile, node: Node, hidden: Set<unknown>, problems: Problems): void {
  if (node.range) {
    source.hide({ start: node.range[0], end: node.range[1] });
  }
  visit(node, {
    Node(_, inner) {
      hidden.add(inner);
      if (isScalar(inner)) {
        // A reference to the environment is no secret; what it stands for is told when it is read.
        for (const part of (inner.source ?? String(inner.value)).split(/\$\{[^}]*\}?/)) {
          problems.keepSecret(part);
        }
      }
    },
  });
}

/** Which need not be there. */
function isPath(node: unknown): boolean {
  return isAlias(node) || (isScalar(node) && String(node.value).length <= LONGEST_PATH);
}

function resemblesSecretKey(word: string): boolean {
  return resembles(word, SECRET_KEY);
}

function namesUsers(word: string): boolean {
  return resembles(word, USERS_KEY);
}

function resembles(word: string, key: string): boolean {
  const written = plain(word);
  return (
    Math.abs(written.length - key.length) <= MISSPELT_BY &&
    editDistance(written, key, MISSPELT_BY) <= MISSPELT_BY
  );
}

const NAMES = /ecret|passw|passphrase|pwd|token|credential|(^|[_-]|api|auth|access|private)key$/i;

/** Keys that we do not know, but that hold secrets; `client_secret_file` holds a path. */
function namesSecret(word: string): boolean {
  return NAMES.test(word) && !/_?file$/i.test(word);
}
