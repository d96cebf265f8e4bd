import type { Context } from './context.ts'

/** Gives the sandboxes of this host that use a secret what is stored of it now. */
export async function renewSecret({ live, report }: Context, tenantId: string, secret: string): Promise<void> {
  const using = [...live].filter(
    ({ record }) => record.tenantId === tenantId && (record.spec.secrets ?? []).some((use) => use.secret === secret),
  )
  for (const each of using) {
    // One that is just being made or woken may have read what was stored before.
    if (each.machine !== null) continue
    each
      .settled()
      .then(() => each.machine?.network.refreshSecrets())
      .catch((error: unknown) => report('renewing the secrets of a sandbox', error))
  }
  await Promise.all(using.map(async ({ machine }) => await machine?.network.refreshSecrets()))
}

/** Finds out what was replaced or removed by way of another host. */
export class SecretChanges {
  readonly #context: Context
  /** When each that is used here was last written, as it was seen last; 0 for one that was removed. */
  #seen = new Map<string, number>()

  constructor(context: Context) {
    this.#context = context
  }

  async run(): Promise<void> {
    const { live, store } = this.#context
    const used = new Map<string, Set<string>>()
    for (const { record } of live)
      for (const { secret } of record.spec.secrets ?? [])
        used.set(record.tenantId, (used.get(record.tenantId) ?? new Set()).add(secret))
    const seen = new Map<string, number>()
    for (const [tenantId, names] of used) {
      const found = await store.secrets.named(tenantId, [...names])
      const stored = new Map(found.map(({ name, updatedAt }) => [name, updatedAt]))
      for (const name of names) {
        const key = `${tenantId} ${name}`
        const writtenAt = stored.get(name) ?? 0
        if (this.#seen.get(key) !== writtenAt) await renewSecret(this.#context, tenantId, name)
        seen.set(key, writtenAt)
      }
    }
    this.#seen = seen
  }
}
