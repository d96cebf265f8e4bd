import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'

const SETTINGS = ['kernel/core_pattern', 'kernel/panic', 'kernel/domainname', 'vm/overcommit_memory', 'kernel/modprobe']

/** What a sandbox with rights over the host's kernel could have changed. */
export function hostState(): Readonly<Record<string, unknown>> {
  const settings = SETTINGS.map((name) => `/proc/sys/${name}`).filter((path) => existsSync(path))
  return {
    hostname: hostname(),
    settings: settings.map((path) => readFileSync(path, 'utf8')),
    modules: existsSync('/sys/module') ? readdirSync('/sys/module').length : 0,
    swaps: readFileSync('/proc/swaps', 'utf8'),
    devices: readdirSync('/dev').filter((name) => !/^(loop|tty|pts|vcs|shm)/.test(name)),
  }
}
