import type { Conventions } from '../../src/simulator/conventions.ts';

/** A minute key of a format that the exporter knows. */
function knownMinuteKey(minuteKey: Conventions['minuteKey']): Conventions['minuteKey'] {
  const isUnknown =
    minuteKey.form === 'index' || (minuteKey.form === 'epoch' && minuteKey.unit === 'min');
  return isUnknown ? { form: 'epoch', unit: 's', type: 'number' } : minuteKey;
}

/** Where the designator is read as UTC no window begins where the epoch does; limits cost time. */
export function answerable(drawn: Conventions): Conventions {
  const isUtc = drawn.designator === 'ignored, read as UTC';
  return {
    ...drawn,
    minuteKey: knownMinuteKey(drawn.minuteKey),
    designator: isUtc ? 'ignored, read as local' : drawn.designator,
    rateLimit: undefined,
  };
}
