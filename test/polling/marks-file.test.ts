/** A file of marks that is damaged, or somebody else's: what is kept of it, and what is said. */
import { mkdir, readdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { CANNOT_UNDERSTAND, StorageRig } from './storage-rig.ts';

let rig: StorageRig;
beforeEach(async () => {
  rig = await StorageRig.create();
});
afterEach(() => rig[Symbol.asyncDispose]());

describe('a file of marks that cannot be understood', () => {
  async function planted(text: string | Uint8Array): Promise<void> {
    await writeFile(rig.file, text);
  }
  const good = '{"format":"library-stats-exporter marks","version":1,"marks":[]}';
  const plants: [string, () => Promise<void>][] = [
    ['null', () => planted('null')],
    ['a number', () => planted('7')],
    ['binary', () => planted(Uint8Array.from([0, 159, 146, 150, 255]))],
    ['torn in a character', () => planted(Buffer.from(`${good}æ`).subarray(0, -1))],
    ['in UTF-16', () => planted(Buffer.from(`\ufeff${good}`, 'utf16le'))],
    ['hand-edited to NaN', () => planted(good.replace('[]', '[["a","b","c","logins",NaN]]'))],
    ['hand-edited to a trailing comma', () => planted(good.replace('[]', '[[],]'))],
    ['without marks', () => planted(good.replace(',"marks":[]', ''))],
    ['with marks that are an object', () => planted(good.replace('[]', '{}'))],
    ['with a version in words', () => planted(good.replace('1', '"1"'))],
    ['of prototypes', () => planted('{"__proto__":{"format":"library-stats-exporter marks"}}')],
    ['nested a hundred thousand deep', () => planted('['.repeat(100_000))],
    ['torn', () => planted(good.slice(0, -6))],
    ['empty', () => planted('')],
    ['of something else', () => planted('{"name":"left-pad"}')],
    ['of a future version', () => planted(good.replace('1', '2'))],
    ['no object', () => planted('[]')],
    ['a folder', () => mkdir(rig.file)],
    ['a device without an end', () => symlink('/dev/zero', rig.file)],
    ['a link to itself', () => symlink('state.json', rig.file)],
    ['a gigabyte', () => writeFile(rig.file, good).then(() => truncate(rig.file, 2 ** 30))],
  ];

  test.each(plants)(
    '%s: is kept aside with one warning, and the marks are written',
    async (_, plant) => {
      await plant();
      expect(await rig.restored()).toBeUndefined();
      expect(rig.messages()).toEqual([`warn: ${CANNOT_UNDERSTAND}`]);
      expect(await readdir(rig.folder)).toEqual(['lock', 'state.json.unreadable']);
      await rig.store(5);
      expect(await rig.restored()).toBe(5);
      expect(rig.lines).toHaveLength(1);
    },
  );

  test('is kept aside as it was', async () => {
    await planted(good.slice(0, -6));
    await rig.restored();
    expect(await readFile(`${rig.file}.unreadable`, 'utf8')).toBe(good.slice(0, -6));
  });

  test('of more than 64 MiB is not read', async () => {
    await planted(good);
    await truncate(rig.file, 64 * 2 ** 20 + 1);
    await rig.restored();
    expect(rig.lines[0]?.error).toBe('is larger than 64 MiB: give a smaller file');
  });

  test('never shows what is in it', async () => {
    await planted('horse-battery-staple');
    await rig.restored();
    expect(JSON.stringify(rig.lines)).not.toContain('horse');
  });

  test('with a byte-order mark of an editor is understood', async () => {
    await rig.store(5);
    await writeFile(rig.file, `\ufeff${await readFile(rig.file, 'utf8')}`);
    expect(await rig.restored()).toBe(5);
    expect(rig.lines).toEqual([]);
  });

  test('with millions of entries that are no marks costs one warning', async () => {
    await planted(good.replace('[]', `[0${',0'.repeat(3_000_000)}]`));
    expect(await rig.restored()).toBeUndefined();
    expect(rig.lines).toMatchObject([{ level: 'warn', marks: 3_000_001 }]);
  });
});

describe('the marks of others in the same file', () => {
  test.each([
    ['service', { ...OWNER, service: 'https://other.example.org' }],
    ['client id', { ...OWNER, clientId: 'other-api' }],
    ['customer', { ...OWNER, customer: 'hilltop' }],
  ])('of another %s count for nobody else, and are kept', async (_, other) => {
    const marks = await rig.start();
    marks.update(other, 'logins', NOVEMBER, 9000, NOW_MS);
    await rig.stop();
    expect(await rig.restored()).toBeUndefined();
    await rig.store(5);
    await rig.store(6);
    const after = await rig.start();
    expect(after.get(OWNER, 'logins')?.value).toBe(6);
    expect(after.get(other, 'logins')?.value).toBe(9000);
  });
});
