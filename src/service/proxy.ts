/** Which proxy to go through. Node's agents do the rest, once they are told in their own terms. */
import { BlockList, isIP, isIPv6 } from 'node:net';
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
  const direct = [settings.baseUrl, settings.authUrl]
    .map((url) => new URL(url))
    .filter((url) => isExempt(url, environment.NO_PROXY ?? ''));
  return {
    HTTP_PROXY: undefined,
    HTTPS_PROXY: checked(environment.HTTPS_PROXY ?? '', 'HTTPS_PROXY'),
    // Names alone, for of ranges and suffixes Node has a notion of its own.
    NO_PROXY: direct.map(({ hostname, port }) => `${hostname}:${port || '443'}`).join(','),
  };
}

/** The environment's variables, by either of the spellings that are in use; capitals come first. */
export function proxyEnvironmentFrom(
  env: Readonly<Record<string, string | undefined>>,
): ProxyEnvironment {
  return {
    HTTPS_PROXY: env['HTTPS_PROXY'] ?? env['https_proxy'],
    NO_PROXY: env['NO_PROXY'] ?? env['no_proxy'],
  };
}

/**
 * Whether NO_PROXY names the host, in the forms that Go's programs take (golang.org/x/net/http/
 * httpproxy): `*`, a domain with all below it, `.domain` for those below it alone, an address, a range
 * like 10.0.0.0/8; each but the first and the last with a port or without.
 */
export function isExempt({ hostname, port }: URL, noProxy: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  return noProxy
    .toLowerCase()
    .split(',')
    .map((entry) => entry.trim())
    .some((entry) => matches(entry, host, port || '443'));
}

function matches(entry: string, host: string, port: string): boolean {
  if (entry === '*') {
    return true;
  }
  const [, network = '', bits] = /^(.+)\/(\d{1,3})$/.exec(entry) ?? [];
  if (bits !== undefined) {
    return isWithin(host, network, Number(bits));
  }
  const bare = isIP(entry) === 0 ? /^(.*?)(?::(\d+))?$/.exec(entry) : [entry, entry, undefined];
  const wanted = (bare?.[1] ?? '').replace(/^\[|\]$/g, '').replace(/^\*(?=\.)/, '');
  const isOnPort = bare?.[2] === undefined || bare[2] === port;
  if (wanted === '' || !isOnPort) {
    return false;
  }
  if (isIP(host) !== 0) {
    return isIP(wanted) !== 0 && isWithin(host, wanted, isIPv6(wanted) ? 128 : 32);
  }
  return host === wanted || host.endsWith(wanted.startsWith('.') ? wanted : `.${wanted}`);
}

function isWithin(host: string, network: string, bits: number): boolean {
  const family = isIPv6(host) ? 'ipv6' : 'ipv4';
  if (isIP(host) === 0 || isIP(host) !== isIP(network) || bits > (family === 'ipv6' ? 128 : 32)) {
    return false;
  }
  const range = new BlockList();
  range.addSubnet(network, bits, family);
  return range.check(host, family);
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
