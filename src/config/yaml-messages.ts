/**
 * What the parser's errors mean to the person who wrote the file, and what to do. The parser's own
 * messages are not shown, for some of them quote the file.
 */
import type { YAMLError } from 'yaml';

const TAGGED = 'this tag is not known: remove it, or put a value that begins with ! in quotes';

export const YAML_MESSAGES = {
  ALIAS_PROPS: 'an alias with an anchor or a tag of its own: write *NAME alone',
  BAD_ALIAS: 'no anchor of this name comes before it: write &NAME at the value that is meant',
  BAD_COLLECTION_TYPE: TAGGED,
  BAD_DIRECTIVE: 'a line that begins with % is not read: remove it',
  BAD_DQ_ESCAPE:
    'no such escape in double quotes: write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'indented differently from what it belongs to: align it',
  BAD_PROP_ORDER: 'an anchor or a tag in the wrong place: put it right before the value',
  BAD_SCALAR_START: 'a value cannot begin with this character: put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a second key on one line: begin a new line, or put the value in quotes',
  BLOCK_IN_FLOW: 'a block inside of brackets: close the brackets before it',
  DUPLICATE_KEY: 'a key that is given twice: remove one of them',
  IMPOSSIBLE: 'not understood: write it in a simpler way',
  KEY_OVER_1024_CHARS: 'a key of more than 1024 characters: put the colon nearer, or close a quote',
  MISSING_CHAR:
    'a character is missing here: check the colons, commas, spaces and quotes before it',
  MULTILINE_IMPLICIT_KEY: 'a key without a colon: write KEY: VALUE, and close quotes before it',
  MULTIPLE_ANCHORS: 'a second anchor for one value: remove one of them',
  MULTIPLE_DOCS: 'a second document begins here: one file holds one, so remove the line ---',
  MULTIPLE_TAGS: 'a second tag for one value: remove one of them',
  NON_STRING_KEY: 'a key that is not plain text: write KEY: VALUE',
  RESOURCE_EXHAUSTION: 'nested too deeply: no key goes deeper than four levels',
  TAB_AS_INDENT: 'indented with a tab: use spaces',
  TAG_RESOLVE_FAILED: TAGGED,
  UNEXPECTED_TOKEN:
    'not expected here: check the brackets and quotes before it, or quote the value',
} as const satisfies Record<YAMLError['code'], string>;

/** Of the many things that can be missing, those that happen. */
const MISSING = [
  [/^Missing closing/, 'a quote that is not closed: close it'],
  [/end with a \W$/, 'a bracket that is not closed: close it'],
  [/followed by map values/, 'a key without a colon: write KEY: VALUE'],
  [/^Sequence item without/, 'an entry of a list without a hyphen: begin it with "- "'],
  [/^Comments must be/, 'a comment right after a value: put a space before #'],
  [/^Missing space after/, 'a colon right before a value: put a space after it'],
  [/^Missing , /, 'two values without a comma between them: write one'],
] as const;

export function yamlMessage(error: YAMLError): string {
  const missing = MISSING.find(([pattern]) => pattern.test(error.message))?.[1];
  return missing ?? YAML_MESSAGES[error.code];
}
