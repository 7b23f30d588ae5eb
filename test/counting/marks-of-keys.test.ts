import { expect, test } from 'vitest';
import { kindOfKey, HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { NOVEMBER, NOW_MS, OCTOBER, OWNER } from '../support/owner.ts';

test('marks of keys are found by their breakdown, kind and epoch, whatever the key looks like', () => {
  const marks = new HighWaterMarks();
  const odd = ['101', '', 'a:b', 'people_exited:7', '"\\\n'];
  for (const key of odd) {
    marks.update(OWNER, kindOfKey('branch', 'people_entered', key), NOVEMBER, 7, NOW_MS);
  }
  marks.update(OWNER, kindOfKey('branch', 'people_exited', 'out'), NOVEMBER, 7, NOW_MS);
  marks.update(OWNER, kindOfKey('device', 'people_entered', 'door'), NOVEMBER, 7, NOW_MS);
  marks.update(OWNER, kindOfKey('branch', 'people_entered', 'old'), OCTOBER, 7, NOW_MS);
  marks.update(OWNER, 'people_entered', NOVEMBER, 9, NOW_MS);
  const other = { ...OWNER, customer: 'hillside' };
  marks.update(other, kindOfKey('branch', 'people_entered', 'theirs'), NOVEMBER, 7, NOW_MS);
  const again = new HighWaterMarks();
  again.restore(marks.serialize(NOW_MS), NOW_MS);
  for (const one of [marks, again]) {
    const found = one.ofKeys(OWNER, 'branch', 'people_entered', NOVEMBER.startMs);
    expect([...found.keys()].toSorted()).toEqual(odd.toSorted());
  }
});
