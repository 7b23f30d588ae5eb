/** Certificates made for one test. Nothing secret is kept in a file of the repository. */
import { generate } from 'selfsigned';
import type { SelfsignedOptions } from 'selfsigned';

/** Both are PEM. */
export interface Certified {
  readonly cert: string;
  readonly key: string;
}

export interface CertificateOptions {
  readonly name: string;
  /** Host names or IPv4 addresses; the name alone if not given. */
  readonly hosts?: readonly string[];
  /** Authority that signs; without one the certificate signs itself. */
  readonly issuer?: Certified;
}

export function makeAuthority(name = 'test authority'): Promise<Certified> {
  return certify(name, { extensions: [{ name: 'basicConstraints', cA: true, critical: true }] });
}

export function makeCertificate(options: CertificateOptions): Promise<Certified> {
  const { name, hosts = [name], issuer } = options;
  const altNames = hosts.map((host) =>
    /^[\d.]+$/.test(host) ? { type: 7 as const, ip: host } : { type: 2 as const, value: host },
  );
  const extensions = [{ name: 'subjectAltName' as const, altNames }];
  return certify(name, { extensions, ...(issuer && { ca: issuer }) });
}

async function certify(name: string, options: SelfsignedOptions): Promise<Certified> {
  const attributes = [{ name: 'commonName', value: name }];
  const ec = { keyType: 'ec', algorithm: 'sha256', ...options } as const;
  const { cert, private: key } = await generate(attributes, ec);
  return { cert, key };
}
