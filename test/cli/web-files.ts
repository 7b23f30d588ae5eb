/** A configuration, a web configuration beside it, certificates and passwords. */
import { hashSync } from '@node-rs/bcrypt';
import { expect } from 'vitest';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { partsIn } from '../limits/disguises.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import type { Certified } from '../support/certificates.ts';

const authority = makeAuthority();
const hosts = ['localhost', '127.0.0.1'];
export const [first, second] = ['first', 'second'].map((name) =>
  makeCertificate({ name, hosts, issuer: authority }),
) as [Certified, Certified];
export const TRUSTING = { ca: authority.cert };
export const PASSWORDS = ['swift-lantern-orchard', 'quiet-copper-meadow'] as const;
export const [hash, newHash] = PASSWORDS.map((password) => hashSync(password, 10)) as [
  string,
  string,
];

export const TLS = 'tls_server_config:\n  cert_file: server.pem\n  key_file: server-key.pem\n';

export function usersWith(text: string): string {
  return `basic_auth_users:\n  prometheus: ${text}\n`;
}

export class WebFiles {
  readonly service = new LedgerService();
  readonly workspace = new Workspace();

  /** With a configuration of one customer, and no web configuration. */
  static async create(): Promise<WebFiles> {
    const files = new WebFiles();
    await files.service.start();
    const riverside = files.service.addCustomer('riverside', 'Europe/Oslo');
    writeConfig(files.workspace, files.service, [riverside]);
    return files;
  }

  get configFile(): string {
    return `${this.workspace.folder}/config.yaml`;
  }

  writePair({ cert, key }: Certified): void {
    this.workspace.write('server.pem', cert);
    this.workspace.write('server-key.pem', key);
  }

  async close(): Promise<void> {
    await this.workspace.close();
    await this.service.stop();
  }
}

export function expectNothingSecret(said: string): void {
  expect(partsIn(said, [...PASSWORDS, hash.slice(7), newHash.slice(7)])).toEqual([]);
  const keys = [first, second].map(({ key }) => key.split('\n')[1] ?? '');
  expect(partsIn(said, keys)).toEqual([]);
}
