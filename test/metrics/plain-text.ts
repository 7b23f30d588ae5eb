/** The exposition of customers the plain way: every line from the figures, nothing kept. */
import { BREAKDOWNS } from '../../src/base/model.ts';
import type { MetricsSource } from '../../src/counting/customer-metrics.ts';
import { breakdownFamilies } from '../../src/metrics/breakdown-families.ts';
import { CUSTOMER_FAMILIES } from '../../src/metrics/families.ts';
import { writeHead, writeLabel, writeSample } from '../../src/metrics/format.ts';
import type { Format } from '../../src/metrics/format.ts';

export function plainText(
  format: Format,
  sources: readonly MetricsSource[],
  nowMs: number,
): string {
  const figures = sources.map((source) => source.metricsAt(nowMs));
  const configured = BREAKDOWNS.filter((one) =>
    figures.some(({ breakdowns }) => breakdowns[one] !== undefined),
  );
  const infoLabelNames = [
    ...new Set(figures.flatMap(({ labels }) => Object.keys(labels))),
  ].toSorted();
  let text = '';
  for (const family of [...CUSTOMER_FAMILIES, ...breakdownFamilies(new Set(configured))]) {
    const lines = figures.flatMap((one) =>
      family.samples(one, { infoLabelNames }).map(({ labels, value }) => {
        const all = [['customer', one.customer] as const, ...labels];
        return writeSample(family.name, all.map(writeLabel).join(','), value);
      }),
    );
    text += lines.length === 0 ? '' : writeHead(format, family) + lines.join('');
  }
  return text;
}
