/**
 * The longest command and the longest cell of sandboxes that other vendors' clients make: there a call's own time limit ends what it runs, the client's
 * patience, or the end of the sandbox, and nothing that it was not told of.
 */
export const LONGEST_COMMAND_MS = 7 * 24 * 3_600_000
