/** One file of a configuration, from its name to its nodes, with what is wrong on the way. */
import type { SourceNode } from './nodes.ts';
import { parseSource } from './nodes.ts';
import type { Problems } from './problems.ts';
import { LARGEST_FILE_BYTES, readTextFile } from './read-file.ts';
import type { FileContent } from './read-file.ts';
import { SourceFile } from './source.ts';

export interface ParsedFile {
  readonly node: SourceNode;
  /** Permission bits. */
  readonly mode: number;
}

export interface FileToParse {
  /** As the person named it. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly knownKeys: ReadonlySet<string>;
  /** The file that shows what such a file can hold. */
  readonly example: string;
}

/** Undefined after at least one problem. */
export async function parseFile(
  { name, path, knownKeys, example }: FileToParse,
  problems: Problems,
): Promise<ParsedFile | undefined> {
  const read = await readTextFile(path, LARGEST_FILE_BYTES).catch((error: unknown) => error);
  const content = read instanceof Error ? undefined : (read as FileContent);
  const source = new SourceFile(name, path, content?.text ?? '');
  problems.announce(source);
  if (read instanceof Error) {
    problems.add({ place: source.at(0), path: '(file)', message: read.message });
    return undefined;
  }
  const node = parseSource(source, { knownKeys, example }, problems);
  return node && { node, mode: content?.mode ?? 0 };
}
