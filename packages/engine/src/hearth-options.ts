import type { SandboxId } from '@hearth/contract'
import type { GatewayOptions } from './gateway/gateway-options.ts'
import type { OnProblem } from './host/in-background.ts'
import type { PoolOptions } from './pool/pool-options.ts'
import type { Progress } from './templates/template.ts'

export const DEFAULT_SPARE_KEEPERS = 2

/** How a program embeds Hearth. */
export interface HearthOptions extends GatewayOptions {
  /** The directory of all state. Default `HEARTH_HOME` or `~/.hearth`. */
  readonly home?: string
  /** Another guest binary than the built one. */
  readonly guest?: string
  /** Keepers held ready for the next creates, and copies of a snapshot that was just used. Default 2; 0 for a program that makes one sandbox. */
  readonly spareKeepers?: number
  /** Machines that run before anybody asks for them. Default: none, unless `HEARTH_POOL` is `on`. With `HEARTH_POOL=off` there is none in any case. */
  readonly pool?: PoolOptions | false
  /** Told of what fails while nobody waits for it: what is prepared ahead of need, and what is removed afterwards. Default: none. */
  readonly onProblem?: OnProblem
}

/** How `Hearth.create` makes a sandbox. */
export interface CreateOptions {
  /** The identifier of the sandbox. Default: a new one. It must never have been used before. */
  readonly id?: SandboxId
  /** Gives up: what was begun is removed. */
  readonly signal?: AbortSignal
  /** Told what takes long, line by line, for example a template that is built. */
  readonly onProgress?: Progress
  /** It finds its own Hearth by name, where this one has `ownHearth`. Its copies do not. */
  readonly ownHearth?: boolean
}
