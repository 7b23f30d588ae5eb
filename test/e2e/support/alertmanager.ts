/** A real Alertmanager with the example's configuration, and a webhook that keeps what it is told. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { debianProgram, startServer } from './processes.ts';
import type { Server } from './processes.ts';

const LABELS = z.record(z.string(), z.string());
const BODY = z.object({
  alerts: z.array(z.object({ status: z.string(), labels: LABELS, annotations: LABELS })),
});

/** `path` is that of the webhook: `/libraries`. */
export type Notification = z.infer<typeof BODY> & { readonly path: string };

export interface Webhook {
  /** Host and port. */
  readonly address: string;
  readonly notifications: readonly Notification[];
  readonly stop: () => Promise<void>;
}

export async function startWebhook(): Promise<Webhook> {
  const notifications: Notification[] = [];
  const server = createServer((incoming, outgoing) => {
    void text(incoming).then((body) => {
      notifications.push({ path: incoming.url ?? '', ...BODY.parse(JSON.parse(body)) });
      outgoing.end();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    notifications,
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      const closed = once(server.close(), 'close');
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Resolves when it listens. */
export async function startAlertmanager(config: string): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'alertmanager-'));
  writeFileSync(join(folder, 'alertmanager.yml'), config);
  return startServer(
    debianProgram('/usr/bin/prometheus-alertmanager'),
    [
      `--config.file=${join(folder, 'alertmanager.yml')}`,
      `--storage.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
      // Alone: it talks to no other one.
      '--cluster.listen-address=',
    ],
    folder,
  );
}
