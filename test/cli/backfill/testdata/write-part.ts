/** Writes a part of a month into the folder in its argument, and tells what became of it. */
import { MonthFile } from '../../../../src/cli/backfill/month-file.ts';
import { LASTING_FAMILIES } from '../../../../src/metrics/families.ts';

const LINE = 'library_people_entered_total{customer="riverside"} 412 1793491200\n';

const [folder = ''] = process.argv.slice(2);
// Without a listener, a write beyond the limit ends the process. With one, it fails like a full disk.
process.on('SIGXFSZ', () => {});

const file = new MonthFile(folder, '2026-11', LASTING_FAMILIES.slice(0, 1));
const record = { told: { startMs: 0, endMs: 1 }, totals: {} };
const outcome = await file
  .writePart(0, record, () => [{ text: LINE.repeat(100), samples: 100 }])
  .then(
    () => 'written',
    (error: unknown) => String(error),
  );
process.stdout.write(`${outcome}\n`);
