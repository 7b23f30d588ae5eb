/**
 * What Prometheus makes of the scrapes: it keeps what it saw of each counter, takes every fall for a
 * reset, and knows nothing of epochs.
 */

export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

export class Prometheus {
  readonly #series = new Map<string, Sample[]>();

  /** A scrape has shown this value. A series that a scrape does not show is not appended to. */
  append(series: string, sample: Sample): void {
    const samples = this.#series.get(series) ?? [];
    this.#series.set(series, samples);
    samples.push(sample);
  }

  samplesOf(series: string): readonly Sample[] {
    return this.#series.get(series) ?? [];
  }

  /**
   * increase() over all that was seen, without the extrapolation to the edges of a range: the sum of
   * all rises, where a fall is a reset after which the counter counts from 0.
   */
  increase(series: string): number {
    const samples = this.samplesOf(series);
    let increase = 0;
    for (let i = 1; i < samples.length; i++) {
      const value = samples[i]?.value ?? 0;
      const before = samples[i - 1]?.value ?? 0;
      increase += value < before ? value : value - before;
    }
    return increase;
  }
}
