/**
 * Which parts of a file are secret, whether or not it is good YAML: what follows a key such as
 * `client_secret`, to the end of its line and of its value, and user and password in a URL. In
 * doubt more is hidden.
 */
import { isAlias, isNode, isScalar, visit } from 'yaml';
import type { Document, Node } from 'yaml';
import { editDistance, plain } from './nearest.ts';
import type { Problems } from './problems.ts';
import type { SourceFile } from './source.ts';

const SECRET_KEY = plain('client_secret');
/** A misspelt key is a problem that is shown, and what follows it is as secret. */
const MISSPELT_BY = 3;

/** `knownKeys` are the keys of the configuration: one of them ends a secret that YAML cannot delimit. */
export function hideSecrets(
  source: SourceFile,
  document: Document | undefined,
  knownKeys: ReadonlySet<string>,
  problems: Problems,
): void {
  const broken = document === undefined || document.errors.length > 0;
  hideByLine(source, broken ? knownKeys : undefined);
  hideByWord(source);
  if (document !== undefined) {
    hideByNode(source, document, problems);
  }
}

/** Credentials in a URL, and a secret that follows its key without a colon or a space. */
function hideByWord(source: SourceFile): void {
  for (const { 0: word, index } of source.text.matchAll(/[^\s"']+/g)) {
    const scheme = word.indexOf('://');
    const end = word.lastIndexOf('@');
    if (scheme !== -1 && end > scheme) {
      source.hide({ start: index + scheme + 3, end: index + end });
    }
    const fused = /client_secret(?!_file\b)(?=[\w-])/.exec(word);
    if (fused !== null) {
      source.hide({ start: index + fused.index + fused[0].length, end: index + word.length });
    }
  }
}

/** With `knownKeys`, the lines after such a key are hidden as well, up to one with a known key. */
function hideByLine(source: SourceFile, knownKeys: ReadonlySet<string> | undefined): void {
  let secretIndent: number | undefined;
  for (const match of source.text.matchAll(/[^\n]+/g)) {
    const line = match[0];
    const end = match.index + line.length;
    const at = startOfSecret(line);
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

/** Where in a line the value of a secret key begins. */
function startOfSecret(line: string): number | undefined {
  for (const match of line.matchAll(/([\w-]+)(["']?\s*[:=]?\s*)/g)) {
    const [whole, word = '', rest = ''] = match;
    const isKey = rest.includes(':') || rest.includes('=');
    if (resemblesSecretKey(word) || (isKey && namesSecret(word))) {
      return match.index + whole.length;
    }
  }
  return undefined;
}

function indentOf(line: string): number {
  return /^[\s-]*/.exec(line)?.[0].length ?? 0;
}

function hideByNode(source: SourceFile, document: Document, problems: Problems): void {
  const anchored = new Map<string, Node>();
  visit(document, {
    Value(_, node) {
      if (node.anchor !== undefined) {
        anchored.set(node.anchor, node);
      }
    },
    Pair(_, pair) {
      const key = isScalar(pair.key) ? String(pair.key.value) : '';
      if (resemblesSecretKey(key) || namesSecret(key)) {
        const value = isAlias(pair.value) ? anchored.get(pair.value.source) : pair.value;
        hideNode(source, value, problems);
      }
    },
  });
}

function hideNode(source: SourceFile, node: unknown, problems: Problems): void {
  if (!isNode(node)) {
    return;
  }
  if (node.range) {
    source.hide({ start: node.range[0], end: node.range[1] });
  }
  visit(node, {
    Scalar(_, scalar) {
      // A reference to the environment is no secret; what it stands for is told when it is read.
      for (const part of (scalar.source ?? String(scalar.value)).split(/\$\{[^}]*\}?/)) {
        problems.keepSecret(part);
      }
    },
  });
}

function resemblesSecretKey(word: string): boolean {
  const key = plain(word);
  return (
    Math.abs(key.length - SECRET_KEY.length) <= MISSPELT_BY &&
    editDistance(key, SECRET_KEY) <= MISSPELT_BY
  );
}

/** Keys that we do not know, but that hold secrets; `client_secret_file` holds a path. */
function namesSecret(word: string): boolean {
  return /ecret|passw|token/i.test(word) && !/_?file$/i.test(word);
}
