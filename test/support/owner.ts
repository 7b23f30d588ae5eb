/** Whose marks the tests keep, and the months that they are of: one customer in Copenhagen. */
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { counterOwner } from '../../src/counting/high-water-marks.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';

export const COPENHAGEN = new Zone('Europe/Copenhagen');
export const CALENDAR = new Calendar(COPENHAGEN, { hour: 4, minute: 0 });
export const OWNER = counterOwner('https://s.example.org', 'riverside-api', 'riverside');
export const NOW_MS = Date.UTC(2026, 10, 18, 10);
const NOVEMBER_MS = Date.UTC(2026, 10, 1, 3);
export const OCTOBER = { startMs: Date.UTC(2026, 9, 1, 2), endMs: NOVEMBER_MS, month: 24321 };
export const NOVEMBER = { startMs: NOVEMBER_MS, endMs: Date.UTC(2026, 11, 1, 3), month: 24322 };
