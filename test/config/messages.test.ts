/** How a problem is shown. What is said of each mistake is in the corpus. */
import { expect, test } from 'vitest';
import { configWith, problemsOf } from './folder.ts';

test('carets are under what is wrong, after tabs and wide lines too', async () => {
  const text = configWith({
    customer: `labels: {\tregion: "${'x'.repeat(200)}", "ä€𝄞": y, job: z }`,
  });
  expect(await problemsOf({ 'config.yaml': text })).toBe(
    [
      'config.yaml:9:227: customers[0].labels."ä€𝄞": is not a label name: use letters, digits and _, and begin with a letter or _',
      `  …${'x'.repeat(57)}", "ä€𝄞": y, job: z }`,
      `  ${' '.repeat(61)}^^^^^`,
      'config.yaml:9:237: customers[0].labels.job: is a reserved label: choose another name',
      `  …${'x'.repeat(46)}", "ä€𝄞": y, job: z }`,
      `  ${' '.repeat(60)}^^^`,
    ].join('\n'),
  );
});
