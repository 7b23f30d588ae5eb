/** Who may read a file that holds a secret. Must not know what the secret is. */

/** Whether more than its owner may read a file of this mode. */
export function isReadableByOthers(mode: number): boolean {
  return (mode & 0o044) !== 0;
}

/** Completes a sentence that begins with the file. */
export const READABLE_BY_OTHERS =
  'can be read by its group or by others: chmod it to 600 or 400' as const;
