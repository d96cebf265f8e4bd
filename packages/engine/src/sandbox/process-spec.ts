import { commandSchema, parseInput, type Command, type spawnOptionsSchema } from '@hearth/contract'
import type { z } from 'zod'
import type { ProcessSpec } from '../machine/machine.ts'

/** A command as a machine takes it, with all that was left open. */
export function processSpec(command: Command, options: z.output<typeof spawnOptionsSchema>): ProcessSpec {
  return {
    command: parseInput(commandSchema, command, 'command'),
    env: options.env ?? {},
    cwd: options.cwd ?? null,
    user: options.user ?? null,
    timeoutMs: options.timeoutMs ?? 0,
    pty: options.pty ?? null,
    stdin: options.stdin ?? 'none',
    mergeOutput: options.mergeOutput ?? false,
  }
}
