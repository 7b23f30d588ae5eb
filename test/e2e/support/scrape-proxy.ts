/**
 * Stands between Prometheus and the daemon, and sees in which format the daemon answers. Prometheus
 * always asks for OpenMetrics first: the only way to have it read the text format is to ask in its
 * place.
 */
import { createServer, request } from 'node:http';
import { listening } from './processes.ts';

export interface ScrapeProxy {
  /** Host and port. */
  readonly address: string;
  /** Of every answer so far, without repetition. */
  readonly contentTypes: () => readonly string[];
  readonly stop: () => Promise<void>;
}

/** Passes everything on to `url`, with another Accept if one is given. */
export async function startScrapeProxy(url: string, accept?: string): Promise<ScrapeProxy> {
  const contentTypes = new Set<string>();
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, ...(accept === undefined ? {} : { accept }) };
    const onward = request(`${url}${incoming.url ?? '/'}`, { headers }, (answer) => {
      contentTypes.add(answer.headers['content-type'] ?? 'none');
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    onward.end();
  });
  return { contentTypes: () => [...contentTypes], ...(await listening(server)) };
}
