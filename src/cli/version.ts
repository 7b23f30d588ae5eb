/** Which version this is, from package.json. */
import packageJson from '../../package.json' with { type: 'json' };

export const VERSION = packageJson.version;
