/** deploy/compose.yaml as the tests read it: the keys that it uses, of those that Compose knows. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';

const SERVICE = z.strictObject({
  image: z.string(),
  build: z.string().optional(),
  pull_policy: z.literal('never').optional(),
  command: z.array(z.string()).optional(),
  entrypoint: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).optional(),
  depends_on: z
    .union([
      z.array(z.string()),
      z.record(
        z.string(),
        z.strictObject({
          condition: z.enum([
            'service_started',
            'service_healthy',
            'service_completed_successfully',
          ]),
        }),
      ),
    ])
    .optional(),
  init: z.boolean().optional(),
  healthcheck: z
    .strictObject({
      test: z.array(z.string()),
      interval: z.string(),
      timeout: z.string(),
      retries: z.number(),
    })
    .optional(),
  network_mode: z.string().optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
  security_opt: z.array(z.string()).optional(),
  restart: z.enum(['no', 'always', 'on-failure', 'unless-stopped']).optional(),
  ports: z.array(z.string()).optional(),
  volumes: z.array(z.string()).optional(),
});

const COMPOSE = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9_-]*$/),
  services: z.record(z.string(), SERVICE),
  volumes: z.record(z.string(), z.null()),
});

export type Service = z.infer<typeof SERVICE>;

export interface Mount {
  readonly source: string;
  readonly target: string;
}

/** The folder that the paths in it start from. */
export const DEPLOY_FOLDER = new URL('../../deploy/', import.meta.url);

export function readCompose(): z.infer<typeof COMPOSE> {
  return COMPOSE.parse(parse(readFileSync(new URL('compose.yaml', DEPLOY_FOLDER), 'utf8')));
}

/** One of its services. Throws where there is none. */
export function serviceNamed(name: string): Service {
  const service = readCompose().services[name];
  if (service === undefined) {
    throw new Error(`compose.yaml has no service ${name}`);
  }
  return service;
}

export function mountsOf(service: Service): readonly Mount[] {
  return (service.volumes ?? []).map((volume) => {
    const [source = '', target = ''] = volume.split(':');
    return { source, target };
  });
}

/** Its shell script, as the shell gets it. */
export function scriptOf(service: Service): string {
  return (service.command ?? []).join('\n').replaceAll('$$', '$');
}
