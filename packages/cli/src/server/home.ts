import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

/** Where all state lies. The engine says the same; asking it would load all of it. */
export function hearthHome(): string {
  return resolve(process.env['HEARTH_HOME'] ?? join(homedir(), '.hearth'))
}

/** The first key that a server made. */
export function keyFile(): string {
  return join(hearthHome(), 'key')
}
