import type { EmbeddedSandbox } from '@hearth/engine'
import type { SandboxRecord } from '../state/index.ts'

/** The lifetime of a machine counts from when it runs; that of one under a grant from when it was asked for, which the grant has allowed. */
export async function settleDeadline({ holder, expiresAt }: SandboxRecord, machine: EmbeddedSandbox): Promise<number> {
  const { expiresAt: own } = machine.info
  if (holder === null || expiresAt === null || own.getTime() <= expiresAt) return own.getTime()
  await machine.expireAt(new Date(expiresAt))
  return expiresAt
}
