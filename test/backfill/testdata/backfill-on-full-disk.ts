/** Runs `backfill` under a limit on the size of files, and prints how it ended. */
import { Terminal } from '../../cli/terminal.ts';

// Without a listener the signal ends the process. With one, the write fails as on a full disk.
process.on('SIGXFSZ', () => {});

const ran = await new Terminal().run('backfill', ...process.argv.slice(2));
process.stdout.write(JSON.stringify(ran));
