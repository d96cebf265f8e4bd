import type { Judge, Verdict } from './search-types.ts'

export interface CheckOptions {
  /** Of each command. Default: what the limits of the sandbox allow. */
  readonly timeoutMs?: number
  /** Whether each has a copy of its own, so that what one leaves behind no other sees. Default true. */
  readonly apart?: boolean
}

/** A judge of commands: each is a check of its own, and passes when it ends with 0 in its time. What it prints counts for nothing. */
export function checks(commands: Readonly<Record<string, string>>, options: CheckOptions = {}): Judge {
  const entries = Object.entries(commands)
  return async (fork, workdir, { apart }) => {
    const timeoutMs = options.timeoutMs ?? fork.info.limits.wallTimeMs
    const passes = async (machine: typeof fork, command: string): Promise<boolean> => {
      const { exitCode, timedOut } = await machine.exec(command, { cwd: workdir, timeoutMs })
      return exitCode === 0 && !timedOut
    }
    const verdict: Record<string, boolean> = {}
    for (const [index, [name, command]] of entries.entries()) {
      const own = index === 0 || options.apart === false
      verdict[name] = own ? await passes(fork, command) : await apart(async (copy) => await passes(copy, command))
    }
    return verdict satisfies Verdict
  }
}
