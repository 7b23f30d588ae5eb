/**
 * One family of one customer over time, series by series and each in ascending order, as promtool
 * wants it: what is out of order in a series it drops in silence. It knows no file.
 */
import type { CustomerMetrics } from '../counting/customer-metrics.ts';
import type { Family, FamilyContext, LabelPair } from './family.ts';
import { writeLabel, writePastSample } from './format.ts';

export interface PastFigures {
  readonly atMs: number;
  readonly figures: CustomerMetrics;
}

/** Samples of one family with their line ends, and how many they are. */
export interface PastSamples {
  readonly text: string;
  readonly samples: number;
}

/** So many lines make a piece of text, some hundred kilobytes. */
const LINES_OF_A_PIECE = 4_000;

/**
 * The family's samples in pieces. The figures are in ascending order, and such that they have at most
 * one series of each family. `target` are the labels that a scrape adds.
 */
export function* pastSamples(
  family: Family,
  past: readonly PastFigures[],
  context: FamilyContext,
  target: readonly LabelPair[],
): Generator<PastSamples> {
  const added = target.map(writeLabel);
  let text = '';
  let samples = 0;
  for (const { atMs, figures } of past) {
    for (const { labels, value } of family.samples(figures, context)) {
      const own = [writeLabel(['customer', figures.customer]), ...labels.map(writeLabel)];
      text += writePastSample(family.name, [...own, ...added].join(','), value, atMs);
      samples += 1;
    }
    if (samples >= LINES_OF_A_PIECE) {
      yield { text, samples };
      text = '';
      samples = 0;
    }
  }
  if (samples > 0) {
    yield { text, samples };
  }
}
