/** Older ones fail `ls -l` of current distributions, and cannot checkpoint a sandbox that goes on running. */
export const OLDEST_RUNSC = 20_240_729

/** Releases are named by their date: `release-20240729.0`, or `0.0~20240729.0` in Debian. Null for a build of one's own. */
export function runscDate(version: string): number | null {
  const date = /(?:^|\D)(20\d{6})(?:\D|$)/.exec(version)?.[1]
  return date === undefined ? null : Number(date)
}
