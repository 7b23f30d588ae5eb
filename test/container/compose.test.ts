/** What can be said of deploy/compose.yaml without running it: no engine is needed here. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { DEPLOY_FOLDER, mountsOf, readCompose, serviceNamed } from './compose.ts';

const COMPOSE = readCompose();
const SERVICES = Object.entries(COMPOSE.services).map(([name, service]) => ({ name, ...service }));

test.each(SERVICES)('$name mounts files that exist, and volumes that are declared', (service) => {
  const missing = mountsOf(service).filter(({ source }) =>
    source.startsWith('.')
      ? !existsSync(new URL(source, DEPLOY_FOLDER))
      : !Object.keys(COMPOSE.volumes).includes(source),
  );
  expect(missing).toEqual([]);
  expect(mountsOf(service).filter(({ target }) => !target.startsWith('/'))).toEqual([]);
});

test('every volume is used', () => {
  const used = SERVICES.flatMap((service) => mountsOf(service).map(({ source }) => source));
  expect(used).toEqual(expect.arrayContaining(Object.keys(COMPOSE.volumes)));
});

test.each(SERVICES)('$name is built here, or is an image of one version', (service) => {
  const { image, pull_policy: pullPolicy } = service;
  expect(image).toMatch(/^library-stats-exporter$|^[a-z]+\/[a-z]+:v?\d+\.\d+\.\d+$/);
  expect(pullPolicy === 'never').toBe(image === 'library-stats-exporter');
});

test.each(SERVICES)('$name is reached from this machine only', ({ ports = [] }) => {
  for (const port of ports) {
    expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
  }
});

test.each(SERVICES)('$name waits for services that exist, in a way that can end', (service) => {
  const { depends_on: waitsFor = {} } = service;
  const names = Array.isArray(waitsFor) ? waitsFor : Object.keys(waitsFor);
  expect(Object.keys(COMPOSE.services)).toEqual(expect.arrayContaining(names));
  for (const [name, { condition }] of Array.isArray(waitsFor) ? [] : Object.entries(waitsFor)) {
    // What is to be completed must not be started again; only our image has a health check.
    const other = serviceNamed(name);
    expect(condition === 'service_completed_successfully').toBe(other.restart === undefined);
    expect(condition === 'service_healthy').toBe(other.build !== undefined);
  }
});

test('the image is built from the folder with the Dockerfile, and used by the history too', () => {
  const { build, image } = serviceNamed('exporter');
  expect(existsSync(new URL(`${build}/Dockerfile`, DEPLOY_FOLDER))).toBe(true);
  expect(serviceNamed('history').image).toBe(image);
  // The simulated service listens on loopback.
  expect(serviceNamed('history').network_mode).toBe('service:exporter');
});

test('the names in the configurations are those of the services', () => {
  const prometheus = read('compose/prometheus.yml');
  for (const target of prometheus.matchAll(/targets: \['(\w+):(\d+)'\]/g)) {
    const [, name = '', port = ''] = target;
    expect(serviceNamed(name).ports).toEqual([`127.0.0.1:${port}:${port}`]);
  }
  expect(prometheus.match(/targets:/g)).toHaveLength(2);
  expect(read('compose/datasource.yaml')).toContain('url: http://prometheus:9090\n');
});

test('the configurations say the same as the examples, but for names', () => {
  expect(configuration('compose/prometheus.yml', 'alertmanager:9093', 'exporter:10096')).toEqual(
    configuration('../prometheus/prometheus.yml', 'localhost:9093', 'localhost:10096'),
  );
  expect(
    parse(read('compose/datasource.yaml').replace('prometheus:9090', 'localhost:9090')),
  ).toEqual(parse(read('../grafana/provisioning/datasources/prometheus.yaml')));
});

test('the history has the labels that the live series have', () => {
  expect(serviceNamed('history').command?.join()).toContain('--instance=exporter:10096');
  expect(read('compose/prometheus.yml')).toContain('job_name: library\n');
});

test('Grafana finds the dashboards where the provisioning looks, and begins with one that exists', () => {
  const grafana = serviceNamed('grafana');
  const targets = new Map(mountsOf(grafana).map(({ source, target }) => [source, target]));
  const folder = targets.get('../grafana/dashboards');
  const provisioning = read('../grafana/provisioning/dashboards/library.yaml');
  expect(provisioning).toContain(`path: ${folder}\n`);
  const home = grafana.environment?.['GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH'] ?? '';
  const files = readdirSync(new URL('../grafana/dashboards/', DEPLOY_FOLDER));
  expect(files.map((file) => `${folder}/${file}`)).toContain(home);
});

function read(path: string): string {
  return readFileSync(new URL(path, DEPLOY_FOLDER), 'utf8');
}

function configuration(path: string, alertmanager: string, exporter: string): unknown {
  const text = read(path).replace(alertmanager, 'ALERTMANAGER').replace(exporter, 'EXPORTER');
  return parse(text);
}
