/** What a server or a sandbox may make this machine write, unless more is allowed. */
export const DEFAULT_MOST_BYTES = 16 * 1024 ** 3
