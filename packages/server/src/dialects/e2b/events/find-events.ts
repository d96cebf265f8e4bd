import { z } from 'zod'
import type { EventRepository, StoredEvent, Webhook } from '../../../state/index.ts'
import type { SandboxRows } from '../e2b.ts'
import { lifecycleEvent, storedTypes, type LifecycleEvent, type Subject } from './lifecycle-event.ts'

export interface EventSources {
  readonly events: Pick<EventRepository, 'page' | 'head'>
  readonly sandboxes: Pick<SandboxRows, 'find'>
}

/** An event, and the number up to which everything is told when this one is. `event` null: there is nothing to tell up to there. */
export interface Numbered {
  readonly event: LifecycleEvent | null
  readonly seq: number
  readonly at: number
}

/** What a webhook is to be told next, in the order of its events. */
export async function lifecycleEvents(
  sources: EventSources,
  webhook: Pick<Webhook, 'tenantId' | 'events'>,
  after: number,
  limit: number,
): Promise<Numbered[]> {
  const { events } = sources
  // Before the page: what is written between the two is not taken for told.
  const head = await events.head()
  const { tenantId } = webhook
  const page = await events.page({ tenantId, types: storedTypes(webhook.events), after, limit })
  const subjects = new Subjects(sources)
  const found: Numbered[] = []
  for (const event of page.events) {
    found.push({ event: lifecycleEvent(event, await subjects.of(event)), seq: event.seq, at: event.at })
  }
  if (page.events.length < limit && head > (page.events.at(-1)?.seq ?? after)) {
    found.push({ event: null, seq: head, at: Date.now() })
  }
  return found
}

const beginningSchema = z.object({
  template: z.string(),
  metadata: z.record(z.string(), z.string()),
  cpus: z.number(),
  memoryBytes: z.number(),
})

/** What events say of their sandboxes, each looked for once. */
export class Subjects {
  readonly #sources: EventSources
  readonly #known = new Map<string, Subject | null>()

  constructor(sources: EventSources) {
    this.#sources = sources
  }

  async of({ sandboxId, tenantId }: StoredEvent): Promise<Subject | null> {
    if (sandboxId === null) return null
    const known = this.#known.get(sandboxId)
    if (known !== undefined) return known
    const row = await this.#sources.sandboxes.find(sandboxId)
    // Of another tenant it would be a fault of the store; nobody would be told of it.
    const subject = row?.tenantId === tenantId ? row : await this.#remembered(tenantId, sandboxId)
    this.#known.set(sandboxId, subject)
    return subject
  }

  /** From its beginning, when its row is gone. */
  async #remembered(tenantId: string, sandboxId: string): Promise<Subject | null> {
    const page = await this.#sources.events.page({ tenantId, sandboxId, types: ['sandbox.created'], limit: 1 })
    const [created] = page.events
    const { data } = beginningSchema.safeParse(created?.data)
    if (created === undefined || data === undefined) return null
    const { template, metadata, ...limits } = data
    return { template, metadata, limits, createdAt: created.at }
  }
}
