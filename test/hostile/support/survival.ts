/**
 * One run of a mutation test: one answer of each stream is changed, and the next poll is a good one.
 * Never a counter above what the service served, and the exact total after the good poll.
 */
import fc from 'fast-check';
import { expect } from 'vitest';
import { response } from './bytes.ts';
import type { Change } from './changes.ts';
import { figuresOf, upOf } from './figures.ts';
import type { Figures } from './figures.ts';
import type { Misbehaviour } from './hostile-service.ts';
import { sumsOf } from './oracle.ts';
import { DATA } from './suffer.ts';
import { expectWell, World } from './world.ts';

/** More than this within a minute has to come again before it is believed (DESIGN.md, section 3). */
const PLAUSIBLE_RISE = 1000;

/** One daemon over many runs, until something is held: that would hide the next lie. */
export class Subject {
  readonly #reconcileIntervalMs: number;
  #world: World | undefined;

  constructor(reconcileIntervalMs: number) {
    this.#reconcileIntervalMs = reconcileIntervalMs;
  }

  async world(): Promise<World> {
    if (this.#world === undefined) {
      this.#world = await World.create({ reconcileIntervalMs: this.#reconcileIntervalMs });
      await this.#world.start();
      await expectWell(this.#world);
    }
    return this.#world;
  }

  /** Ends the daemon; gives what it leaked in all its runs, to be nothing. */
  async leave(): Promise<readonly string[]> {
    const leaks = (await this.#world?.leaks()) ?? [];
    await this.#world?.[Symbol.asyncDispose]();
    this.#world = undefined;
    return leaks;
  }
}

/** What became of the answers that were changed: by how much each sum was. */
interface Served {
  readonly extra: number[];
  allBad: boolean;
}

/** Changes the answer number `at` of each stream, counted from now. */
function changing(change: Change, at: number, served: Served): Misbehaviour {
  const answers = new Map<string, number>();
  return ({ socket, heard, good }) => {
    const answer = answers.get(heard.path) ?? 0;
    answers.set(heard.path, answer + 1);
    const body = Buffer.from(good);
    const sent = answer === at ? change(body) : body;
    socket.write(response(200, { body: sent }));
    note(served, heard.path === '/v1/login' ? 'login' : 'peoplecount', body, sent);
  };
}

function note(served: Served, endpoint: 'peoplecount' | 'login', good: Buffer, sent: Buffer): void {
  if (good.equals(sent)) {
    return;
  }
  const sums = sumsOf(endpoint, sent);
  const right = sumsOf(endpoint, good) ?? [];
  const first = endpoint === 'login' ? 2 : 0;
  served.allBad &&= sums === undefined;
  (sums ?? right).forEach((sum, kind) => {
    const extra = sum - (right[kind] ?? 0);
    served.extra[first + kind] = Math.max(served.extra[first + kind] ?? 0, extra);
  });
}

/**
 * Many runs over one daemon, each with a change that is drawn in one of the answers of a poll, the
 * first `answers` of them. Gives what it leaked, to be nothing.
 */
export async function survives(
  reconcileIntervalMs: number,
  answers: number,
  changes: fc.Arbitrary<Change>,
  numRuns: number,
): Promise<readonly string[]> {
  const subject = new Subject(reconcileIntervalMs);
  const property = fc.asyncProperty(changes, fc.nat(answers - 1), (change, at) =>
    expectSurvival(subject, change, at),
  );
  await fc.assert(property, { numRuns });
  return subject.leave();
}

/** One run: a poll with a changed answer, and a good one. */
async function expectSurvival(subject: Subject, change: Change, at: number): Promise<void> {
  const here = await subject.world();
  const before = figuresOf(await here.scrape());
  const served: Served = { extra: [0, 0, 0], allBad: true };
  here.visit(1, 1, 1);
  here.service.misbehave(DATA, changing(change, at, served));
  await here.turn();
  const during = await here.scrape();
  expectNothingInvented(before, figuresOf(during), here.truth(), served.extra);
  here.service.heal();
  await here.turn();
  const after = await here.scrape();
  expect(upOf(after)).toEqual([1, 1]);
  const { totals, today, held } = figuresOf(after);
  const truth = here.truth();
  expect(totals.map((total, kind) => (total ?? NaN) - (held[kind] ?? NaN))).toEqual(truth.totals);
  expect(today).toEqual(truth.today);
  expectNothingInvented(before, figuresOf(after), truth, served.extra);
  expect(served.allBad ? held : before.held).toEqual(before.held);
  const leaks = held.some((count) => count !== 0) ? await subject.leave() : [];
  expect(leaks).toEqual([]);
}

/** Counters do not fall, and rise no higher than the service's total and the lie, if it is plausible. */
function expectNothingInvented(
  before: Figures,
  now: Figures,
  truth: Figures,
  extra: readonly number[],
): void {
  now.totals.forEach((total = NaN, kind) => {
    const known = before.totals[kind] ?? NaN;
    const honest = truth.totals[kind] ?? NaN;
    const lie = honest + (extra[kind] ?? 0);
    const most = lie - known > PLAUSIBLE_RISE ? honest : lie;
    expect(total).toBeGreaterThanOrEqual(known);
    expect(total).toBeLessThanOrEqual(Math.max(known, most));
  });
}
