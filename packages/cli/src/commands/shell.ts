import { HearthError, type Process, type Sandbox } from '@hearth/contract'
import { Hearth } from '@hearth/engine'
import { exitCodeOf, signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { specOf, type SandboxOptions } from '../options/sandbox-options.ts'
import { Progress } from '../output/progress.ts'
import { write } from '../output/write.ts'
import { pumpInput } from './pump-input.ts'

export interface ShellOptions extends SandboxOptions {
  readonly quiet?: boolean
}

const DEFAULT_TIMEOUT_MS = 12 * 3_600_000
const SHELL = ['/bin/sh', '-c', 'command -v bash >/dev/null 2>&1 && exec bash; exec sh']

/** A terminal in a fresh sandbox, destroyed at its end. */
export async function shell(command: readonly string[], options: ShellOptions): Promise<number> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    throw new HearthError('invalid_request', 'shell needs a terminal, and standard input or output is none', {
      suggestion: 'Use `hearth run -- COMMAND` in scripts and pipes.',
    })
  }
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
    { signal: interrupts.signal, progress: (line) => progress.say(line) },
  )
  progress.stop()
  const { id, rung, driver, template } = sandbox.info
  if (options.quiet !== true) process.stderr.write(`${id}: ${rung} (${driver}), template ${template}\n`)
  return sandbox
}

async function attachTerminal(sandbox: Sandbox, command: readonly string[], interrupts: Interrupts): Promise<number> {
  // A terminal that nobody has given a size says zero.
  const size = (): { rows: number; cols: number } => ({
    rows: process.stdout.rows || 24,
    cols: process.stdout.columns || 80,
  })
  const timeoutMs = sandbox.info.limits.wallTimeMs
  const child = await sandbox.spawn([...command], { pty: size(), stdin: 'pipe', timeoutMs, signal: interrupts.signal })
  interrupts.forwardTo(child)
  // A resize that arrives after the end has nobody to tell.
  const resize = (): void => void child.resize(size()).catch(() => undefined)
  process.stdout.on('resize', resize)
  process.stdin.setRawMode(true)
  try {
    void pumpInput(process.stdin, child)
    return await showOutput(child)
  } finally {
    process.stdin.setRawMode(false)
    process.stdin.destroy()
    process.stdout.off('resize', resize)
  }
}

async function showOutput(child: Process): Promise<number> {
  for await (const chunk of child.output) await write(process.stdout, chunk.data)
  return exitCodeOf(await child.wait())
}
