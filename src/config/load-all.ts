/** Both files that the exporter is given, read together, so that all problems are told at once. */
import { ConfigError } from '../base/errors.ts';
import type { Environment } from './expand.ts';
import { loadConfig } from './load.ts';
import type { LoadedConfig } from './load.ts';
import { loadWebConfig } from './web.ts';
import type { LoadedWebConfig } from './web.ts';
import type { WebConfig } from './web-types.ts';

export interface LoadedAll extends LoadedConfig {
  /** Undefined where no web configuration was named. */
  readonly web?: LoadedWebConfig | undefined;
}

export interface LoadAllOptions {
  readonly path: string;
  readonly webPath: string | undefined;
  readonly env: Environment;
  readonly nowMs: number;
  /** What the web server was started with, if it runs. */
  readonly running?: WebConfig | undefined;
}

/** Throws a ConfigError with the problems of both, ready to print. */
export async function loadAll(options: LoadAllOptions): Promise<LoadedAll> {
  const { webPath } = options;
  const [main, web] = await Promise.allSettled([
    loadConfig(options),
    webPath === undefined ? undefined : loadWebConfig({ ...options, path: webPath }),
  ]);
  if (main.status === 'fulfilled' && web.status === 'fulfilled') {
    return { ...main.value, web: web.value };
  }
  const errors = [main, web].flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  for (const error of errors) {
    if (!(error instanceof ConfigError)) {
      throw error;
    }
  }
  throw new ConfigError(
    errors.map((error: ConfigError) => error.message.trimEnd()).join('\n'),
    errors.reduce((sum: number, error: ConfigError) => sum + error.problems, 0),
  );
}
