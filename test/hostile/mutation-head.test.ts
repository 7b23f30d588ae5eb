/** Good answers with bytes of their heads changed, drawn by fast-check. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { response } from './support/bytes.ts';
import { someBytes } from './support/changes.ts';
import type { Change } from './support/changes.ts';
import { figuresOf, upOf } from './support/figures.ts';
import { DATA } from './support/suffer.ts';
import { Subject } from './support/survival.ts';
import { expectWell } from './support/world.ts';

test('a head with some bytes changed never changes what is counted', async () => {
  const subject = new Subject(60_000);
  const property = fc.asyncProperty(someBytes, (change) => expectSurvival(subject, change));
  await expect(fc.assert(property, { numRuns: 120 })).resolves.toBeUndefined();
  expect(await subject.leave()).toEqual([]);
}, 90_000);

async function expectSurvival(subject: Subject, change: Change): Promise<void> {
  const here = await subject.world();
  const before = figuresOf(await here.scrape());
  here.visit(1, 1, 1);
  here.service.misbehave(DATA, ({ socket, good }) => {
    const whole = response(200, { body: good });
    const headEnd = whole.indexOf('\r\n\r\n') + 4;
    const head = change(whole.subarray(0, headEnd));
    socket.end(Buffer.concat([head, whole.subarray(headEnd)]));
  });
  await here.turn();
  const truth = here.truth();
  const during = await here.scrape();
  const { totals, today } = figuresOf(during);
  upOf(during).forEach((up, stream) => {
    const expected = up === 1 ? truth : before;
    const kinds = stream === 0 ? [0, 1] : [2];
    expect(kinds.map((kind) => [totals[kind], today[kind]])).toEqual(
      kinds.map((kind) => [expected.totals[kind], expected.today[kind]]),
    );
  });
  here.service.heal();
  await here.turn();
  await expectWell(here);
}
