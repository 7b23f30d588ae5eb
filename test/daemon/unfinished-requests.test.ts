/** Clients that begin a request and do not end it. Not among the unit tests, because it waits 6 s for limits of Node.js. */
import { expect, test } from 'vitest';
import { makeCertificate } from '../support/certificates.ts';
import { connected, protectedServer, tlsWith } from '../web/protected.ts';

test('an unfinished request or handshake is ended, whether it stalls or goes on slowly', async () => {
  const plain = await protectedServer({});
  const certificate = await makeCertificate({ name: 'x' });
  const secured = await protectedServer({ tls: tlsWith(certificate) });
  /** What is received for a request that begins so, and goes on with `more` every 100 ms. */
  async function unfinished(beginning: string, more = '', { url } = plain): Promise<string> {
    const { socket, ended } = await connected(url);
    socket.write(beginning, 'latin1');
    const writing = setInterval(() => socket.write(more), 100);
    const received = await ended;
    clearInterval(writing);
    return received;
  }
  const [handshake, ...refused] = await Promise.all([
    unfinished('\x16\x03\x01\x02', '', secured),
    unfinished(''),
    unfinished('GET /met'),
    unfinished('GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'x'),
  ]);
  expect(handshake).toBe('');
  for (const received of refused) {
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
  }
}, 30_000);
