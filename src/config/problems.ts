/**
 * All that is wrong with a configuration, each with its place, and the one text that says so. What
 * was told to be secret appears nowhere in it.
 */
import { ConfigError } from '../base/errors.ts';
import { REDACTED } from '../base/secret.ts';
import { printable } from './source.ts';
import type { Place, SourceFile } from './source.ts';

export interface Problem {
  readonly place: Place;
  /** `customers[0].timezone`, or in parentheses what is not a key. */
  readonly path: string;
  /** What is wrong, and after a colon what would be right. Never quotes a value. */
  readonly message: string;
}

/** More are counted, not shown: a wrong file can have a problem in every byte. */
const SHOWN = 1_000;
/** A shorter text occurs by chance in others, and hiding it there would tell it. */
const SHORTEST_SECRET = 4;

export class Problems {
  readonly #list: Problem[] = [];
  readonly #secrets = new Set<string>();
  readonly #files = new Map<SourceFile, number>();

  /** Files are shown in the order in which they are announced here. */
  announce(file: SourceFile): void {
    this.#files.set(file, this.#files.size);
  }

  add(problem: Problem): void {
    this.#list.push(problem);
  }

  /** A text that must not be shown, wherever it occurs. */
  keepSecret(text: string): void {
    for (const part of [text, ...text.split('\n')]) {
      if (part.trim().length >= SHORTEST_SECRET) {
        this.#secrets.add(part.trim());
      }
    }
  }

  isSecret(text: string): boolean {
    return this.#secrets.has(text.trim());
  }

  get count(): number {
    return this.#list.length;
  }

  /** Throws a ConfigError with every problem, in the order of files and places, if there is any. */
  throwIfAny(): void {
    if (this.#list.length === 0) {
      return;
    }
    const sorted = this.#list.toSorted(
      (a, b) =>
        this.#orderOf(a.place.source) - this.#orderOf(b.place.source) ||
        a.place.start - b.place.start,
    );
    const lines = sorted.slice(0, SHOWN).map((problem) => this.describe(problem));
    if (sorted.length > SHOWN) {
      lines.push(`and ${sorted.length - SHOWN} more problems`);
    }
    throw new ConfigError(lines.join('\n'), sorted.length);
  }

  /** `FILE:LINE:COLUMN: PATH: MESSAGE`, the source line and a line with carets. */
  describe({ place, path, message }: Problem): string {
    const { line, column, excerpt } = place.source.show(place, this.#secrets);
    let shown = path === '' ? '(top level)' : printable(path);
    for (const secret of this.#secrets) {
      shown = shown.replaceAll(secret, REDACTED);
    }
    const headline = `${place.source.name}:${line}:${column}: ${shown}: ${message}`;
    return [headline, ...excerpt.map((text) => `  ${text}`)].join('\n');
  }

  #orderOf(file: SourceFile): number {
    return this.#files.get(file) ?? 0;
  }
}
