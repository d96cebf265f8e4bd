import type { HearthError } from '@hearth/contract'
import type { RequestVerdict } from '../policy/compiled-policy.ts'
import { refuse } from './refusal.ts'

/** A request from the moment it is allowed to the end of its answer. */
export class RunningRequest implements Disposable {
  readonly method: string
  readonly target: string
  readonly #finish: (request: RunningRequest) => void
  #refusal: HearthError | null = null
  #stop: ((refusal: HearthError) => void) | null = null

  constructor(method: string, target: string, finish: (request: RunningRequest) => void) {
    this.method = method
    this.target = target
    this.#finish = finish
  }

  /** Why it is no longer allowed. */
  get refusal(): HearthError | null {
    return this.#refusal
  }

  throwIfRefused(): void {
    if (this.#refusal !== null) throw this.#refusal
  }

  /** What ends it when it is no longer allowed: called at most once, and at once when that is known already. */
  stopWith(stop: (refusal: HearthError) => void): void {
    if (this.#refusal === null) this.#stop = stop
    else stop(this.#refusal)
  }

  refuse(refusal: HearthError): void {
    if (this.#refusal !== null) return
    this.#refusal = refusal
    this.#stop?.(refusal)
  }

  [Symbol.dispose](): void {
    this.#stop = null
    this.#finish(this)
  }
}

/** The requests of one connection that are under way, so that a change of the policy reaches them. */
export class RunningRequests {
  readonly #running = new Set<RunningRequest>()

  begin({ method, target }: { readonly method: string; readonly target: string }): RunningRequest {
    const request = new RunningRequest(method, target, (finished) => void this.#running.delete(finished))
    this.#running.add(request)
    return request
  }

  /** Ends those that are not allowed any more. */
  judge(verdictOf: (method: string, target: string) => RequestVerdict): void {
    for (const request of this.#running) {
      const verdict = verdictOf(request.method, request.target)
      if (!verdict.allowed) request.refuse(refuse(verdict.refusal, verdict.message))
    }
  }
}
