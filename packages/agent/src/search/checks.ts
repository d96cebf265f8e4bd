import { inParallel } from './in-parallel.ts'
import type { Judge, Verdict } from './search-types.ts'

/** A judge of commands: each is a check of its own, and passes when it ends with 0. One after the other, in the order given. */
export function checks(
  commands: Readonly<Record<string, string>>,
  options: { readonly timeoutMs?: number } = {},
): Judge {
  return async (fork, workdir) => {
    const timeoutMs = options.timeoutMs ?? fork.info.limits.wallTimeMs
    const results = await inParallel(Object.entries(commands), 1, async ([name, command]) => {
      const { exitCode } = await fork.exec(command, { cwd: workdir, timeoutMs })
      return [name, exitCode === 0] as const
    })
    return Object.fromEntries(results) satisfies Verdict
  }
}
