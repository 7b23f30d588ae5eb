import type { Conventions } from '../../src/simulator/conventions.ts';

/** Where the designator is read as UTC no window begins where the epoch does; limits cost time. */
export function answerable(drawn: Conventions): Conventions {
  const isUtc = drawn.designator === 'ignored, read as UTC';
  return {
    ...drawn,
    designator: isUtc ? 'ignored, read as local' : drawn.designator,
    rateLimit: undefined,
  };
}
