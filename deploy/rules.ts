/** Writes deploy/kubernetes/prometheusrule.yaml anew, from prometheus/rules: `npm run rules`. A test fails if it differs. */
import { readFileSync, writeFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';

const FOLDER = new URL('../prometheus/rules/', import.meta.url);
const FILE = new URL('kubernetes/prometheusrule.yaml', import.meta.url);
const NAME = 'library-stats-exporter';

/** The text of the file: the rules as a resource of the Prometheus Operator. */
export function prometheusRule(): string {
  const groups = ['alerts', 'recording'].flatMap((name): unknown[] => {
    const text = readFileSync(new URL(`${name}.yml`, FOLDER), 'utf8');
    return (parse(text) as { groups: unknown[] }).groups;
  });
  const resource = {
    apiVersion: 'monitoring.coreos.com/v1',
    kind: 'PrometheusRule',
    metadata: { name: NAME, labels: { 'app.kubernetes.io/name': NAME } },
    spec: { groups },
  };
  const head = '# Made of prometheus/rules by `npm run rules`: change them there.\n';
  return head + stringify(resource, { lineWidth: 0 });
}

if (import.meta.main) {
  writeFileSync(FILE, prometheusRule());
}
