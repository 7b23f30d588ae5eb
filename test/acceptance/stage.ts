/**
 * The service of a test file, a folder for its daemons, and the monitor that may watch them. All end
 * after its last test.
 */
import { afterAll } from 'vitest';
import { Workspace } from './daemon.ts';
import { LedgerService } from './ledger-service.ts';
import { Monitor } from './monitor.ts';

export interface Stage {
  readonly service: LedgerService;
  readonly workspace: Workspace;
  readonly monitor: Monitor;
}

export function stage(): Stage {
  const [service, workspace, monitor] = [new LedgerService(), new Workspace(), new Monitor()];
  afterAll(async () => {
    await monitor.leave();
    await workspace.close();
    await service.stop();
  });
  return { service, workspace, monitor };
}
