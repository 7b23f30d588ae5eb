/** A customer from what was written of it: the checks of several keys together, and its secret. */
import { dirname, resolve } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { Secret } from '../base/secret.ts';
import type { OpeningHoursParser } from '../counting/opening-hours.ts';
import type { CustomerSection, DefaultsSection } from './keys.ts';
import { isReadableByOthers, READABLE_BY_OTHERS } from './permissions.ts';
import type { Problems } from './problems.ts';
import { exists } from './read-file.ts';
import { readSecretFileWithMode } from './secret-file.ts';
import type { Found } from './shapes.ts';
import type { CustomerConfig, SecretSource } from './types.ts';

export interface CustomerReading {
  readonly problems: Problems;
  readonly defaults: DefaultsSection | undefined;
  readonly parseOpeningHours: OpeningHoursParser;
  /** To be told of a file that was read. */
  readonly fileRead: (path: string) => void;
  /** To be told of what works but should not be. */
  readonly warn: (found: Found<unknown>, message: string) => void;
}

/** Undefined after at least one problem. */
export async function readCustomer(
  customer: Found<CustomerSection>,
  reading: CustomerReading,
): Promise<CustomerConfig | undefined> {
  const { fields } = customer.value;
  const clientSecret = await readSecret(customer, reading);
  const timezone = findTimezone(customer, reading);
  checkOpeningHours(customer.value, reading);
  const dayStartsAt = fields.day_starts_at ?? reading.defaults?.fields.day_starts_at;
  const { name, client_id: clientId, labels, streams, breakdowns, branches } = fields;
  if (
    clientSecret === undefined ||
    timezone === undefined ||
    dayStartsAt === undefined ||
    name === undefined ||
    clientId === undefined ||
    labels === undefined ||
    streams === undefined ||
    breakdowns === undefined ||
    branches === undefined
  ) {
    return undefined;
  }
  return {
    name: name.value,
    clientId: clientId.value,
    clientSecret,
    timezone,
    dayStartsAt: dayStartsAt.value,
    capacity: fields.capacity?.value,
    openingHours: fields.opening_hours?.value,
    holidays: fields.holidays?.value,
    labels: labels.value,
    streams: streams.value,
    breakdowns: breakdowns.value,
    branches: branches.value,
  };
}

async function readSecret(
  customer: Found<CustomerSection>,
  reading: CustomerReading,
): Promise<SecretSource | undefined> {
  const { fields, given } = customer.value;
  const { client_secret: inline, client_secret_file: file } = fields;
  if (!given.has('client_secret') && !given.has('client_secret_file')) {
    const path = `${customer.path}.client_secret_file`;
    const message = 'is missing: give the file with the secret, or client_secret';
    reading.problems.add({ place: customer.place, path, message });
  }
  if (inline !== undefined) {
    reading.problems.keepSecret(inline.value);
  }
  if (inline !== undefined && file !== undefined) {
    const message = 'is given beside client_secret: remove one of them';
    reading.problems.add({ ...file, message });
  }
  if (file !== undefined) {
    return readSecretFrom(file, reading);
  }
  return inline === undefined ? undefined : { secret: new Secret(inline.value), path: undefined };
}

async function readSecretFrom(
  file: Found<string>,
  reading: CustomerReading,
): Promise<SecretSource | undefined> {
  const path = resolve(dirname(file.place.source.path), file.value);
  reading.fileRead(path);
  try {
    const { secret, mode } = await readSecretFileWithMode(path);
    reading.problems.keepSecret(secret.reveal());
    if (secret.reveal().includes('\n')) {
      reading.warn(file, 'the file holds more than one line: leave no more than the secret in it');
    }
    if (isReadableByOthers(mode)) {
      reading.warn(file, `the file ${READABLE_BY_OTHERS}`);
    }
    return { secret, path };
  } catch (error) {
    const words = messageOf(error);
    const isPath = await exists(path);
    if (!isPath) {
      // Somebody may have written the secret itself here.
      file.place.source.hide(file.place);
      reading.problems.keepSecret(file.value);
    }
    const hint = isPath ? '' : ', or write the secret itself under client_secret';
    reading.problems.add({ ...file, message: `the file ${words}${hint}` });
    return undefined;
  }
}

function findTimezone(
  customer: Found<CustomerSection>,
  reading: CustomerReading,
): string | undefined {
  const { fields, given } = customer.value;
  const { defaults } = reading;
  if (!given.has('timezone') && defaults?.given.has('timezone') === false) {
    const path = `${customer.path}.timezone`;
    const message = 'is missing: give an IANA name, as in Europe/Copenhagen, here or in defaults';
    reading.problems.add({ place: customer.place, path, message });
  }
  return (fields.timezone ?? defaults?.fields.timezone)?.value;
}

function checkOpeningHours(
  { fields, given }: CustomerSection,
  { problems, parseOpeningHours }: CustomerReading,
): void {
  const { opening_hours: hours, holidays } = fields;
  if (hours === undefined) {
    return;
  }
  // A region that is not known is a problem already; the hours are tried with another.
  const region = holidays?.value ?? (given.has('holidays') ? 'dk' : undefined);
  try {
    parseOpeningHours(hours.value, region);
  } catch (error) {
    const words = messageOf(error);
    const message =
      hours.quotable && holidays?.quotable !== false
        ? words
        : "cannot be understood: write OpenStreetMap's syntax, as in Mo-Fr 08:00-20:00";
    problems.add({ ...hours, message });
  }
}
