/**
 * The file beside the months that remembers what was asked for and what is whole, so that a run goes
 * on where one was stopped. What it says of customers' times stays; a folder is for one set of flags.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, UsageError } from '../../base/errors.ts';
import type { CounterName } from '../../base/model.ts';
import { replaceFile } from '../../base/files.ts';
import type { Span } from '../../counting/calendar.ts';
import type { Joint } from './plan.ts';

const MANIFEST_FILE = 'backfill.json';
const FORMAT = 1;

/** What makes other files: flags by their names, and the configuration of the customers. */
export type Settings = Readonly<Record<string, string>>;

/** What was resolved when the run began. */
export interface SubjectRecord {
  readonly fromMs: number;
  readonly joint?: Joint;
}

/** What one customer has in one month. */
export interface PartRecord {
  readonly told: Span;
  readonly samples: number;
  /** The sums of the whole epoch, by the minute and by the day. Empty where nobody was ever counted. */
  readonly totals: Readonly<
    Partial<Record<CounterName, { readonly byMinute: number; readonly byDay: number }>>
  >;
}

export interface MonthRecord {
  readonly bytes: number;
  /** By customer. */
  readonly parts: Readonly<Record<string, PartRecord>>;
}

export interface Manifest {
  readonly format: number;
  readonly settings: Settings;
  readonly subjects: Readonly<Record<string, SubjectRecord>>;
  /** By name, those that were written. */
  readonly months: Readonly<Record<string, MonthRecord>>;
}

export function newManifest(settings: Settings): Manifest {
  return { format: FORMAT, settings, subjects: {}, months: {} };
}

/**
 * What is known of a folder; undefined where it has no such file. Throws a UsageError where the file
 * is none of ours, or of other settings.
 */
export async function readManifest(
  folder: string,
  settings: Settings,
): Promise<Manifest | undefined> {
  const path = join(folder, MANIFEST_FILE);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
  const manifest = parse(text);
  if (manifest === undefined) {
    throw new UsageError(
      `${path} is not what this version of backfill has written: give another --output`,
    );
  }
  const names = [...new Set([...Object.keys(manifest.settings), ...Object.keys(settings)])];
  const other = names.filter((name) => manifest.settings[name] !== settings[name]);
  if (other.length > 0) {
    throw new UsageError(
      `${folder} has the files of another backfill (${other.join(', ')}): ` +
        'give the same flags to go on with that one, or another --output',
    );
  }
  return manifest;
}

export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await replaceFile(join(folder, MANIFEST_FILE), `${JSON.stringify(manifest, null, 1)}\n`);
}

function parse(text: string): Manifest | undefined {
  try {
    const value = JSON.parse(text) as Partial<Manifest> | null;
    const isOurs =
      value?.format === FORMAT &&
      [value.settings, value.subjects, value.months].every(
        (part) => typeof part === 'object' && part !== null,
      );
    return isOurs ? (value as Manifest) : undefined;
  } catch {
    return undefined;
  }
}
