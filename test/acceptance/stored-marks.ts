/** The high-water marks in a state file, which a running exporter does not let others open. */
import { cpSync, mkdtempDisposableSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** Changes when the counters of a key rose last. The exporter must not run. */
export function updateMarks(storage: string, key: string, atMs: number): void {
  using database = new DatabaseSync(join(storage, 'state.db'));
  const update = 'UPDATE mark SET updated_ms = ? WHERE counter LIKE ?';
  const { changes } = database.prepare(update).run(atMs, `%${key}%`);
  if (changes === 0) {
    throw new Error(`there is no mark of ${key}`);
  }
}

/** Reads a copy of the files in a storage folder. Throws an Error if there are none. */
export function readStoredMarks(storage: string) {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'stored-marks-'));
  cpSync(storage, folder.path, { recursive: true });
  using database = new DatabaseSync(join(folder.path, 'state.db'));
  const marks = database.prepare('SELECT counter, value FROM mark ORDER BY counter').all();
  return marks.map(({ counter, value }) => ({ counter: String(counter), value: Number(value) }));
}
