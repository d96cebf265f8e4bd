import { isNetworkWithin, type Budgets } from '@hearth/contract'
import type { CompiledPolicy, NameVerdict, RequestVerdict } from './compiled-policy.ts'

/** What answers for a connection: the policy of a sandbox, or that together with a narrower one of a command. */
export type Verdicts = Pick<CompiledPolicy, 'ports' | 'connection' | 'request' | 'budgets'>

/** What both policies allow. A command's own can only take away: what it names beyond the sandbox's stays refused. */
export class NarrowedPolicy implements Verdicts {
  readonly #sandbox: () => Verdicts
  readonly #command: CompiledPolicy

  /** The sandbox's may change meanwhile. */
  constructor(sandbox: () => Verdicts, command: CompiledPolicy) {
    this.#sandbox = sandbox
    this.#command = command
  }

  /** Of the sandbox; those of the command are counted for itself. */
  get budgets(): Budgets {
    return this.#sandbox().budgets
  }

  ports(name: string): readonly number[] {
    return this.#sandbox()
      .ports(name)
      .filter((port) => this.#command.connection(name, port).allowed)
  }

  connection(name: string, port: number): NameVerdict {
    const wide = this.#sandbox().connection(name, port)
    if (!wide.allowed) return wide
    const narrow = this.#command.connection(name, port)
    if (!narrow.allowed) return ofCommand(narrow)
    return {
      allowed: true,
      named: wide.named && narrow.named,
      inspected: wide.inspected || narrow.inspected,
      addresses: commonAddresses(wide.addresses, narrow.addresses),
    }
  }

  request(name: string, port: number, method: string, target: string): RequestVerdict {
    const wide = this.#sandbox().request(name, port, method, target)
    if (!wide.allowed) return wide
    const narrow = this.#command.request(name, port, method, target)
    return narrow.allowed ? { allowed: true, named: wide.named && narrow.named } : ofCommand(narrow)
  }
}

/** A command that names no addresses leaves those of its sandbox as they are. */
function commonAddresses(wide: readonly string[], narrow: readonly string[]): readonly string[] {
  if (narrow.length === 0) return wide
  const inBoth = (some: readonly string[], others: readonly string[]): string[] =>
    some.filter((network) => others.some((other) => isNetworkWithin(network, other)))
  return [...new Set([...inBoth(wide, narrow), ...inBoth(narrow, wide)])]
}

function ofCommand<Verdict extends { readonly message: string }>(refused: Verdict): Verdict {
  return { ...refused, message: refused.message.replace(/^the policy\b/, 'the policy of this command') }
}
