/** The high-water marks in a state file, which a running exporter does not let others open. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Changes when the counters of a key rose last. The exporter must not run. */
export function updateMarks(storage: string, key: string, atMs: number): void {
  const database = new DatabaseSync(join(storage, 'state.db'));
  const update = 'UPDATE mark SET updated_ms = ? WHERE counter LIKE ?';
  const { changes } = database.prepare(update).run(atMs, `%${key}%`);
  database.close();
  if (changes === 0) {
    throw new Error(`there is no mark of ${key}`);
  }
}

/** Reads a copy of the files in a storage folder. Throws an Error if there are none. */
export function readStoredMarks(storage: string) {
  const folder = mkdtempSync(join(tmpdir(), 'stored-marks-'));
  try {
    cpSync(storage, folder, { recursive: true });
    const database = new DatabaseSync(join(folder, 'state.db'));
    const marks = database.prepare('SELECT counter, value FROM mark ORDER BY counter').all();
    database.close();
    return marks.map(({ counter, value }) => ({ counter: String(counter), value: Number(value) }));
  } finally {
    rmSync(folder, { recursive: true });
  }
}
