/** A folder of marks, and processes that use it one after the other, all within this one. */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { vi } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { Storage } from '../../src/polling/storage.ts';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

export const WRITE_EVERY_MS = 10_000;

export const CANNOT_USE = 'the storage cannot be used, marks are kept in memory only';
export const CANNOT_UNDERSTAND = 'the marks cannot be understood, going on without';
export const CANNOT_WRITE = 'the marks cannot be written, trying again';
export const CAN_WRITE = 'the marks can be written again';

export interface Line {
  readonly level: string;
  readonly msg: string;
  readonly error?: string;
}

export class StorageRig implements AsyncDisposable {
  readonly clock = new VirtualClock(NOW_MS);
  /** What was logged. */
  readonly lines: Line[] = [];
  /** Of this test alone. */
  readonly parent: string;
  readonly folder: string;
  readonly file: string;
  readonly #storages: Storage[] = [];

  private constructor(parent: string) {
    this.parent = parent;
    this.folder = join(parent, 'data');
    this.file = join(this.folder, 'state.json');
  }

  static async create(): Promise<StorageRig> {
    const rig = new StorageRig(await mkdtemp(join(tmpdir(), 'storage-')));
    await mkdir(rig.folder);
    return rig;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await rm(this.parent, { recursive: true });
  }

  async start(path = this.folder): Promise<HighWaterMarks> {
    const marks = new HighWaterMarks();
    const log = createLogger({
      level: 'info',
      format: 'json',
      write: (line) => this.lines.push(JSON.parse(line) as Line),
      nowMs: () => this.clock.nowMs(),
    });
    const storage = new Storage({ path, marks, clock: this.clock, log });
    this.#storages.push(storage);
    await storage.start();
    return marks;
  }

  async stop(): Promise<void> {
    await Promise.all(this.#storages.splice(0).map((storage) => storage.stop()));
  }

  /** What the next process finds. */
  async restored(): Promise<number | undefined> {
    const marks = await this.start();
    await this.stop();
    return marks.get(OWNER, 'logins')?.value;
  }

  async store(value: number): Promise<void> {
    const marks = await this.start();
    marks.update(OWNER, 'logins', NOVEMBER, value, NOW_MS);
    await this.stop();
  }

  messages(): string[] {
    return this.lines.map(({ level, msg }) => `${level}: ${msg}`);
  }

  /** Lets the storage write once, in real time as the file system needs it. */
  async untilTold(count: number): Promise<void> {
    await this.clock.advance(WRITE_EVERY_MS);
    await vi.waitUntil(() => this.lines.length === count);
  }
}
