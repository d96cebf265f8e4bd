import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Sandbox } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'

/** The keeper of a live sandbox and the command that it started: the options that the floor must be measured with. */
export interface LiveRuntime {
  readonly keeper: number
  readonly pids: readonly number[]
}

export function liveRuntime(hearth: Hearth, sandbox: Sandbox): LiveRuntime {
  const keeper = Number.parseInt(readFileSync(join(hearth.paths.sandboxes, sandbox.id, 'keeper.pid'), 'utf8'), 10)
  return { keeper, pids: descendants(keeper) }
}

/** The argument vector of the first process below the keeper whose program has this name. */
export function commandOf(runtime: LiveRuntime, program: RegExp): { pid: number; argv: string[] } {
  for (const pid of runtime.pids) {
    const argv = argumentsOf(pid)
    if (program.test(basename(argv[0] ?? ''))) return { pid, argv }
  }
  throw new Error(`nothing below the keeper is called ${String(program)}`)
}

export function argumentsOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1)
}

/** Which file an open descriptor is, for `/proc/self/fd/N` in an argument. */
export function descriptorFile(pid: number, descriptor: number): string {
  return readlinkSync(`/proc/${pid}/fd/${descriptor}`)
}

export function descendants(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) => {
    const text = readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8')
    return text.split(' ').filter(Boolean).map(Number)
  })
  return children.flatMap((child) => [child, ...descendants(child)])
}

export function programOf(pid: number): string {
  try {
    return basename(readlinkSync(`/proc/${pid}/exe`))
  } catch {
    // Ended meanwhile, or another user's.
    return ''
  }
}
