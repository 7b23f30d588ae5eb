/** Which version this is, from package.json, and how its commands are called. */
import packageJson from '../../package.json' with { type: 'json' };

export const VERSION = packageJson.version;

/** What to write before a command's name: in a clone the sources run, installed they are compiled. */
export const PROGRAM = import.meta.filename.endsWith('.ts')
  ? 'npm start --silent --'
  : 'library-stats-exporter';
