/** What can be said of deploy/compose.yaml without running it: no engine is needed here. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { DEPLOY_FOLDER, mountsOf, readCompose, serviceNamed } from './compose.ts';

const COMPOSE = readCompose();
const SERVICES = Object.entries(COMPOSE.services).map(([name, service]) => ({ name, ...service }));

test.each(SERVICES)('$name has files, volumes, an image, ports and services that exist', (one) => {
  const { image, pull_policy: pullPolicy, ports = [], depends_on: waitsFor = {} } = one;
  const missing = mountsOf(one).filter(({ source }) =>
    source.startsWith('.')
      ? !existsSync(new URL(source, DEPLOY_FOLDER))
      : !Object.keys(COMPOSE.volumes).includes(source),
  );
  expect(missing).toEqual([]);
  // Built here and never asked for at a registry, or of one version.
  expect(pullPolicy === 'never').toBe(image === 'library-stats-exporter');
  expect(image).toMatch(/^library-stats-exporter$|^[a-z]+\/[a-z]+:v?\d+\.\d+\.\d+$/);
  // Reached from this machine only.
  expect(ports.filter((port) => !/^127\.0\.0\.1:(\d+):\1$/.test(port))).toEqual([]);
  for (const [name, { condition }] of Array.isArray(waitsFor) ? [] : Object.entries(waitsFor)) {
    // What is to be completed must not be started again; only our image has a health check.
    const other = serviceNamed(name);
    expect(condition === 'service_completed_successfully').toBe(other.restart === undefined);
    expect(condition === 'service_healthy').toBe(other.build !== undefined);
  }
});

test('the image is built from the folder with the Dockerfile, and used by the history too', () => {
  const { build, image } = serviceNamed('exporter');
  const history = serviceNamed('history');
  expect(existsSync(new URL(`${build}/Dockerfile`, DEPLOY_FOLDER))).toBe(true);
  expect(history.image).toBe(image);
  // The simulated service listens on loopback.
  expect(history.network_mode).toBe('service:exporter');
  // The labels that the live series have.
  expect(history.command?.join()).toContain('--instance=exporter:10096');
  expect(read('compose/prometheus.yml')).toContain('job_name: library\n');
});

test('the configurations are the examples with the names of the services', () => {
  for (const [file, example, names] of [
    ['compose/prometheus.yml', '../prometheus/prometheus.yml', ['exporter', 'alertmanager']],
    [
      'compose/datasource.yaml',
      '../grafana/provisioning/datasources/prometheus.yaml',
      ['prometheus'],
    ],
  ] as const) {
    let text = read(file);
    for (const name of names) {
      const [, port = ''] = new RegExp(`\\b${name}:(\\d+)`).exec(text) ?? [];
      expect(serviceNamed(name).ports).toEqual([`127.0.0.1:${port}:${port}`]);
      text = text.replaceAll(`${name}:${port}`, `localhost:${port}`);
    }
    expect(parse(text)).toEqual(parse(read(example)));
  }
});

test('Grafana finds the dashboards where the provisioning looks, and begins with one that exists', () => {
  const grafana = serviceNamed('grafana');
  const folder = mountsOf(grafana).find(({ source }) => source === '../grafana/dashboards')?.target;
  const provisioning = read('../grafana/provisioning/dashboards/library.yaml');
  expect(provisioning).toContain(`path: ${folder}\n`);
  const home = grafana.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? '';
  const files = readdirSync(new URL('../grafana/dashboards/', DEPLOY_FOLDER));
  expect(files.map((file) => `${folder}/${file}`)).toContain(home);
});

function read(path: string): string {
  return readFileSync(new URL(path, DEPLOY_FOLDER), 'utf8');
}
