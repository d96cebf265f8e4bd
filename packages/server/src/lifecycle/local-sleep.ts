import { parseInput, sleepOptionsSchema, type SandboxView, type SleepOptions } from '@hearth/contract'
import type { Caller, SleepControl } from '../control-plane.ts'
import type { Context } from './context.ts'
import { findLive } from './finding.ts'
import { hibernateSandbox, wakeSandbox } from './hibernating.ts'
import { requireAlive, toView } from './view.ts'
import { wakeInTurn } from './waking.ts'

/** How sandboxes of this host are hibernated and woken by name; any use of one wakes it too. */
export class LocalSleep implements SleepControl {
  readonly #context: Context
  readonly #requireOpen: () => void

  constructor(context: Context, requireOpen: () => void) {
    this.#context = context
    this.#requireOpen = requireOpen
  }

  async hibernate(caller: Caller, id: string, options: SleepOptions): Promise<SandboxView> {
    this.#requireOpen()
    const { memory } = parseInput(sleepOptionsSchema, options, 'request')
    const live = await findLive(this.#context, caller, id)
    return await live.inTurn(async () => {
      await hibernateSandbox(this.#context, live, 'request', memory)
      return toView(live.record)
    })
  }

  async wake(caller: Caller, id: string, options: SleepOptions): Promise<SandboxView> {
    this.#requireOpen()
    const { memory } = parseInput(sleepOptionsSchema, options, 'request')
    const live = await findLive(this.#context, caller, id)
    return await live.inTurn(async () => {
      requireAlive(live.record)
      if (live.record.state === 'hibernated') await wakeSandbox(this.#context, live, memory)
      else await wakeInTurn(this.#context, live)
      return toView(live.record)
    })
  }
}
