import { collectOutput } from '@hearth/engine/output'
import { HearthError, type Process, type RemoteSandbox, type SpawnOptions } from '@hearth/sdk'
import { exitCodeOf, signalNumber } from '../exit-codes.ts'
import { Interrupts } from '../interrupts.ts'
import { policyOf, type PolicyOptions } from '../options/policy-options.ts'
import { withoutUndefined } from '../options/sandbox-options.ts'
import { resultJson } from '../output/exec-result.ts'
import { presentOne } from '../output/present.ts'
import { writeJson } from '../output/write.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'
import { showRemoteTerminal } from '../terminal/remote-terminal.ts'
import { assertTerminal, terminalSize } from '../terminal/terminal.ts'
import { pumpInput } from './pump-input.ts'
import { streamOutput } from './stream-output.ts'

export interface ExecOptions extends ServerOptions, PolicyOptions {
  readonly interactive?: boolean
  readonly tty?: boolean
  readonly detach?: boolean
  readonly env?: Readonly<Record<string, string>>
  readonly workdir?: string
  readonly user?: string
  readonly timeout?: number
  /** What the record calls it. */
  readonly step?: string
}

/** A command in a sandbox of the server. Returns the exit code of this program. */
export async function exec(name: string, command: readonly string[], options: ExecOptions): Promise<number> {
  checkCombination(options)
  using interrupts = new Interrupts()
  try {
    return await withServer(options, async (hearth) => {
      const sandbox = await findSandbox(hearth, name, interrupts.signal)
      const child = await sandbox.spawn([...command], { ...spawnOptions(options), signal: interrupts.signal })
      if (options.detach === true) return await leaveRunning(sandbox, child, options)
      if (options.tty === true && options.interactive === true) return await showRemoteTerminal(sandbox.id, child)
      interrupts.forwardTo(child)
      if (options.interactive === true) void pumpInput(process.stdin, child)
      return await finish(sandbox, child, options)
    })
  } catch (error) {
    // A person's own interrupt is no failure of Hearth, whatever it broke.
    if (interrupts.received !== null) return 128 + signalNumber(interrupts.received)
    throw error
  } finally {
    process.stdin.destroy()
  }
}

function checkCombination(options: ExecOptions): void {
  const { detach, interactive, tty, json } = options
  if (detach === true && interactive === true) throw refused('--detach', '--interactive')
  if (tty === true && json === true) throw refused('--tty', '--json')
  if (tty === true && interactive === true) assertTerminal('exec -i -t', 'Leave -t out in scripts and pipes.')
}

function refused(one: string, other: string): HearthError {
  return new HearthError('invalid_request', `${one} and ${other} exclude each other`)
}

/** What a command on a server is started with. */
export function terminalEnvironment(options: ExecOptions): SpawnOptions {
  return spawnOptions({ ...options, env: { TERM: process.env['TERM'] ?? 'xterm', ...options.env } })
}

function spawnOptions(options: ExecOptions): SpawnOptions {
  const { env, workdir: cwd, user, timeout: timeoutMs, step } = options
  const common = withoutUndefined({ env, cwd, user, timeoutMs, step, policy: policyOf(options) })
  const stdin = options.interactive === true ? 'pipe' : 'none'
  if (options.tty !== true) return { ...common, stdin }
  return { ...common, stdin, env: { TERM: process.env['TERM'] ?? 'xterm', ...env }, pty: terminalSize() }
}

async function finish(sandbox: RemoteSandbox, child: Process, options: ExecOptions): Promise<number> {
  if (options.json !== true) return await streamOutput(child)
  const result = await collectOutput(child, sandbox.info.limits.outputBytes)
  await writeJson(resultJson(sandbox.info, result))
  return exitCodeOf(result)
}

async function leaveRunning(sandbox: RemoteSandbox, child: Process, options: ExecOptions): Promise<number> {
  await child.detach()
  const json = { sandbox: sandbox.id, process: child.id, pid: child.pid }
  await presentOne(options, { id: String(child.id), json, people: () => `${child.id}\n` })
  return 0
}
