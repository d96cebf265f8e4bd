import type { Policy, PolicyView } from '@hearth/contract'
import { effectivePolicy } from '@hearth/engine/policy'
import type { Caller, PolicyControl } from '../control-plane.ts'
import type { SandboxRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { findLive, findRecord } from './finding.ts'
import type { LiveSandbox } from './live-sandbox.ts'
import { agreeOnPolicy } from './policy-agreement.ts'
import { renewSecret } from './renew-secret.ts'
import { eventOf } from './transitions.ts'
import { wakeInTurn } from './waking.ts'
import { requirePolicyWithin } from './within-grant.ts'

/** What the sandboxes of this host may reach. The row is what counts; a machine that is taken up again gets what the row says. */
export class LocalPolicies implements PolicyControl {
  readonly #context: Context
  readonly #requireOpen: () => void

  constructor(context: Context, requireOpen: () => void) {
    this.#context = context
    this.#requireOpen = requireOpen
  }

  async get(caller: Caller, id: string): Promise<PolicyView> {
    this.#requireOpen()
    return policyView(await findRecord(this.#context, caller, id))
  }

  async set(caller: Caller, id: string, policy: Policy): Promise<PolicyView> {
    this.#requireOpen()
    // Refused before anything changes.
    effectivePolicy(policy)
    requirePolicyWithin(caller, policy)
    const live = await findLive(this.#context, caller, id)
    using _used = live.use()
    return await live.inTurn(async () => {
      const machine = await wakeInTurn(this.#context, live)
      await machine.setPolicy(policy)
      try {
        live.record = await this.#write(live, policy, caller)
      } catch (error) {
        await agreeOnPolicy(machine, live.record)
        throw error
      }
      return policyView(live.record)
    })
  }

  async secretChanged(tenantId: string, secret: string): Promise<void> {
    await renewSecret(this.#context, tenantId, secret)
  }

  async #write({ record }: LiveSandbox, policy: Policy, { requestId }: Caller): Promise<SandboxRecord> {
    return await this.#context.store.transaction(async (session) => {
      const changed = await session.sandboxes.update(record, { spec: { ...record.spec, policy } })
      await session.events.append(eventOf(changed, 'policy.changed', { policy, request: requestId }))
      return changed
    })
  }
}

function policyView({ spec }: SandboxRecord): PolicyView {
  const { policy = {}, secrets = [] } = spec
  return { policy, effective: effectivePolicy(policy), secrets: [...secrets] }
}
