import { canonicalJson } from '@hearth/contract'
import type { EmbeddedSandbox } from '@hearth/engine'
import type { SandboxRecord } from '../state/index.ts'

/** A change that a crash came between is in the engine and not in the row: nobody was told of it, so it is taken back. */
export async function agreeOnPolicy(machine: EmbeddedSandbox, { spec }: SandboxRecord): Promise<void> {
  const { policy = {} } = spec
  if (canonicalJson(machine.record.network.policy) !== canonicalJson(policy)) await machine.setPolicy(policy)
}
