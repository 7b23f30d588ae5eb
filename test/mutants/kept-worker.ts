/**
 * A process that runs the tests of one change after another: to start it and to load the source takes longer than
 * most tests. Test files are loaded again for each change. The source is not: it holds all changes, one of which
 * is switched on, and what a module keeps. A test that does not end is given up early; StrykerJS waits for longer
 * than all tests take.
 */
import { ForksPoolWorker } from 'vitest/node';
import type { PoolOptions, PoolRunnerInitializer, PoolWorker, WorkerRequest } from 'vitest/node';

type Listener = (message: unknown) => void;

/** Each run leaves a listener in the process. */
const MAX_RUNS = 100;

/** The longest test takes 2 s, and several times as long beside another process with all changes in its source. */
const MAX_TEST_MS = 10_000;

const idle: KeptWorker[] = [];

class KeptWorker implements PoolWorker {
  readonly name = 'kept';
  readonly cacheFs = true;
  readonly #project: PoolOptions['project'];
  readonly #fork: ForksPoolWorker;
  readonly #listeners: [event: string, listener: Listener][] = [];
  #runs = 0;
  #keep = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions) {
    this.#project = options.project;
    this.#fork = new ForksPoolWorker(options);
  }

  async start(): Promise<void> {
    this.#keep = false;
    if (this.#runs++ === 0) {
      await this.#fork.start();
      // Each test says when it begins (setup.ts).
      this.#fork.on('message', () => this.#timer?.refresh());
    }
  }

  on(event: string, listener: Listener): void {
    this.#listeners.push([event, listener]);
    this.#fork.on(event, listener);
  }

  off(event: string, listener: Listener): void {
    this.#fork.off(event, listener);
  }

  send(message: WorkerRequest): void {
    if (message.type === 'run' && message.context.providedContext['mode'] === 'mutant') {
      this.#timer = setTimeout(() => this.#giveUp(), MAX_TEST_MS);
    }
    if (message.type !== 'stop' || this.#runs >= MAX_RUNS) {
      this.#fork.send(message);
      return;
    }
    this.#keep = true;
    for (const [event, listener] of this.#listeners) {
      if (event === 'message') {
        listener({ type: 'stopped', __vitest_worker_response__: true });
      }
    }
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    for (const [event, listener] of this.#listeners.splice(0)) {
      this.#fork.off(event, listener);
    }
    if (this.#keep) {
      idle.push(this);
    } else {
      await this.#fork.stop();
    }
  }

  deserialize(data: unknown): unknown {
    return data;
  }

  /** StrykerJS takes a change that runs too often as one that does not end. */
  #giveUp(): void {
    for (const { meta } of this.#project.vitest.state.getFiles()) {
      Object.assign(meta, { hitCount: Infinity });
    }
    void this.#fork.stop();
  }
}

export const keptWorker: PoolRunnerInitializer = {
  name: 'kept',
  createPoolWorker: (options) => idle.pop() ?? new KeptWorker(options),
};
