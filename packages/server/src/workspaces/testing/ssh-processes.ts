// For tests: what speaks to servers of git for a home, and what it was told.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename } from 'node:path'

export interface Speaking {
  readonly program: string
  /** Its arguments and its environment. */
  readonly told: string
}

export function speakingFor(home: string): Speaking[] {
  return readdirSync('/proc')
    .filter((pid) => /^\d+$/.test(pid))
    .flatMap((pid) => {
      try {
        if (!readlinkSync(`/proc/${pid}/cwd`).startsWith(home)) return []
        const told = ['cmdline', 'environ'].map((name) => readFileSync(`/proc/${pid}/${name}`, 'utf8')).join('\0')
        return [{ program: basename(readlinkSync(`/proc/${pid}/exe`)), told }]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
    .filter(({ program }) => /^(git|ssh)/.test(program))
}
