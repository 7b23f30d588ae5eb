/**
 * Asks the service for every customer of a configuration as the exporter would at its first polls,
 * within the same limits. What is to be thought of the answers is in findings.ts.
 */
import { systemClock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { MinuteStream, Question, AggregatedResponse } from '../base/model.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import { HighWaterMarks } from '../counting/high-water-marks.ts';
import { surveyStream } from '../counting/survey.ts';
import type { StreamSurvey } from '../counting/survey.ts';
import { CustomerRegistry } from '../polling/customers.ts';
import type { RegisteredCustomer } from '../polling/customers.ts';
import { streamContext } from '../polling/poll-job.ts';
import type { ClockReading, Service } from '../service/types.ts';
import { accessOf } from '../config/secret-file.ts';
import { customersAtOnce, serviceOf } from './access.ts';
import type { Io } from './io.ts';

export interface CustomerAnswers {
  readonly config: CustomerConfig;
  /** In the configuration's order. */
  readonly streams: readonly StreamAnswer[];
  /** What the exporter would show now. */
  readonly figures: CustomerMetrics;
  /** Whether the service took the credentials; undefined where it said nothing of them. */
  readonly credentialsValid: boolean | undefined;
  readonly clock: ClockReading | undefined;
  /** When that was, by the service's clock as far as it is gone by. */
  readonly atMs: number;
}

export interface StreamAnswer {
  readonly stream: MinuteStream;
  readonly outcome: StreamSurvey | ServiceError;
}

/**
 * The answers in the configuration's order; fewer where the signal of `io` came first. `asked` is
 * told after each customer how many there were so far.
 */
export async function askForAll(
  config: Config,
  io: Pick<Io, 'env' | 'stop'>,
  asked: (customers: number) => void,
): Promise<readonly CustomerAnswers[]> {
  const credentials = new Map<string, boolean>();
  const service = serviceOf(config, io, {
    credentials: (customer, valid) => credentials.set(customer, valid),
  });
  const members = new CustomerRegistry(new HighWaterMarks()).update(config);
  const answers = new Map<RegisteredCustomer, CustomerAnswers>();
  const waiting = members.values();
  async function askInTurn(): Promise<void> {
    for (const member of waiting) {
      const found = await askFor(member, service, config, io.stop);
      if (io.stop.aborted) {
        return;
      }
      answers.set(member, { ...found, credentialsValid: credentials.get(member.config.name) });
      asked(answers.size);
    }
  }
  try {
    await Promise.all(Array.from({ length: customersAtOnce(config.service) }, askInTurn));
  } finally {
    service.close();
  }
  return members.flatMap((member) => answers.get(member) ?? []);
}

/** A poll that takes more would not end before the next one, however long it is waited for here. */
function mostQuestions({ service, polling }: Config): number {
  const perInterval = (service.maxRequestsPerSecond * polling.intervalMs) / 1_000;
  return Math.max(LEAST_QUESTIONS, Math.floor(perInterval));
}

/** What is asked here takes more than a poll, and may take more than a short interval has. */
const LEAST_QUESTIONS = 100;

async function askFor(
  { customer, config }: RegisteredCustomer,
  service: Service,
  whole: Config,
  stop: AbortSignal,
): Promise<Omit<CustomerAnswers, 'credentialsValid'>> {
  const client = service.clientFor(accessOf(config));
  const most = mostQuestions(whole);
  async function survey(stream: MinuteStream): Promise<StreamAnswer> {
    let asked = 0;
    function ask(question: Question): Promise<AggregatedResponse> {
      asked += 1;
      if (asked > most) {
        const message = `the totals take more than the ${most} requests that one interval allows`;
        throw new ServiceError('timeout', message);
      }
      const deadline = AbortSignal.timeout(2 * whole.service.timeoutMs);
      return client.query(question, AbortSignal.any([stop, deadline]));
    }
    try {
      const context = streamContext(
        customer,
        stream,
        systemClock,
        () => service.nowMs(),
        -Infinity,
      );
      const outcome = await surveyStream({ ...context, mayAnchor: true, hasTime: () => true }, ask);
      customer.pollSucceeded(stream, outcome.state, systemClock.nowMs());
      return { stream, outcome };
    } catch (error) {
      if (!(error instanceof ServiceError)) {
        throw error;
      }
      return { stream, outcome: error };
    }
  }
  const streams = await Promise.all(config.streams.map(survey));
  return {
    config,
    streams,
    figures: customer.metricsAt(systemClock.nowMs()),
    clock: service.clockReading(),
    atMs: service.nowMs(),
  };
}
