import type { Sandbox } from '@hearth/contract'
import { collectOutput, Hearth } from '@hearth/engine'
import { exitCodeOf, signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { specOf, type SandboxOptions } from '../options/sandbox-options.ts'
import { resultJson } from '../output/exec-result.ts'
import { Progress } from '../output/progress.ts'
import { writeJson } from '../output/write.ts'
import { pumpInput } from './pump-input.ts'
import { streamOutput } from './stream-output.ts'

export interface RunOptions extends SandboxOptions {
  readonly json?: boolean
  readonly quiet?: boolean
}

const DEFAULT_TIMEOUT_MS = 10 * 60_000

/** Runs one command in a fresh sandbox and destroys it. Returns the exit code of this program. */
export async function run(command: readonly string[], options: RunOptions): Promise<number> {
  using interrupts = new Interrupts()
  await using hearth = new Hearth({ spareKeepers: 0 })
  try {
    await using sandbox = await createSandbox(hearth, options, interrupts)
    return await runIn(sandbox, command, options, interrupts)
  } catch (error) {
    // A person's own interrupt is no failure of Hearth, whatever it broke.
    if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
    throw error
  }
}

async function createSandbox(hearth: Hearth, options: RunOptions, interrupts: Interrupts): Promise<Sandbox> {
  using progress = new Progress(options.quiet === true)
  return await hearth.create(specOf(options, DEFAULT_TIMEOUT_MS), {
    signal: interrupts.signal,
    onProgress: (line) => progress.say(line),
  })
}

async function runIn(
  sandbox: Sandbox,
  command: readonly string[],
  options: RunOptions,
  interrupts: Interrupts,
): Promise<number> {
  const timeoutMs = sandbox.info.limits.wallTimeMs
  const child = await sandbox.spawn([...command], { stdin: 'pipe', timeoutMs, signal: interrupts.signal })
  interrupts.forwardTo(child)
  void pumpInput(process.stdin, child)
  try {
    if (options.json !== true) return await streamOutput(child)
    const result = await collectOutput(child, sandbox.info.limits.outputBytes)
    await writeJson(resultJson(sandbox.info, result))
    return exitCodeOf(result)
  } finally {
    process.stdin.destroy()
  }
}
