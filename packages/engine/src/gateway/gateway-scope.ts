import type { Policy } from '@hearth/contract'
import type { Messages } from '../link/messages.gen.ts'
import { Budget } from './budget.ts'
import { CompiledPolicy, type Refused } from './policy/compiled-policy.ts'
import { MachineVerdicts } from './policy/machine-verdicts.ts'
import { NarrowedPolicy, type Verdicts } from './policy/narrowed-policy.ts'

/** A network of a sandbox: that of the machine, or that of one command which has a narrower policy. */
export class GatewayScope {
  readonly verdicts: Verdicts
  /** What was said of names that have an address; as many as those. */
  readonly found = new Map<string, Messages['Address']>()
  readonly #command: CompiledPolicy | null
  readonly #budget = new Budget()

  private constructor(verdicts: Verdicts, command: CompiledPolicy | null) {
    this.verdicts = verdicts
    this.#command = command
  }

  static ofMachine(policy: () => CompiledPolicy, ownHearth: boolean): GatewayScope {
    return new GatewayScope(new MachineVerdicts(policy, ownHearth), null)
  }

  static ofCommand(machine: GatewayScope, policy: CompiledPolicy): GatewayScope {
    return new GatewayScope(new NarrowedPolicy(() => machine.verdicts, policy), policy)
  }

  /** Counts a connection in; or says why there may be no other one. */
  begin(): Refused | null {
    return this.#command === null ? null : this.#budget.begin(this.#command.budgets)
  }

  end(): void {
    if (this.#command !== null) this.#budget.end()
  }

  sent(bytes: number): void {
    this.#budget.sent(bytes)
  }

  received(bytes: number): void {
    this.#budget.received(bytes)
  }

  /** Whether more bytes have passed than its own policy lets. */
  spent(): Refused | null {
    return this.#command === null ? null : this.#budget.spent(this.#command.budgets)
  }
}

/** A policy that came back from a guest. What cannot be read allows nothing. */
export function policyFromGuest(text: string): CompiledPolicy {
  try {
    return new CompiledPolicy(JSON.parse(text) as Policy)
  } catch {
    return new CompiledPolicy({})
  }
}
