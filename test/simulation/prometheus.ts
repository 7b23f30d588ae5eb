/** A model of Prometheus: keeps the samples of each counter, and takes every decrease for a reset. */

export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

export class Prometheus {
  readonly #series = new Map<string, Sample[]>();

  append(series: string, sample: Sample): void {
    const samples = this.#series.get(series) ?? [];
    this.#series.set(series, samples);
    samples.push(sample);
  }

  samplesOf(series: string): readonly Sample[] {
    return this.#series.get(series) ?? [];
  }

  /** increase() over all samples, without extrapolation. */
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
