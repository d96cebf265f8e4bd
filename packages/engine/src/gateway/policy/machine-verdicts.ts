import { OWN_HEARTH_NAME, OWN_HEARTH_PORT, type Budgets } from '@hearth/contract'
import type { CompiledPolicy, NameVerdict, Refused, RequestVerdict } from './compiled-policy.ts'
import type { Verdicts } from './narrowed-policy.ts'

/**
 * What a sandbox may reach: what its policy in force says, except for the name of its own Hearth. That one is there where the sandbox has a key
 * of its own, and nowhere else; no policy gives or takes it. What may be done there is for the grant of that key to say.
 */
export class MachineVerdicts implements Verdicts {
  readonly #policy: () => CompiledPolicy
  readonly #ownHearth: boolean

  constructor(policy: () => CompiledPolicy, ownHearth: boolean) {
    this.#policy = policy
    this.#ownHearth = ownHearth
  }

  get budgets(): Budgets {
    return this.#policy().budgets
  }

  ports(name: string): readonly number[] {
    if (name !== OWN_HEARTH_NAME) return this.#policy().ports(name)
    return this.#ownHearth ? [OWN_HEARTH_PORT] : []
  }

  connection(name: string, port: number): NameVerdict {
    if (name !== OWN_HEARTH_NAME) return this.#policy().connection(name, port)
    const refused = this.#refused(port)
    return refused ?? { allowed: true, named: true, inspected: true, addresses: [] }
  }

  request(name: string, port: number, method: string, target: string): RequestVerdict {
    if (name !== OWN_HEARTH_NAME) return this.#policy().request(name, port, method, target)
    return this.#refused(port) ?? { allowed: true, named: true }
  }

  #refused(port: number): Refused | null {
    if (!this.#ownHearth) {
      const message = `${OWN_HEARTH_NAME} is there for sandboxes with a key of their own alone`
      return { allowed: false, refusal: 'name_not_allowed', message }
    }
    if (port === OWN_HEARTH_PORT) return null
    const message = `${OWN_HEARTH_NAME} is at port ${OWN_HEARTH_PORT} alone`
    return { allowed: false, refusal: 'port_not_allowed', message }
  }
}
