import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** Where Hearth keeps its state and finds its parts. */
export interface HostPaths {
  /** All state. `HEARTH_HOME`, default `~/.hearth`. */
  readonly home: string
  readonly sandboxes: string
  /** As `sandboxes`: machines that are nobody's yet. One becomes a sandbox by moving there. */
  readonly pool: string
  readonly templates: string
  /** Where writable layers live: a btrfs with quotas when the set-up made one, else a plain directory. */
  readonly store: string
  readonly cache: string
  /** The static guest binary, which is the keeper too. `HEARTH_GUEST`, default the one built in `guest/build`. */
  readonly guest: string
}

export function hostPaths(environment: NodeJS.ProcessEnv = process.env): HostPaths {
  const home = resolve(environment['HEARTH_HOME'] ?? join(homedir(), '.hearth'))
  return {
    home,
    sandboxes: join(home, 'sandboxes'),
    pool: join(home, 'pool'),
    templates: join(home, 'templates'),
    store: join(home, 'store'),
    cache: join(home, 'cache'),
    guest: resolve(environment['HEARTH_GUEST'] ?? join(import.meta.dirname, '../../../../guest/build/hearth-guest')),
  }
}
