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
