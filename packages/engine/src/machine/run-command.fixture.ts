import { BOUNDS, type Command } from '@hearth/contract'
import { collectOutput } from '../sandbox/collect-output.ts'
import type { Machine } from './machine.ts'

/** What a command in a machine says, both streams together. */
export async function runCommand(machine: Machine, command: Command): Promise<string> {
  return (await executeIn(machine, command)).stdout
}

/** How a command in a machine ends, with both streams together. */
export async function executeIn(machine: Machine, command: Command): ReturnType<typeof collectOutput> {
  const spec = {
    command,
    env: {},
    cwd: null,
    user: null,
    timeoutMs: 30_000,
    pty: null,
    stdin: 'none',
    mergeOutput: true,
  } as const
  return await collectOutput(await machine.spawn(spec), BOUNDS.frameBytes)
}
