import { setTimeout as sleep } from 'node:timers/promises'
import { HearthError, type CreateSandbox, type Scope } from '@hearth/contract'
import type { Hearth } from '@hearth/engine'
import type { Logger } from 'pino'
import { requireAllowedTemplate } from '../../lifecycle/allowed-template.ts'

/** At one time, of all tenants. */
const MOST_RUNNING = 4
/** A template that is there is found in this time. */
const QUICK_MS = 2000
const MOST_REMEMBERED = 1000

type Wanted = Pick<CreateSandbox, 'template' | 'rung' | 'atLeast'>

interface Running {
  /** Its newest line. */
  said: string
  readonly stop: AbortController
  readonly done: Promise<unknown>
}

/**
 * Templates that must be built or pulled before their first sandbox. That can take minutes, for which clients of other vendors do not wait:
 * with the last of those that do, a build would end, and never come to its end. Here it goes on, and a later create finds what it made.
 */
export class RootPreparation {
  readonly #engine: Pick<Hearth, 'plan' | 'templates'>
  readonly #logger: Pick<Logger, 'warn'>
  readonly #running = new Map<string, Running>()
  /** What sandboxes were made of already. */
  readonly #ready = new Set<string>()

  constructor(engine: Pick<Hearth, 'plan' | 'templates'>, logger: Pick<Logger, 'warn'>) {
    this.#engine = engine
    this.#logger = logger
  }

  /** Resolves when a create would find its template, or throws what keeps it from that: after `patienceMs` that it takes longer. */
  async wait(scopes: ReadonlySet<Scope>, { template, rung, atLeast }: Wanted, patienceMs: number): Promise<void> {
    await requireAllowedTemplate(this.#engine, scopes, template)
    const wanted = { ...(template && { template }), ...(rung && { rung }), ...(atLeast && { atLeast }) }
    const key = JSON.stringify(wanted)
    if (this.#ready.has(key)) return
    const { template: name } = await this.#engine.plan(wanted)
    const running = this.#running.get(name) ?? this.#begin(name)
    // What is there is found at once, however much else is being made.
    const isExtra = [...this.#running.keys()].indexOf(name) >= MOST_RUNNING
    if (!(await isOver(running.done, isExtra ? Math.min(QUICK_MS, patienceMs) : patienceMs))) {
      if (!isExtra) throw notReady(name, running.said)
      running.stop.abort()
      throw new HearthError('too_many', `${MOST_RUNNING} other templates are just being made`)
    }
    if (this.#ready.size >= MOST_REMEMBERED) this.#ready.clear()
    this.#ready.add(key)
  }

  async close(): Promise<void> {
    for (const { stop } of this.#running.values()) stop.abort()
    await Promise.allSettled([...this.#running.values()].map(({ done }) => done))
  }

  #begin(name: string): Running {
    const stop = new AbortController()
    const onProgress = (line: string): void => {
      running.said = line.trim().slice(0, 200)
    }
    const done = this.#engine.templates.resolve(name, { signal: stop.signal, onProgress })
    const running: Running = { said: '', stop, done }
    this.#running.set(name, running)
    // Who waits is told of a failure; for the others it is in the log, and the next create tries again.
    done
      .catch((error: unknown) => this.#logger.warn({ event: 'template.prepare', template: name, err: error }))
      .finally(() => this.#running.delete(name))
    return running
  }
}

/** False when it takes longer; throws what it fails with. */
async function isOver(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  const late = new AbortController()
  try {
    return await Promise.race([work.then(() => true), sleep(milliseconds, false, { signal: late.signal, ref: false })])
  } finally {
    late.abort()
  }
}

function notReady(name: string, said: string): HearthError {
  const now = said === '' ? '' : ` (${said})`
  return new HearthError('template_not_ready', `template ${name.slice(0, 200)} is still being made${now}`)
}
