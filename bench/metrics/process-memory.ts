import { readFileSync } from 'node:fs'
import type { Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import { liveRuntime } from '../floors/live-runtime.ts'

/** All processes of a sandbox on the host. What several share is divided among them. */
export function wholeKilobytes(hearth: Hearth, sandbox: Sandbox): number {
  const { keeper, pids } = liveRuntime(hearth, sandbox)
  return [keeper, ...pids].reduce((sum, pid) => sum + proportionalKilobytes(pid), 0)
}

export function proportionalKilobytes(pid: number): number {
  try {
    const kibibytes = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1]
    return (Number(kibibytes ?? 0) * 1024) / 1000
  } catch (error) {
    // It ended between the listing and the reading.
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return 0
    throw error
  }
}

/** Of the text of a `/proc/PID/smaps`: what a process has copied of a file that it maps privately. */
export function copiedKilobytes(smaps: string, file: string): number {
  let inside = false
  let kibibytes = 0
  for (const line of smaps.split('\n')) {
    if (/^[0-9a-f]+-[0-9a-f]+ /.test(line)) inside = line.endsWith(` ${file}`)
    else if (inside) kibibytes += Number(/^Anonymous:\s+(\d+) kB$/.exec(line)?.[1] ?? 0)
  }
  return (kibibytes * 1024) / 1000
}
