import { HearthError } from '@hearth/contract'
import type { SandboxSecrets } from '../secrets/sandbox-secrets.ts'
import type { HttpLimits } from './limits.ts'
import type { Inbound } from './message.ts'
import { refuse } from './refusal.ts'

/** Bytes of bodies that are read whole, because a secret goes into them, of one sandbox and of all. */
interface Held {
  bytes: number
}

const ofSandboxes = new WeakMap<SandboxSecrets, Held>()
const ofAll: Held = { bytes: 0 }

/**
 * Counts what is held of a request's body, from now until its answer is over. It throws when that would be too much for the sandbox, or for
 * this process.
 */
export function bodyMemory(secrets: SandboxSecrets, { reply }: Inbound, limits: HttpLimits): (bytes: number) => void {
  const ofSandbox = heldOf(secrets)
  let held = 0
  return (bytes) => {
    if (reply.sink.destroyed) throw new HearthError('aborted', 'the client has gone')
    if (ofSandbox.bytes + bytes > limits.sandboxBodyBytes) throw tooMuchOfSandbox(limits.sandboxBodyBytes)
    if (ofAll.bytes + bytes > limits.allBodyBytes) throw tooMuchOfAll()
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

function heldOf(secrets: SandboxSecrets): Held {
  const held = ofSandboxes.get(secrets) ?? { bytes: 0 }
  ofSandboxes.set(secrets, held)
  return held
}

function tooMuchOfSandbox(most: number): HearthError {
  const message = `bodies that secrets go into may take ${most} bytes of this sandbox at one time`
  return refuse('budget_exhausted', message, 'Wait for the answers to earlier requests, then send this one again.')
}

function tooMuchOfAll(): HearthError {
  return new HearthError('host_full', 'the gateway holds as many bodies that secrets go into as it may', {
    suggestion: 'Send the request again in a moment.',
  })
}
