/** What can be said of the Dockerfile without building it: no engine is needed here. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';

interface Instruction {
  readonly keyword: string;
  readonly value: string;
}

const ROOT = new URL('../../', import.meta.url);
const INSTRUCTIONS = readInstructions();
const EXEC_FORM = z.array(z.string()).min(1);

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8');
}

function readInstructions(): readonly Instruction[] {
  const withoutComments = read('Dockerfile').replaceAll(/^#.*\n/gm, '');
  return withoutComments
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const [, keyword = '', value = ''] = /^([A-Z]+)\s+(.+)$/.exec(line) ?? [];
      return { keyword, value };
    });
}

/** Of the last stage, which is the image. */
function ofImage(keyword: string): readonly string[] {
  const last = INSTRUCTIONS.findLastIndex((instruction) => instruction.keyword === 'FROM');
  return INSTRUCTIONS.slice(last)
    .filter((instruction) => instruction.keyword === keyword)
    .map(({ value }) => value);
}

test('everything that is copied from the folder exists, and .dockerignore lets it through', () => {
  const sources = INSTRUCTIONS.filter(
    ({ keyword, value }) => keyword === 'COPY' && !value.startsWith('--from='),
  ).flatMap(({ value }) => value.split(/\s+/).slice(0, -1));
  expect(sources).toContain('src');
  expect(sources.filter((source) => !existsSync(new URL(source, ROOT)))).toEqual([]);
  const [first, ...exceptions] = read('.dockerignore')
    .split('\n')
    .filter((line) => /^[^#]/.test(line));
  expect(first).toBe('*');
  expect(exceptions.toSorted()).toEqual(
    [...new Set(sources)].map((source) => `!${source}`).toSorted(),
  );
});

test('everything that is copied from a stage comes from one that exists', () => {
  const stages = INSTRUCTIONS.flatMap(({ keyword, value }) =>
    keyword === 'FROM' ? [/ AS (\w+)$/.exec(value)?.[1]] : [],
  );
  const used = INSTRUCTIONS.flatMap(({ value }) => /^--from=(\w+)/.exec(value)?.[1] ?? []);
  expect(used).not.toEqual([]);
  expect(stages).toEqual(expect.arrayContaining(used));
});

test('the image has the Node that package.json asks for', () => {
  const { engines } = z
    .object({ engines: z.object({ node: z.string() }) })
    .parse(JSON.parse(read('package.json')));
  const [, major] = /^NODE_IMAGE=node:(\d+)-/.exec(INSTRUCTIONS[0]?.value ?? '') ?? [];
  expect(engines.node).toBe(`>=${major}`);
});

test('no package needs an install script but the one that brings Node to developers', () => {
  const lock = z
    .object({
      packages: z.record(
        z.string(),
        z.object({ hasInstallScript: z.boolean().optional(), dev: z.boolean().optional() }),
      ),
    })
    .parse(JSON.parse(read('package-lock.json')));
  const scripted = Object.entries(lock.packages).filter(
    ([, one]) => one.hasInstallScript === true && one.dev !== true,
  );
  expect(scripted).toEqual([]);
});

test('the image runs as somebody who is not root, and gets the signals itself', () => {
  expect(ofImage('USER')).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)]);
  expect(ofImage('STOPSIGNAL')).toEqual(['SIGTERM']);
  expect(ofImage('VOLUME')).toEqual(['/data']);
  expect(ofImage('EXPOSE')).toEqual(['10096']);
  const [program, ...words] = EXEC_FORM.parse(JSON.parse(ofImage('ENTRYPOINT')[0] ?? ''));
  const script = words.find((word) => !word.startsWith('--'));
  expect(program).toBe('node');
  expect(existsSync(new URL(`.${script?.replace(/^\/app/, '')}`, ROOT))).toBe(true);
  expect(EXEC_FORM.parse(JSON.parse(ofImage('CMD')[0] ?? ''))).toContain('--storage.path=/data');
});

test('the image knows which revision it is made of, under the name that the exporter reads', () => {
  const [name] = /LIBRARY_\w+/.exec(read('src/cli/run.ts')) ?? [];
  expect(ofImage('ENV').join(' ')).toContain(`${name}=\${REVISION}`);
  expect(ofImage('ARG')).toContain('REVISION=unknown');
});

test.each([
  [200, 0],
  [503, 1],
])('the health check of a daemon that answers %i ends with %i', async (answer, status) => {
  const asked: (string | undefined)[] = [];
  const server = createServer((incoming, outgoing) => {
    asked.push(incoming.url);
    outgoing.writeHead(answer).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  expect(await healthCheck(port)).toBe(status);
  expect(asked).toEqual(['/-/healthy']);
  await new Promise((resolve) => server.close(resolve));
  // Nobody listens there any more.
  expect(await healthCheck(port)).toBe(1);
});

/** Runs the image's own check, at another port. Its exit status. */
async function healthCheck(port: number): Promise<number> {
  const command = /CMD (\[.*\])$/.exec(ofImage('HEALTHCHECK')[0] ?? '')?.[1] ?? '';
  const [, ...args] = EXEC_FORM.parse(JSON.parse(command.replaceAll('10096', String(port))));
  try {
    await promisify(execFile)(process.execPath, args);
    return 0;
  } catch (error) {
    return z.object({ code: z.number() }).parse(error).code;
  }
}
