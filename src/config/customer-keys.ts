/** Every key of a customer: its shape, its default, and a line about it. */
import { BREAKDOWNS, MINUTE_STREAMS } from '../base/model.ts';
import { setOf } from './lists.ts';
import type { KeyTable } from './mapping.ts';
import { record } from './record.ts';
import { filePath, text, wholeNumber } from './shapes.ts';
import {
  BRANCH_SCHEMA,
  branchProblem,
  holidayRegion,
  LABEL_SCHEMA,
  labelProblem,
  timeOfDay,
  timezone,
} from './values.ts';

const LABEL_VALUE = text({ expects: 'text, as in north', longest: 256, mayBeEmpty: true });
const BRANCH_NAME = text({ expects: 'a name, as in Main Library', longest: 256 });

export const CUSTOMER_KEYS = {
  name: {
    about: 'Unique: the value of the label customer.',
    shape: text({ expects: 'a name of up to 128 characters, as in riverside', longest: 128 }),
    required: true,
  },
  client_id: {
    about: "From the API module tab of the customer's configuration.",
    shape: text({ expects: 'the id from the API module tab', longest: 256 }),
    required: true,
  },
  client_secret: {
    about: 'The secret itself; better is client_secret_file or ${NAME}.',
    shape: text({ expects: 'the secret on one line, in quotes', longest: 65_536 }),
  },
  client_secret_file: {
    about: 'The file with the secret, read again when it changes.',
    shape: filePath('a file with the secret, as in secrets/riverside'),
  },
  timezone: {
    about: 'An IANA name. Required, here or in defaults.',
    shape: timezone(),
  },
  day_starts_at: {
    about: "Local time at which occupancy and today's figures start again.",
    shape: timeOfDay(),
  },
  capacity: {
    about: 'How many people the house may hold.',
    shape: wholeNumber({ least: 1, most: 10_000_000, example: '250' }),
  },
  opening_hours: {
    about: "In OpenStreetMap's syntax, local time.",
    shape: text({ expects: 'opening hours, as in "Mo-Fr 08:00-20:00; PH off"', longest: 1_000 }),
  },
  holidays: {
    about: 'Whose public holidays PH means.',
    shape: holidayRegion(),
  },
  labels: {
    about: 'Labels of library_customer_info.',
    shape: record(LABEL_VALUE, {
      expects: 'labels with their values, as in { region: north }',
      most: 32,
      keyProblem: labelProblem,
      keySchema: LABEL_SCHEMA,
    }),
    default: {},
  },
  streams: {
    about: 'What is read by the minute.',
    shape: setOf(MINUTE_STREAMS, { mayBeEmpty: false }),
    default: ['people', 'logins'],
  },
  breakdowns: {
    about: 'By what the counts of people are also read.',
    shape: setOf(BREAKDOWNS, { mayBeEmpty: true }),
    default: [],
  },
  branches: {
    about: 'Names for library_branch_info: the id of a branch to its name.',
    shape: record(BRANCH_NAME, {
      expects: 'ids with their names, as in { 101: Main Library }',
      most: 10_000,
      keyProblem: branchProblem,
      keySchema: BRANCH_SCHEMA,
    }),
    default: {},
  },
} as const satisfies KeyTable;
