import type { ForgeKind, HostKey } from '@hearth/sdk'
import { interruptible } from '../interruptible.ts'
import { withoutUndefined } from '../options/sandbox-options.ts'
import { presentList, presentOne, type View } from '../output/present.ts'
import { printable } from '../output/printable.ts'
import { Progress } from '../output/progress.ts'
import { table } from '../output/table.ts'
import { formatAge } from '../output/time.ts'
import { repositoryFacts, repositoryView, rowOf } from '../output/workspace-view.ts'
import { eachNamed } from '../server/each-named.ts'
import { findRepository, locationOf } from '../server/find-workspace.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

export interface AddOptions extends ServerOptions {
  readonly secret?: string
  readonly forge?: ForgeKind
  readonly forgeApi?: string
  readonly forgeSecret?: string
}

/** Makes a repository known, and clones it into the cache of the server. */
export async function addRepository(address: string, options: AddOptions): Promise<number> {
  return await interruptible(async (signal) => {
    const { secret, forgeSecret, forge: kind, forgeApi: apiUrl } = options
    const forge = kind === undefined ? undefined : { kind, ...withoutUndefined({ apiUrl }) }
    const added = await withServer(options, async (hearth) => {
      using progress = new Progress(options.quiet === true || !process.stderr.isTTY)
      progress.say(`cloning ${address}`)
      const asked = { ...locationOf(address), ...withoutUndefined({ secret, forge, forgeSecret }) }
      return await hearth.repositories.add(asked, { signal })
    })
    await presentOne(options, { id: added.id, json: added, people: () => rowOf(repositoryView, added) })
    return 0
  })
}

export async function listRepositories(options: ServerOptions): Promise<number> {
  const repositories = await withServer(options, async (hearth) => await hearth.repositories.list())
  await presentList(options, repositories.toReversed(), repositoryView)
  return 0
}

export async function getRepository(name: string, options: ServerOptions): Promise<number> {
  const repository = await withServer(options, async (hearth) => await findRepository(hearth, name))
  const people = (): string => table(repositoryFacts(repository))
  await presentOne(options, { id: repository.id, json: repository, people })
  return 0
}

export async function fetchRepositories(names: readonly string[], options: ServerOptions): Promise<number> {
  return await eachNamed(names, options, repositoryView, async (hearth, name) => {
    const { id } = await findRepository(hearth, name)
    return await hearth.repositories.fetch(id)
  })
}

export async function removeRepositories(names: readonly string[], options: ServerOptions): Promise<number> {
  return await eachNamed(names, options, null, async (hearth, name) => {
    const { id } = await findRepository(hearth, name)
    await hearth.repositories.remove(id)
    return { id, removed: true }
  })
}

export interface HostKeyOptions extends ServerOptions {
  readonly forget?: readonly string[]
}

const hostKeyView: View<HostKey> = {
  header: ['HOST', 'AGE', 'KEY'],
  id: ({ host }) => host,
  row: ({ host, key, pinnedAt }) => [printable(host), formatAge(pinnedAt), printable(key)],
}

/** The servers that are known by the key which they had when they were first spoken to with ssh. */
export async function hostKeys({ forget = [], ...options }: HostKeyOptions): Promise<number> {
  const left = await withServer(options, async (hearth) => {
    for (const host of forget) await hearth.repositories.forgetHostKey(host)
    return await hearth.repositories.hostKeys()
  })
  await presentList(options, left.toReversed(), hostKeyView)
  return 0
}
