/**
 * What the parser's errors mean to the person who wrote the file, and what to do. The parser's own
 * messages are not shown, for some of them quote the file.
 */
import type { YAMLError } from 'yaml';

const TAGGED = 'this tag is not known: remove it, or put a value that begins with ! in quotes';

export const YAML_MESSAGES = {
  ALIAS_PROPS: 'an alias with an anchor or a tag of its own: write *NAME alone',
  BAD_ALIAS:
    'no anchor of this name comes before it: write &NAME at the value that is meant, or quote the *',
  BAD_COLLECTION_TYPE: TAGGED,
  BAD_DIRECTIVE: 'a line that begins with % is not read: remove it',
  BAD_DQ_ESCAPE:
    'no such escape in double quotes: write \\\\ for a backslash, or use single quotes',
  BAD_INDENT: 'indented differently from what it belongs to: align it',
  BAD_PROP_ORDER: 'an anchor or a tag in the wrong place: put it right before the value',
  BAD_SCALAR_START: 'a value cannot begin with this character: put the value in quotes',
  BLOCK_AS_IMPLICIT_KEY:
    'a key inside of a value: align it with the keys above, begin a new line, or quote the value',
  BLOCK_IN_FLOW: 'a block inside of brackets: close them before it, or put a comma between values',
  DUPLICATE_KEY: 'a key that is given twice: remove one of them',
  IMPOSSIBLE: 'not understood: write it in a simpler way',
  KEY_OVER_1024_CHARS: 'a key of more than 1024 characters: put the colon nearer, or close a quote',
  MISSING_CHAR:
    'a character is missing here: check the colons, commas, spaces and quotes before it',
  MULTILINE_IMPLICIT_KEY: 'a key without a colon: write KEY: VALUE, and close quotes before it',
  MULTIPLE_ANCHORS: 'a second anchor for one value: remove one of them',
  MULTIPLE_DOCS: 'a second document begins here: one file holds one, so remove the line --- or ...',
  MULTIPLE_TAGS: 'a second tag for one value: remove one of them',
  NON_STRING_KEY: 'a key that is not plain text: write KEY: VALUE, and quote what begins with {',
  RESOURCE_EXHAUSTION: 'nested too deeply: no key goes deeper than four levels',
  TAB_AS_INDENT: 'indented with a tab: use spaces',
  TAG_RESOLVE_FAILED: TAGGED,
  UNEXPECTED_TOKEN:
    'not expected here: check the brackets and quotes before it, or quote the value',
} as const satisfies Record<YAMLError['code'], string>;

const KEY_ERRORS: ReadonlySet<string> = new Set(['MISSING_CHAR', 'MULTILINE_IMPLICIT_KEY']);

/** Of the many things that one code stands for, those that happen. */
const WORDS = [
  [/^Missing closing/, 'a quote that is not closed: close it'],
  [/^Flow end indicator/, 'a closing bracket that is not indented: indent it more than the key'],
  [
    /sufficiently indented/,
    'a bracket that is not closed, or text in it not indented: mend either',
  ],
  [/end with a \W$/, 'a bracket that is not closed: close it'],
  [/followed by map values/, 'a key without a colon: write KEY: VALUE'],
  [
    /^Sequence item without/,
    'not a part of the entry above: align it with the keys there, or begin it with "- "',
  ],
  [/^Anchor cannot be/, 'an anchor without a name: put a value that begins with & in quotes'],
  [/^Alias cannot be/, 'an alias without a name: put a value that begins with * in quotes'],
  [/^Block scalar header/, 'text right after | or >: begin it on the next line'],
  [/^Comments must be/, 'a comment right after a value: put a space before #'],
  [/^Missing space after/, 'a colon right before a value: put a space after it'],
  [/^Missing , /, 'two values without a comma between them: write one'],
] as const;

/** `text` is what the error points at. */
export function yamlMessage(error: YAMLError, text: string): string {
  if (KEY_ERRORS.has(error.code) && /^[\w-]+:[^ \n]/.test(text)) {
    // A no-break space looks as it should.
    return 'no space, or an unusual one, after the colon: write KEY: VALUE with a plain space';
  }
  return WORDS.find(([pattern]) => pattern.test(error.message))?.[1] ?? YAML_MESSAGES[error.code];
}
