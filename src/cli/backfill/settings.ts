/** What decides what is written, as text to be compared: a folder is for one of these. Pure. */
import type { Config, CustomerConfig } from '../../config/types.ts';
import type { BackfillFlags } from './flags.ts';
import type { Settings } from './manifest.ts';

/** The secrets are none of it, nor are the limits on requests: those may change between two runs. */
export function settingsOf(
  flags: BackfillFlags,
  { service }: Config,
  customers: readonly CustomerConfig[],
): Settings {
  const url = flags['prometheus.url'];
  const described = customers.map(({ clientSecret: _secret, ...rest }) => rest);
  return {
    '--from': flags.from.text,
    '--to': flags.to?.text ?? '',
    '--step': String(flags.step),
    '--instance': flags.instance,
    '--job': flags.job,
    '--label': JSON.stringify(flags.label ?? []),
    '--prometheus.url': url === undefined ? '' : `${url.origin}${url.pathname}`,
    'service.base_url': service.baseUrl,
    customers: JSON.stringify(described),
  };
}
