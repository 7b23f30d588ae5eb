/** `check` with `--web.config.file`, and its warnings of files that others can read or nobody can use. */
import { chmodSync, mkdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ran } from './terminal.ts';
import { expectNothingSecret, first, hash, TLS, usersWith, WebFiles } from './web-files.ts';

let files: WebFiles;
beforeEach(async () => {
  files = await WebFiles.create();
});
afterEach(() => files.close());

describe('check', { timeout: 120_000 }, () => {
  function checked(...flags: readonly string[]) {
    return ran(
      'check',
      `--config.file=${files.configFile}`,
      `--web.config.file=${files.workspace.folder}/web.yaml`,
      `--storage.path=${files.workspace.folder}/data`,
      ...flags,
    );
  }

  test('says how the web server would be protected', async () => {
    files.writePair(first);
    files.workspace.write('web.yaml', TLS + usersWith(hash));
    const { status, out } = await checked();
    expect([status, out]).toEqual([
      0,
      `${files.configFile}: good, 1 customer\n${files.workspace.folder}/web.yaml: good, https, NoClientCert, 1 user\n`,
    ]);
    files.workspace.write('web.yaml', 'http_server_config: {}\n');
    expect((await checked()).out).toContain('web.yaml: good, http, no passwords\n');
  });

  test('says the problems of both files', async () => {
    files.workspace.write('config.yaml', 'service: {}\n');
    files.workspace.write('web.yaml', 'rate_limit: {}\n');
    const { status, out } = await checked();
    expect(status).toBe(2);
    expect(out).toMatch(/config\.yaml:1:\d+: service\.base_url: /);
    expect(out).toMatch(/web\.yaml:1:13: rate_limit: is not supported here/);
  });

  test('warns of every file with a secret that others can read', async () => {
    files.writePair(first);
    files.workspace.write('web.yaml', TLS + usersWith(hash));
    files.workspace.write(
      'config.yaml',
      `service:
  base_url: ${files.service.url}
  auth_url: ${files.service.url}
  proxy_url: http://user:amber-violet-river@proxy.example.org:3128
customers:
  - { name: a, client_id: a, client_secret: amber-violet-river, timezone: Europe/Oslo }
  - { name: b, client_id: b, client_secret_file: riverside.secret, timezone: Europe/Oslo }
`,
    );
    expect((await checked()).out).not.toContain('warning');
    for (const name of ['web.yaml', 'server-key.pem', 'config.yaml', 'riverside.secret']) {
      chmodSync(`${files.workspace.folder}/${name}`, 0o640);
    }
    const { status, out } = await checked();
    expect(status).toBe(0);
    const warnings = out.split('\n').filter((line) => line.startsWith('warning: '));
    expect(warnings).toEqual([
      expect.stringMatching(
        /config\.yaml:7:50: customers\[1\]\.client_secret_file: the file can be read by/,
      ),
      expect.stringMatching(
        /config\.yaml:4:14: service\.proxy_url: is a secret, and \S*config\.yaml can be read by/,
      ),
      expect.stringMatching(/web\.yaml:3:13: tls_server_config\.key_file: the file can be read by/),
      expect.stringMatching(
        /web\.yaml:5:3: basic_auth_users: holds hashes of passwords, and \S*web\.yaml can be/,
      ),
    ]);
    expect(warnings.every((line) => line.endsWith(': chmod it to 600 or 400'))).toBe(true);
    expect(out).not.toMatch(/amber|violet|river@/);
    expectNothingSecret(out);
  });

  test('says nothing of a file whose secrets are only references', async () => {
    files.workspace.write('web.yaml', 'http_server_config: {}\n');
    files.workspace.write(
      'config.yaml',
      `service: { base_url: "${files.service.url}", auth_url: "${files.service.url}" }
customers: [{ name: a, client_id: a, client_secret: "\${PATH}", timezone: Europe/Oslo }]
`,
    );
    chmodSync(files.configFile, 0o644);
    const { Terminal } = await import('./terminal.ts');
    const terminal = new Terminal();
    terminal.env['PATH'] = 'amber';
    const { out } = await terminal.run(
      'check',
      `--config.file=${files.configFile}`,
      '--storage.path=',
    );
    expect(out).toBe(`${files.configFile}: good, 1 customer\n`);
  });

  test('warns of a folder for the marks that cannot be one', async () => {
    files.workspace.write('web.yaml', 'http_server_config: {}\n');
    const inFile = await checked(`--storage.path=${files.configFile}/data`);
    expect(inFile.status).toBe(0);
    expect(inFile.out).toContain(
      `warning: ${files.configFile}/data: ${files.configFile} is not a folder: name another one with --storage.path\n`,
    );
    const closed = `${files.workspace.folder}/closed`;
    mkdirSync(closed, { mode: 0o500 });
    const { out } = await checked(`--storage.path=${closed}/data`);
    // Nothing is closed to root.
    expect(out.includes(`${closed} cannot be written by this user: chown it`)).toBe(
      process.getuid?.() !== 0,
    );
    expect((await checked('--storage.path=')).out).not.toContain('warning');
  });
});
