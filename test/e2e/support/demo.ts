/** The daemon as a newcomer starts it, from a folder in which nothing of the project lies. */
import { Workspace, launch } from '../../acceptance/daemon.ts';
import { eventually } from './processes.ts';

/** Resolves as soon as the counters of five customers are there: with their names, and the URL without a slash at its end. */
export async function startDemo(command?: readonly [node: string, main: string]) {
  const workspace = new Workspace();
  const daemon = launch(workspace, ['demo', '--web.listen-address=127.0.0.1:0'], {}, command);
  async function stop() {
    const exit = await daemon.stop();
    await workspace.close();
    return exit;
  }
  try {
    const { url } = await daemon.listening();
    const customers = await eventually(async () => {
      const counters = (await daemon.scrape()).all('library_people_entered_total');
      return counters.length === 5 && counters.map(({ labels }) => labels['customer'] ?? '');
    });
    return { url, customers, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
