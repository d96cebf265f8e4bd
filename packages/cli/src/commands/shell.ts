import type { Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { specOf, type SandboxOptions } from '../options/sandbox-options.ts'
import { Progress } from '../output/progress.ts'
import { SHELL } from '../terminal/shell-command.ts'
import { assertTerminal, showTerminal, terminalSize } from '../terminal/terminal.ts'
import { pumpInput } from './pump-input.ts'

export interface ShellOptions extends SandboxOptions {
  readonly quiet?: boolean
}

const DEFAULT_TIMEOUT_MS = 12 * 3_600_000

/** A terminal in a fresh sandbox, destroyed at its end. */
export async function shell(command: readonly string[], options: ShellOptions): Promise<number> {
  assertTerminal('shell', 'Use `hearth run -- COMMAND` in scripts and pipes.')
  using interrupts = new Interrupts()
  await using hearth = new Hearth({ spareKeepers: 0 })
  try {
    await using sandbox = await createSandbox(hearth, options, interrupts)
    return await attachTerminal(sandbox, command.length > 0 ? command : SHELL, interrupts)
  } catch (error) {
    if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
    throw error
  }
}

async function createSandbox(hearth: Hearth, options: ShellOptions, interrupts: Interrupts): Promise<Sandbox> {
  using progress = new Progress(options.quiet === true)
  const spec = specOf(options, DEFAULT_TIMEOUT_MS)
  const term = process.env['TERM'] ?? 'xterm'
  const sandbox = await hearth.create(
    { ...spec, env: { TERM: term, ...spec.env } },
    { signal: interrupts.signal, onProgress: (line) => progress.say(line) },
  )
  progress.stop()
  const { id, rung, driver, template } = sandbox.info
  if (options.quiet !== true) process.stderr.write(`${id}: ${rung} (${driver}), template ${template}\n`)
  return sandbox
}

async function attachTerminal(sandbox: Sandbox, command: readonly string[], interrupts: Interrupts): Promise<number> {
  const timeoutMs = sandbox.info.limits.wallTimeMs
  const pty = terminalSize()
  const child = await sandbox.spawn([...command], { pty, stdin: 'pipe', timeoutMs, signal: interrupts.signal })
  interrupts.forwardTo(child)
  return await showTerminal(child, (keys) => void pumpInput(keys, child))
}
