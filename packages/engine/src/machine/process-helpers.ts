// For tests of processes: a spec with defaults, and all that a process says.
import type { Process } from '@hearth/contract'
import type { ProcessSpec } from './machine.ts'

export function spec(command: ProcessSpec['command'], more: Partial<ProcessSpec> = {}): ProcessSpec {
  return {
    command,
    env: {},
    cwd: null,
    user: null,
    timeoutMs: 20_000,
    pty: null,
    stdin: 'none',
    mergeOutput: false,
    ...more,
  }
}

interface Collected {
  stdout: string
  stderr: string
}

export async function collect(process: Process): Promise<Collected> {
  const streams = { stdout: [] as Uint8Array[], stderr: [] as Uint8Array[] }
  for await (const chunk of process.output) streams[chunk.stream].push(chunk.data)
  return { stdout: Buffer.concat(streams.stdout).toString(), stderr: Buffer.concat(streams.stderr).toString() }
}
