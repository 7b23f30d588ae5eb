/** Random changes of a YAML text: pieces are removed, and others are inserted. */
import fc from 'fast-check';

const INSERTED = [
  ['\n', '\r', '\t', ' ', '    ', '\0', '\xc2\xa0', '\xff', '[', ']', '{', '}', ',', ':', ': '],
  ['- ', '? ', '"', "'", '|\n', '>-\n', '#', ' # ', '~', '&a ', '*a', '<<: *a', '!', '!!str '],
  ['%', '%YAML 1.1\n', '@', '\\', '"\\q"', '---\n', '...\n', '${', '${HILLSIDE_SECRET}', '$${'],
  ['null', 'true', '0', '1e3', '0x1', 'x', 'x: y\n', '__proto__: ', 'constructor: '],
].flat();
const SPLITS = [/(?:)/, /(?<=[\s:,[\]{}"'#*/;-])|(?=[\s:,[\]{}"'#*/;-])/, /(?<=\n)/] as const;

const anyChange = fc.record({
  split: fc.constantFrom(...SPLITS),
  at: fc.nat(10_000),
  remove: fc.integer({ min: 0, max: 4 }),
  insert: fc.oneof(fc.constantFrom('', ...INSERTED), fc.string({ maxLength: 3 })),
});

/** Returns `text` after one to four changes. Characters stand for bytes. */
export function changesOf(text: string): fc.Arbitrary<string> {
  return fc.array(anyChange, { minLength: 1, maxLength: 4 }).map((changes) =>
    changes.reduce((changed, { split, at, remove, insert }) => {
      const parts = changed.split(split);
      parts.splice(at % parts.length, remove, insert);
      return parts.join('');
    }, text),
  );
}

/** Texts of what YAML is made of, without an order. */
export const anyYaml = fc
  .array(fc.constantFrom('service', 'customers', '  ', '\n', ...INSERTED), { maxLength: 40 })
  .map((tokens) => tokens.join(''));
