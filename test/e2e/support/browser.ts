/** Debian's Chromium, without anything that it would do by itself. */
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { debianProgram } from './processes.ts';

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: debianProgram('/usr/bin/chromium'),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
