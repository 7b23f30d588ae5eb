/** A customer with one breakdown, whose service responds what a test says. */
import { COUNTERS } from '../../../src/base/model.ts';
import type { AggregatedResponse, Breakdown } from '../../../src/base/model.ts';
import { planCustomerPoll, pollCustomer } from '../../../src/counting/customer-poll.ts';
import type { BreakdownMetrics, CounterValues } from '../../../src/counting/customer-metrics.ts';
import type { Query } from '../../../src/counting/rows/window-reader.ts';
import type { PollNote } from '../../../src/counting/totals/state.ts';
import { responseOf } from '../../support/responses.ts';
import type { Respond, Rows } from '../../support/responses.ts';
import { MINUTE_MS, PollFixture } from '../fixture.ts';

export class BreakdownFixture extends PollFixture {
  readonly #breakdown: Breakdown;
  /** What the service counts since the period started, and since the day started. */
  totalRows: Rows;
  todayRows: Rows;
  /** Responses to single requests instead, the next one first. */
  readonly faults: AggregatedResponse[] = [];
  override intervalMs = 5 * MINUTE_MS;

  constructor(totalRows: Rows = {}, todayRows: Rows = {}, breakdown: Breakdown = 'branch') {
    super(breakdown);
    this.#breakdown = breakdown;
    this.totalRows = totalRows;
    this.todayRows = todayRows;
    this.customer.breakdowns.configure([breakdown]);
  }

  override restart(): void {
    super.restart();
    this.customer.breakdowns.configure([this.#breakdown]);
  }

  override respond: Respond = ({ aggregation, from }) => {
    const { startMs } = this.customer.calendar.dayAt(this.nowMs);
    const rows = Date.parse(from) === startMs ? this.todayRows : this.totalRows;
    return this.faults.shift() ?? responseOf(rows, aggregation);
  };

  protected async request(query: Query): Promise<readonly PollNote[]> {
    const { customer, times } = this;
    const plan = planCustomerPoll(customer, this.#breakdown, times, 0);
    const outcome = await pollCustomer(customer, this.#breakdown, plan, times, query);
    customer.polled(outcome, this.clockMs);
    return outcome.notes;
  }

  exported(): BreakdownMetrics {
    return this.metrics().breakdowns[this.#breakdown] as BreakdownMetrics;
  }

  /** Returns the exported counters of each key, in and out. */
  totals = () => this.#byKey('total');
  excess = () => this.#byKey('excess');
  today = () => this.#byKey('today');

  keys(): readonly string[] {
    return this.exported().keys.map(({ key }) => key);
  }

  #byKey(value: keyof CounterValues): Readonly<Record<string, readonly (number | undefined)[]>> {
    const byKey = this.exported().keys.map(({ key, counters }) => {
      return [key, COUNTERS.people.map((name) => counters[name]?.[value])] as const;
    });
    return Object.fromEntries(byKey);
  }
}
