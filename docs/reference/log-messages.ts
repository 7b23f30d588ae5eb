/** The page of the log messages. test/docs/log-messages.test.ts compares its table with the source. */
import { code, table } from './markdown.ts';

type Level = 'debug' | 'info' | 'warn' | 'error';

/** By message: its level, and what it means and asks for. */
export const LOG_MESSAGES: Readonly<Record<string, readonly [level: Level, meaning: string]>> = {
  starting: [
    'info',
    'The configuration and the state file are loaded. `storage_path` is empty if storage is off; `high_water_marks` is how many the state file had.',
  ],
  'no shard for the number in the host name, polling nobody': [
    'error',
    'With `--shard=auto/N`, the number is N or higher: there are more processes than `shards`. Set both to the same number.',
  ],
  listening: ['info', 'The web server listens at `url`.'],
  stopping: ['info', 'SIGTERM or SIGINT arrived.'],
  stopped: ['info', 'All polls and connections have ended.'],
  'config warning': ['warn', 'The configuration is valid, but `warning` should be fixed.'],
  'config reloaded': [
    'info',
    'The new configuration is in force; `scope` is `web` for the web configuration alone. `added`, `removed` and `changed` name up to 20 customers each.',
  ],
  'config reload failed, keeping previous config': [
    'error',
    'Fix `problems` and reload. The previous configuration stays in force.',
  ],
  'reload failed': ['error', 'An unexpected error; report it.'],
  'poll failed': [
    'warn',
    'A poll failed for `reason`, and the one before did not. Counters keep their values.',
  ],
  'polling recovered': ['info', 'The first successful poll after a logged failure.'],
  'empty response ignored until confirmed': [
    'warn',
    'The service returned no rows where there were counts. The values stay until three polls in a row confirm it.',
  ],
  'lower total ignored until confirmed': [
    'warn',
    'A sum is lower than before. The values stay until three polls in a row confirm it.',
  ],
  'implausible increase ignored until confirmed': [
    'warn',
    'A total rose too much at once. The values stay until three polls in a row confirm it.',
  ],
  'day totals unusable, using quarter': [
    'warn',
    'The `day` aggregation disagrees with the minutes, probably because it lags, or the service forces `quarter`.',
  ],
  'day and quarter totals inconsistent, using minute': [
    'warn',
    'Both aggregations disagree with the minutes. Polls take more requests.',
  ],
  'aggregations inconsistent, keeping previous values': [
    'warn',
    '`day` disagrees with the minutes, and a finer aggregation has much less or just twice as much. The values stay.',
  ],
  'too many breakdown keys, some dropped': [
    'warn',
    'More than 1,000 keys; see `library_breakdown_keys_dropped`.',
  ],
  'minute keys unreadable, occupancy unavailable': [
    'warn',
    'The minutes of `stream` have keys such as `key`, which are no time. Counters are right; occupancy, last seen, the estimate and what is usual are absent. Logged once.',
  ],
  'newest minute is hours off, check service.key_times': [
    'warn',
    'The newest minute, `key`, is `hours` ahead of the clock, or behind it, so `service.key_times` or the `timezone` is wrong: `check --connect` says which. Counters are right; occupancy and last seen are not. Logged once.',
  ],
  'branches unavailable': [
    'warn',
    'The windows of branches could not be read: occupancy, the estimate and what is usual of each branch are absent until they are. They are requested again after a minute, then after twice as long each time, up to 15 minutes.',
  ],
  'device records unavailable': [
    'warn',
    'The raw records that show in which branch a device is could not be read: `library_device_info` is absent, and no silent door of a branch is found, until they are. They are requested again after 15 minutes, then after twice as long each time, up to 6 hours.',
  ],
  'past unavailable': [
    'warn',
    'The last 28 days of `stream` could not be read: without those of people there is no estimate, and what is usual is unknown. Or they could not be compared with the service. This is tried again after 15 minutes, then after twice as long each time, up to 6 hours.',
  ],
  'service too slow for the polling interval': [
    'warn',
    'A poll took `poll_seconds`. Raise `polling.interval`, or the limits of the service section.',
  ],
  'log messages suppressed': [
    'warn',
    'More than 20 lines a minute of `suppressed_msg`; `lines` were left out.',
  ],
  'credentials refused': ['warn', 'Compare `client_id` and the secret with the API module tab.'],
  'credentials accepted again': ['info', 'The service accepts them after it refused them.'],
  'credentials accepted': ['debug', 'The service accepts them.'],
  'service clock differs by more than a minute': [
    'warn',
    'By `service_ahead_seconds`. Synchronize the clock of this machine by NTP. If it is ahead by more than a quarter of an hour, counters rise once per reconcile interval; above six hours, polls [fail](../operations.md#troubleshooting).',
  ],
  'service request finished': ['debug', 'One HTTP exchange.'],
  'storage not writable, state is kept in memory only': [
    'warn',
    'See `error`: the folder of `--storage.path` must be writable, and its file system must have locks, or a restart loses the high-water marks. Tried again every ten seconds.',
  ],
  'state file unreadable, starting empty': [
    'warn',
    'The file was moved to `moved_to`, if it could be. [Upgrade and backup](../operations.md#upgrade-and-backup) says what is lost.',
  ],
  'high-water marks ignored': ['warn', 'No counting period starts where they say.'],
  'state write failed, retrying': [
    'warn',
    'See `error`: disk full, permissions, in use by another process. What was written stays.',
  ],
  'state write recovered': ['info', 'The state is written again.'],
  'state not written at the stop': [
    'error',
    'The high-water marks since the last write are lost; the exit status is 1.',
  ],
  'state file lost, writing another one': [
    'warn',
    'The file `state.db`, or its folder, was removed or replaced. Another one is tried every ten seconds, and gets everything.',
  ],
  'request failed': ['error', 'A request to the web server failed unexpectedly; report it.'],
  'client certificate refused': ['debug', 'A TLS client had no valid certificate.'],
  'TLS handshake failed': ['debug', 'A client did not complete the handshake.'],
  'backfill started': ['info', '`backfill` reads `months`.'],
  'month skipped, its file exists': ['info', 'To write it again, delete the file.'],
  'month written': ['info', 'One file is complete.'],
  'backfill finished': ['info', 'All files are complete.'],
  'service not available, retrying': ['warn', '`backfill` waits and requests again.'],
};

export function logMessagesPage(): string {
  const rows = Object.entries(LOG_MESSAGES)
    .toSorted(([a], [b]) => a.localeCompare(b, 'en'))
    .map(([message, [level, meaning]]) => [code(message), level, meaning]);
  return `# Log messages

Every message with its level. Messages are constant, so they can be searched; data is in fields. Logs go to
standard error as JSON, or as text on a terminal (\`--log.format\`).

${table(['message', 'level', 'meaning'], rows)}`;
}
