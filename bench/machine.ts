/** What the bench runs on: its results are worth nothing without it. */
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

/** One line: the processor, its cores, the memory, the system and the version of Node. */
export function machineText(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? 'unknown processor';
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${model}, ${processors.length} cores, ${gib} GiB, ${systemName()}, Node ${process.version}`;
}

function systemName(): string {
  try {
    return (
      /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux'
    );
  } catch {
    return process.platform;
  }
}
