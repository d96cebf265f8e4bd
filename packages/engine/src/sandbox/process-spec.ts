import {
  BOUNDS,
  commandSchema,
  HearthError,
  parseInput,
  wholePolicy,
  type Command,
  type Policy,
  type spawnOptionsSchema,
} from '@hearth/contract'
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
    ...(options.policy === undefined ? {} : { policy: narrowPolicy(options.policy) }),
  }
}

/** Presets are written out: whoever reads it later, with other presets, allows no more. */
function narrowPolicy(policy: Policy): string {
  if (policy.proxy !== undefined) {
    throw new HearthError('invalid_request', 'policy.proxy: a command has the proxy of its sandbox or none')
  }
  const { audit, allow, deny, budgets } = wholePolicy(policy)
  const text = JSON.stringify({ mode: audit ? 'audit' : 'enforce', allow, deny, budgets })
  if (Buffer.byteLength(text) <= BOUNDS.narrowedPolicyBytes) return text
  throw new HearthError('invalid_request', `the policy of a command has at most ${BOUNDS.narrowedPolicyBytes} bytes`, {
    suggestion: 'Allow fewer names, or a suffix (`*.example.com`) instead of many.',
  })
}
