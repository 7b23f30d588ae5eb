/** What /metrics shows of the one customer of a hostile world. */
import type { Exposition } from '../../acceptance/exposition.ts';

export const customer = 'riverside';
export const STREAMS = ['people', 'logins'] as const;
const COUNTERS = ['people_entered', 'people_exited', 'logins'] as const;

/** A list for each figure: entered, exited, logins. Undefined where there is no series. */
export interface Figures {
  readonly totals: readonly (number | undefined)[];
  readonly today: readonly (number | undefined)[];
  readonly held: readonly (number | undefined)[];
  readonly occupancy: number | undefined;
}

export const NOTHING: Figures = {
  totals: [undefined, undefined, undefined],
  today: [undefined, undefined, undefined],
  held: [undefined, undefined, undefined],
  occupancy: undefined,
};

export function upOf(exposition: Exposition): (number | undefined)[] {
  return STREAMS.map((stream) => exposition.value('library_up', { customer, stream }));
}

export function figuresOf(exposition: Exposition): Figures {
  return {
    totals: COUNTERS.map((kind) => exposition.value(`library_${kind}_total`, { customer })),
    today: COUNTERS.map((kind) => exposition.value(`library_${kind}_today`, { customer })),
    held: COUNTERS.map((kind) =>
      exposition.value('library_counter_excess', { customer, counter: kind }),
    ),
    occupancy: exposition.value('library_occupancy_people', { customer }),
  };
}

/** Failed polls so far as `stream reason count`, those that there were. */
export function failuresOf(exposition: Exposition): string[] {
  return STREAMS.flatMap((stream) =>
    exposition
      .all('library_exporter_poll_failures_total')
      .filter(({ labels, value }) => labels['stream'] === stream && value > 0)
      .map(({ labels, value }) => `${stream} ${labels['reason']} ${value}`),
  );
}

/** Polls of the customer, and those of them that failed: of people, of logins. */
export function pollsOf(exposition: Exposition): {
  polls: readonly (number | undefined)[];
  failures: readonly (number | undefined)[];
} {
  function ofStreams(name: string): (number | undefined)[] {
    return STREAMS.map((stream) => exposition.value(name, { customer, stream }));
  }
  return {
    polls: ofStreams('library_polls_total'),
    failures: ofStreams('library_poll_failures_total'),
  };
}
