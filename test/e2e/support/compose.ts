/** deploy/compose.yaml as the tests read it. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

interface Service {
  readonly image: string;
  readonly pull_policy?: string;
  readonly command?: readonly string[];
  readonly entrypoint?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly volumes: object;
}

/** The folder that the paths in it start from. */
export const DEPLOY_FOLDER = new URL('../../../deploy/', import.meta.url);

export function readCompose(): Compose {
  return parse(readFileSync(new URL('compose.yaml', DEPLOY_FOLDER), 'utf8')) as Compose;
}

/** One of its services. Throws where there is none. */
export function serviceNamed(name: string): Service {
  const service = readCompose().services[name];
  if (service === undefined) {
    throw new Error(`compose.yaml has no service ${name}`);
  }
  return service;
}

export function mountsOf({ volumes = [] }: Service) {
  return volumes.map((volume) => {
    const [source = '', target = ''] = volume.split(':');
    return { source, target };
  });
}

/** Its shell script, as the shell gets it. */
export function scriptOf(service: Service): string {
  return (service.command ?? []).join('\n').replaceAll('$$', '$');
}
