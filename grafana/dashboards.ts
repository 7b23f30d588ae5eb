/** All generated files: the dashboards, and the rules for the mixin. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { libraryCustomer } from './library-customer.ts';
import { libraryExporter } from './library-exporter.ts';
import { libraryNow } from './library-now.ts';
import { libraryOverview } from './library-overview.ts';
import { libraryStatistics } from './library-statistics.ts';
import { RUNBOOKS_URL } from './theme.ts';

/** The text of each file by its name in this folder. */
export function generatedFiles(): readonly (readonly [name: string, text: string])[] {
  const dashboards = [
    libraryOverview(),
    libraryCustomer(),
    libraryStatistics(),
    libraryNow(),
    libraryExporter(),
  ];
  return [
    ...dashboards.map((one) => [`dashboards/${one.uid}.json`, asFile(one)] as const),
    ['rules.json', asFile(rules())],
  ];
}

/** The groups of each file of prometheus/rules: not every jsonnet reads its YAML. */
function rules(): object {
  const files = ['recording', 'alerts'].map((name) => {
    const url = new URL(`../prometheus/rules/${name}.yml`, import.meta.url);
    const { groups } = parse(readFileSync(url, 'utf8')) as { groups: unknown };
    return [name, groups];
  });
  return { runbooksUrl: RUNBOOKS_URL, ...Object.fromEntries(files) };
}

function asFile(content: object): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}
