/**
 * Which of the parser's errors are shown, and where. A bracket that is not closed is found at the
 * end of the file, and told where it was opened. Must not know any key.
 */
import { isCollection, isScalar, visit } from 'yaml';
import type { Document, YAMLError } from 'yaml';
import type { Problem } from './problems.ts';
import type { Place, SourceFile } from './source.ts';
import { yamlMessage } from './yaml-messages.ts';

/** A syntax error brings others after it, which say nothing new. */
const SHOWN = 10;
/** Of those that are looked at: a wrong file can have an error in every byte. */
const CONSIDERED = 200;

/** In the order of their places; one a line, for the others of a line are effects of the first. */
export function syntaxErrors(source: SourceFile, document: Document): readonly Problem[] {
  const errors = [...document.errors, ...document.warnings]
    .toSorted((a, b) => a.pos[0] - b.pos[0])
    .slice(0, CONSIDERED);
  const openings = errors.some(isUnclosed) ? openingsOf(document) : [];
  const problems = errors
    .map((error): Problem => {
      const place = placeOf(error, openings, source);
      const text = source.text.slice(place.start, place.end);
      return { place, path: '(YAML)', message: yamlMessage(error, text) };
    })
    .toSorted((a, b) => a.place.start - b.place.start);
  const lines = new Set<number>();
  return problems
    .filter(({ place }) => {
      const line = source.lineAt(place.start);
      return !lines.has(line) && lines.add(line);
    })
    .slice(0, SHOWN);
}

function isUnclosed({ message }: YAMLError): boolean {
  return /^Missing closing|end with a \W$/.test(message);
}

interface Opening {
  readonly start: number;
  readonly end: number;
}

/** Of everything that has to be closed, the outer before the inner. */
function openingsOf(document: Document): readonly Opening[] {
  const openings: Opening[] = [];
  visit(document, {
    Node(_, node) {
      const closes = isScalar(node)
        ? node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE'
        : isCollection(node) && node.flow === true;
      if (closes && node.range) {
        openings.push({ start: node.range[0], end: node.range[1] });
      }
    },
  });
  return openings;
}

function placeOf(error: YAMLError, openings: readonly Opening[], source: SourceFile): Place {
  const [start, end] = error.pos;
  const opening = isUnclosed(error)
    ? openings.findLast((range) => range.start < start && range.end >= start)
    : undefined;
  return opening === undefined
    ? source.at(start, end)
    : source.at(opening.start, opening.start + 1);
}
