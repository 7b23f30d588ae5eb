/** The daemon as a newcomer starts it, from a folder in which nothing of the project lies. */
import { Workspace, launch } from '../../acceptance/daemon.ts';
import type { Exit } from '../../acceptance/daemon.ts';
import { eventually } from './processes.ts';

export interface Demo {
  /** URL without a slash at the end. */
  readonly url: string;
  /** The names of its customers. */
  readonly customers: readonly string[];
  readonly stop: () => Promise<Exit>;
}

/** Resolves as soon as the counters of five customers are there. */
export async function startDemo(command?: readonly [node: string, main: string]): Promise<Demo> {
  const workspace = new Workspace();
  const daemon = launch(workspace, ['demo', '--web.listen-address=127.0.0.1:0'], {}, command);
  async function stop(): Promise<Exit> {
    const exit = await daemon.stop();
    await workspace.close();
    return exit;
  }
  try {
    const { url } = await daemon.listening();
    const customers = await eventually('the counters of five customers', async () => {
      const counters = (await daemon.scrape()).all('library_people_entered_total');
      const names = counters.map(({ labels }) => labels['customer'] ?? '');
      return names.length === 5 ? names : undefined;
    });
    return { url, customers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
