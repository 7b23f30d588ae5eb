/** A query from its flags to its end: whose, of what time, and what is told where it does not end well. */
import { systemClock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import { messageOf, ServiceError, UsageError } from '../../base/errors.ts';
import { AGGREGATIONS } from '../../base/model.ts';
import type { Aggregation, Endpoint, Window } from '../../base/model.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config, CustomerConfig } from '../../config/types.ts';
import { Zone } from '../../counting/zone.ts';
import { recordFields } from '../../service/decode-records.ts';
import { rowFields } from '../../service/decode.ts';
import type { RetryPolicy } from '../../service/retry.ts';
import { accessOf } from '../../config/secret-file.ts';
import { noSuchCustomer, serviceOf } from '../access.ts';
import type { Io } from '../io.ts';
import { formatTime, refuseReversed } from '../time-flag.ts';
import { USUAL_LIMIT } from './flags.ts';
import type { QueryFlags } from './flags.ts';
import { createOutput, ReaderGone } from './output.ts';
import type { Output } from './output.ts';
import { readAggregated, readRaw } from './read.ts';

/** An error to be thrown when the reading did not come to its end. */
class QueryError extends Error {
  override readonly name = 'QueryError';
}

/** Throws a UsageError or ConfigError before the service is asked, and an Error after it. */
export async function query(endpoint: Endpoint, flags: QueryFlags, io: Io): Promise<void> {
  refuseWhatTheServiceRefuses(endpoint, flags);
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => io.writeError(`warning: ${warning}\n`));
  const customer = customerOf(config, flags, io);
  const window = windowOf(flags, new Zone(customer.timezone));
  const { aggregation, includePatronFields, format } = flags;
  const columns =
    aggregation === undefined ? recordFields(endpoint, includePatronFields) : rowFields(endpoint);
  const output = createOutput({ io, clock: systemClock, format, columns });
  const service = serviceOf(config, io);
  const options = {
    client: service.clientFor(accessOf(customer), retriesToldTo(output)),
    output,
    tell: (sentence: string) => output.tell(sentence),
    signal: io.stop,
  };
  try {
    if (aggregation === undefined) {
      const { maxRecords = Infinity, limit = Math.min(USUAL_LIMIT, maxRecords) } = flags;
      await readRaw({ endpoint, limit, includePatronFields, ...window }, maxRecords, options);
    } else {
      await readAggregated({ endpoint, aggregation, ...window }, options);
    }
    output.end();
  } catch (error) {
    output.end();
    endedEarly(error, `${customer.name}: ${endpoint}`, output, io);
  } finally {
    service.close();
  }
}

/** A person can wait for longer than a poll, but wants to know it. */
function retriesToldTo(output: Output): RetryPolicy {
  return {
    maxAttempts: 6,
    maxWaitMs: 3_600_000,
    onWait(error, waitMs) {
      const wait = formatDuration(Math.ceil(waitMs / 1_000) * 1_000);
      output.tell(`${error.message}: retrying in ${wait}`);
    },
  };
}

/** Throws what is told of a reading that did not come to its end, where that is a failure. */
function endedEarly(error: unknown, what: string, output: Output, io: Io): void {
  if (error instanceof ReaderGone) {
    return;
  }
  const written = `${output.rows()} ${output.rows() === 1 ? 'row was' : 'rows were'} written`;
  if (io.stop.aborted) {
    output.tell(`stopped; ${written}`);
    return;
  }
  const reason = error instanceof ServiceError ? `${error.reason}: ` : '';
  throw new QueryError(`${what}: ${reason}${messageOf(error)}; ${written}`, { cause: error });
}

function refuseWhatTheServiceRefuses(endpoint: Endpoint, flags: QueryFlags): void {
  const { aggregation } = flags;
  const known: readonly Aggregation[] = AGGREGATIONS[endpoint];
  if (aggregation !== undefined && !known.includes(aggregation)) {
    throw new UsageError(
      `${endpoint} has no aggregation "${aggregation}"; it must be one of ${known.join(', ')}`,
    );
  }
  if (aggregation !== undefined && (flags.limit ?? flags.maxRecords) !== undefined) {
    throw new UsageError(
      '--limit and --max-records are for raw records; leave them or --aggregation out',
    );
  }
  if (flags.to !== undefined && flags.from === undefined) {
    throw new UsageError('--to needs --from, for the service takes no end without a start');
  }
}

function customerOf(config: Config, { customer: name }: QueryFlags, io: Io): CustomerConfig {
  const [first, ...others] = config.customers;
  if (name === undefined && first !== undefined && others.length === 0) {
    io.writeError(`customer ${first.name}, the only one\n`);
    return first;
  }
  const found = config.customers.find((customer) => customer.name === name);
  if (found === undefined) {
    throw noSuchCustomer(config, name);
  }
  return found;
}

function windowOf({ from, to }: QueryFlags, zone: Zone): Window {
  const nowMs = systemClock.nowMs();
  const fromMs = from?.(zone, nowMs);
  const toMs = to?.(zone, nowMs);
  if (fromMs !== undefined && toMs !== undefined) {
    refuseReversed(zone, fromMs, toMs);
  }
  return {
    ...(fromMs === undefined ? {} : { from: formatTime(zone, fromMs) }),
    ...(toMs === undefined ? {} : { to: formatTime(zone, toMs) }),
  };
}
