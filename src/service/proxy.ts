/** Which proxy to go through. Node's agents do the rest, once they are told in their own terms. */
import { ConfigError } from '../base/errors.ts';

export interface ProxySettings {
  readonly baseUrl: string;
  readonly authUrl: string;
  /** For everything, whatever the environment says. */
  readonly proxyUrl: string | undefined;
  /** What the environment says; used where there is no `proxyUrl`. */
  readonly environment: ProxyEnvironment;
}

export interface ProxyEnvironment {
  readonly HTTPS_PROXY?: string | undefined;
  readonly NO_PROXY?: string | undefined;
}

type AgentEnvironment = Record<'HTTP_PROXY' | 'HTTPS_PROXY' | 'NO_PROXY', string | undefined>;

/**
 * What the agents are given. Throws a ConfigError for an address that they could not use: they would
 * take no notice of it, and go straight to the service.
 */
export function proxyEnvironmentOf(settings: ProxySettings): AgentEnvironment {
  const { proxyUrl, environment } = settings;
  if (proxyUrl !== undefined) {
    const proxy = checked(proxyUrl, 'service.proxy_url');
    return { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: undefined };
  }
  const encrypted = [settings.baseUrl, settings.authUrl].some((url) => url.startsWith('https:'));
  if (!encrypted || (environment.HTTPS_PROXY ?? '') === '') {
    return { HTTP_PROXY: undefined, HTTPS_PROXY: undefined, NO_PROXY: undefined };
  }
  return {
    HTTP_PROXY: undefined,
    HTTPS_PROXY: checked(environment.HTTPS_PROXY ?? '', 'HTTPS_PROXY'),
    NO_PROXY: environment.NO_PROXY,
  };
}

/** Never with the address in the message: it may hold a password. */
function checked(address: string, name: string): string {
  const protocol = URL.parse(address)?.protocol;
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new ConfigError(
      `${name} is not the address of a proxy; it must be like http://HOST:PORT or https://HOST:PORT`,
    );
  }
  return address;
}
