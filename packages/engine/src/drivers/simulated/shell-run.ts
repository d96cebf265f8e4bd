import type { Command, Limits } from '@hearth/contract'
import { Bash, defineCommand } from 'just-bash'
import type { MachineNetwork } from '../../machine/machine.ts'
import { gatewayFetch } from './gateway-fetch.ts'
import type { MemoryTree } from './memory-tree.ts'
import type { OutputLog } from './output-log.ts'
import { RedirectOutput } from './redirect-output.ts'
import { ShellFileSystem, type StreamSink } from './shell-file-system.ts'
import { executionLimits } from './simulated-limits.ts'

/** What all runs in one machine share. */
export interface ShellSettings {
  readonly tree: MemoryTree
  readonly limits: Limits
  readonly hostname: string
  readonly environment: Readonly<Record<string, string>>
  readonly interpreters: boolean
  /** Absent when nothing can be reached. */
  readonly network?: MachineNetwork
}

export interface ShellInvocation {
  readonly id: number
  readonly command: Command
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string
  readonly stdin: Uint8Array
  readonly timeoutMs: number
  readonly mergeOutput: boolean
  /** Its own network, when it has one. */
  readonly narrowed: boolean
  readonly signal: AbortSignal
}

const NO_CURL = defineCommand('curl', async () => ({
  stdout: '',
  stderr: 'curl: (6) nothing can be reached from this sandbox: its policy allows no name\n',
  exitCode: 6,
}))

/** Runs one command to its end, writing its output as it comes, and gives its exit code. */
export async function runShell(settings: ShellSettings, invocation: ShellInvocation, log: OutputLog): Promise<number> {
  const errorStream = invocation.mergeOutput ? 'stdout' : 'stderr'
  // Names that no file can have: a component longer than the file system allows.
  const directory = `/dev/${'-'.repeat(300)}${invocation.id}`
  const sinks = new Map<string, StreamSink>([
    [`${directory}/1`, async (bytes) => await log.write('stdout', bytes)],
    [`${directory}/2`, async (bytes) => await log.write(errorStream, bytes)],
  ])
  const shell = new Bash({
    fs: new ShellFileSystem(settings.tree, sinks),
    cwd: invocation.cwd,
    env: { ...settings.environment, HOSTNAME: settings.hostname, ...invocation.env },
    executionLimits: executionLimits(settings.limits, invocation.timeoutMs),
    processInfo: { pid: invocation.id + 1, ppid: 1, uid: 1000, gid: 1000 },
    ...(settings.network === undefined
      ? {}
      : { fetch: gatewayFetch(settings.network, invocation.id, invocation.narrowed ? invocation.id : 0) }),
    python: settings.interpreters,
    javascript: settings.interpreters,
    customCommands: [
      ...(settings.network === undefined ? [NO_CURL] : []),
      defineCommand('hostname', async () => ({ stdout: `${settings.hostname}\n`, stderr: '', exitCode: 0 })),
    ],
  })
  shell.registerTransformPlugin(new RedirectOutput(`${directory}/1`, `${directory}/2`))
  const script = typeof invocation.command === 'string' ? invocation.command : invocation.command.map(quote).join(' ')
  const result = await shell.exec(script, {
    rawScript: true,
    stdin: Buffer.from(invocation.stdin).toString('latin1'),
    stdinKind: 'bytes',
    signal: invocation.signal,
  })
  if (!invocation.signal.aborted) {
    await log.write('stdout', Buffer.from(result.stdout))
    await log.write(errorStream, Buffer.from(result.stderr))
  }
  return result.exitCode
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`
}
