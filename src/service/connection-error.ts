/** What the codes of Node's network errors mean to an operator. Pure. */
import { ServiceError } from '../base/errors.ts';

const MEANINGS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'the connection was refused'],
  ['ECONNRESET', 'the connection was cut off'],
  ['EPIPE', 'the connection was cut off'],
  ['ERR_HTTP_CONTENT_LENGTH_MISMATCH', 'the answer was cut off'],
  ['ENOTFOUND', 'the host name is not known'],
  ['EAI_AGAIN', 'the host name could not be looked up'],
  ['ERR_PROXY_TUNNEL', 'the proxy refused to connect'],
]);

/**
 * `unreachable`, or `malformed` where the answer was no HTTP. `status` is that of the head, if one
 * came. Nothing of the error but its code is shown: its message may hold what was sent.
 */
export function connectionError(
  rawCode: unknown,
  title: string,
  status: number | undefined,
): ServiceError {
  const code = typeof rawCode === 'string' && /^[A-Z0-9_]+$/.test(rawCode) ? rawCode : 'no code';
  const meaning = MEANINGS.get(code);
  const details = status === undefined ? {} : { status };
  if (meaning === undefined && code.startsWith('HPE_')) {
    return new ServiceError('malformed', `${title}: the answer is not HTTP (${code})`, details);
  }
  const tls = /CERT|TLS|SSL|EPROTO|SIGNATURE/.test(code)
    ? 'TLS failed; an authority of your own belongs into ca_file'
    : 'the connection failed';
  return new ServiceError('unreachable', `${title}: ${meaning ?? tls} (${code})`, details);
}
