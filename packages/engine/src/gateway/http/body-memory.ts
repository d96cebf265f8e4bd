import { HearthError } from '@hearth/contract'
import type { SandboxSecrets } from '../secrets/sandbox-secrets.ts'
import type { HttpLimits } from './limits.ts'
import type { Inbound } from './message.ts'
import { refuse } from './refusal.ts'

/** Counts bytes in before they are taken, and throws when they are too many. */
export type Claim = (bytes: number) => void

interface Held {
  bytes: number
}

/** What something takes of the memory of this process, for one sandbox and for all. */
class Memory {
  readonly #what: string
  readonly #ofSandboxes = new WeakMap<SandboxSecrets, Held>()
  readonly #ofAll: Held = { bytes: 0 }

  constructor(what: string) {
    this.#what = what
  }

  /** From now on to the end of the answer. */
  claim(secrets: SandboxSecrets, { reply }: Inbound, mostOfSandbox: number, mostOfAll: number): Claim {
    const [ofSandbox, ofAll] = [this.#heldOf(secrets), this.#ofAll]
    let held = 0
    return (bytes) => {
      if (reply.sink.destroyed) throw new HearthError('aborted', 'the client has gone')
      if (ofSandbox.bytes + bytes > mostOfSandbox) throw this.#tooMuchOfSandbox(mostOfSandbox)
      if (ofAll.bytes + bytes > mostOfAll) throw this.#tooMuchOfAll()
      if (held === 0) {
        reply.sink.once('close', () => {
          ofSandbox.bytes -= held
          ofAll.bytes -= held
        })
      }
      held += bytes
      ofSandbox.bytes += bytes
      ofAll.bytes += bytes
    }
  }

  #heldOf(secrets: SandboxSecrets): Held {
    const held = this.#ofSandboxes.get(secrets) ?? { bytes: 0 }
    this.#ofSandboxes.set(secrets, held)
    return held
  }

  #tooMuchOfSandbox(most: number): HearthError {
    const message = `${this.#what} may take ${most} bytes of this sandbox at one time`
    return refuse('budget_exhausted', message, 'Wait for the answers to earlier requests, then send this one again.')
  }

  #tooMuchOfAll(): HearthError {
    return new HearthError('host_full', `the gateway holds as many ${this.#what} as it may`, {
      suggestion: 'Send the request again in a moment.',
    })
  }
}

const whole = new Memory('bodies that secrets go into')
const windows = new Memory('bodies that are unpacked')

/** For a body that is read whole, because a secret goes into it. */
export function bodyMemory(secrets: SandboxSecrets, inbound: Inbound, limits: HttpLimits): Claim {
  return whole.claim(secrets, inbound, limits.sandboxBodyBytes, limits.allBodyBytes)
}

/** For what is kept of a body to unpack what follows. */
export function windowMemory(secrets: SandboxSecrets, inbound: Inbound, limits: HttpLimits): Claim {
  return windows.claim(secrets, inbound, limits.sandboxWindowBytes, limits.allWindowBytes)
}
