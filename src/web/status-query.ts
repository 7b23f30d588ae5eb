/** What a person asked of the status page: the query of its address, read and written. */

export interface StatusQuery {
  /** From 1. */
  readonly page: number;
  /** A part of a customer's name, in any case; empty for all. */
  readonly filter: string;
  /** Whether the page loads itself again. */
  readonly refresh: boolean;
}

/** As long as a name can be. */
export const LONGEST_FILTER = 128;

/** The query of a path such as `/?filter=river`. What makes no sense is as if it were not there. */
export function parseStatusQuery(path: string): StatusQuery {
  const mark = path.indexOf('?');
  const query = new URLSearchParams(mark === -1 ? '' : path.slice(mark));
  const page = query.get('page') ?? '';
  const filter = (query.get('filter') ?? '').trim();
  return {
    page: /^\d{1,6}$/.test(page) ? Number(page) : 1,
    filter: Array.from(filter).slice(0, LONGEST_FILTER).join(''),
    refresh: query.get('refresh') !== 'off',
  };
}

/** A relative address of the page. */
export function hrefOf({ page, filter, refresh }: StatusQuery): string {
  const query = new URLSearchParams();
  if (filter !== '') {
    query.set('filter', filter);
  }
  if (page > 1) {
    query.set('page', String(page));
  }
  if (!refresh) {
    query.set('refresh', 'off');
  }
  return `?${query.toString()}`;
}
