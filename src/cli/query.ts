/** `query`: a one-off reading of any part of the service's interface, as rows on standard output. */
import { Argument, Command, Option } from 'commander';
import { AGGREGATIONS } from '../base/model.ts';
import type { Endpoint } from '../base/model.ts';
import { configOption, wholeNumber } from './flags.ts';
import type { Io } from './io.ts';
import { USUAL_LIMIT } from './query/flags.ts';
import type { QueryFlags } from './query/flags.ts';
import { FORMATS } from './query/formats.ts';
import { parseTimeFlag } from './time-flag.ts';

const LARGEST_LIMIT = 1_000_000;

const NOTES = `
Without --aggregation the service's raw records are read, page by page, to the end; each of them
once. --limit is the size of a page: it changes neither which records there are nor how many.

Times are ISO 8601 (2026-11-01T04:00:00+01:00), in the customer's time zone where they have no
offset; dates (2026-11-01), which mean their midnight; or durations before now (-24h). Whether what
is exactly at --from or --to belongs to it, the service decides.

Examples:
  library-stats-exporter query peoplecount --customer=riverside --aggregation=day --from=-7d
  library-stats-exporter query login --customer=riverside --from=2026-11-01 --format=csv > logins.csv
`;

export function queryCommand(io: Io): Command {
  return new Command('query')
    .summary('what the service has of a customer, read once')
    .description('Reads any part of what the service has of a customer, to the end.')
    .addArgument(new Argument('<what>', 'the records to read').choices(Object.keys(AGGREGATIONS)))
    .addOption(configOption())
    .option('--customer <name>', 'whose; may be left out where there is only one')
    .addOption(
      new Option('--aggregation <name>', 'what to add up by; logins by time only').choices(
        AGGREGATIONS.peoplecount,
      ),
    )
    .option('--from <time>', 'only what is after this', parseTimeFlag)
    .option('--to <time>', 'only what is before this; needs --from', parseTimeFlag)
    .option(
      '--limit <number>',
      `raw records a page (default: ${USUAL_LIMIT})`,
      wholeNumber(1, LARGEST_LIMIT),
    )
    .option(
      '--max-records <number>',
      'end after so many raw records',
      wholeNumber(1, Number.MAX_SAFE_INTEGER),
    )
    .option('--include-patron-fields', 'age, gender and address of patrons, too', false)
    .addOption(new Option('--format <format>', 'of the rows').choices(FORMATS).default('table'))
    .addHelpText('after', NOTES)
    .action(async (endpoint: Endpoint, flags: QueryFlags) => {
      // Only now, for what is loaded after it is a good half of the memory that a query takes.
      const { query } = await import('./query/run.ts');
      await query(endpoint, flags, io);
    });
}
