/** Loads both files of the exporter, and reports the problems of both at once. */
import { ConfigError } from '../base/errors.ts';
import { loadConfig } from './load.ts';
import type { LoadedConfig } from './load.ts';
import type { WebConfig } from './types.ts';
import { loadWebConfig } from './web.ts';
import type { LoadedWebConfig } from './web.ts';
import type { Environment } from './yaml-values.ts';

export interface LoadedAll extends LoadedConfig {
  /** Undefined without a web configuration file. */
  readonly web?: LoadedWebConfig | undefined;
}

/** Throws a ConfigError with the problems of both. `running` is what the web server was started with. */
export async function loadAll(options: {
  readonly path: string;
  readonly webPath: string | undefined;
  readonly env: Environment;
  readonly nowMs: number;
  readonly running?: WebConfig | undefined;
}): Promise<LoadedAll> {
  const { webPath } = options;
  const [main, web] = await Promise.allSettled([
    loadConfig(options),
    webPath === undefined ? undefined : loadWebConfig({ ...options, path: webPath }),
  ]);
  if (main.status === 'fulfilled' && web.status === 'fulfilled') {
    return { ...main.value, web: web.value };
  }
  const errors = [main, web].flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  const unexpected = errors.find((error) => !(error instanceof ConfigError));
  if (unexpected !== undefined) {
    throw unexpected;
  }
  throw new ConfigError(
    errors.map(({ message }: ConfigError) => message).join('\n'),
    errors.reduce((sum: number, { problems }: ConfigError) => sum + problems, 0),
  );
}
