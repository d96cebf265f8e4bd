import type { Hearth, Relative, SandboxDetails } from '@hearth/sdk'
import { allOf } from '../all-of.ts'
import { familyTree, type Branch } from '../output/family-tree.ts'
import { presentList, type View } from '../output/present.ts'
import { hasEnded, metadataText } from '../output/sandbox-view.ts'
import { formatAge } from '../output/time.ts'
import { findSandbox } from '../server/find-sandbox.ts'
import { withServer, type ServerOptions } from '../server/with-server.ts'

const branchView: View<Branch> = {
  header: ['ID', 'STATE', 'AGE', 'METADATA'],
  id: ({ item }) => item.id,
  row: ({ item, lines }) => [`${lines}${item.id}`, item.state, formatAge(item.createdAt), metadataText(item.metadata)],
  json: ({ item }) => item,
}

/** Which sandbox was forked of which: all that are related to one, or all that live. */
export async function tree(name: string | undefined, options: ServerOptions): Promise<number> {
  const items = await withServer(options, async (hearth) => {
    return name === undefined ? await families(hearth) : await (await findSandbox(hearth, name)).tree()
  })
  await presentList(options, familyTree(items), branchView)
  return 0
}

/** All that live, and those that have gone while forks of them live: these are known to their relatives alone. */
async function families(hearth: Hearth): Promise<Relative[]> {
  const found = new Map<string, Relative>()
  const living = (await allOf(hearth.list({ limit: 1000 }))).filter(({ state }) => !hasEnded(state))
  const known = new Set<string>(living.map(({ id }) => id))
  for (const sandbox of living) {
    if (found.has(sandbox.id)) continue
    const isOrphan = sandbox.parent !== null && !known.has(sandbox.parent)
    const relatives = isOrphan ? await (await hearth.get(sandbox.id)).tree() : [asRelative(sandbox)]
    for (const relative of relatives) found.set(relative.id, relative)
  }
  return [...found.values()]
}

function asRelative({ id, parent, origin, state, createdAt, metadata }: SandboxDetails): Relative {
  return { id, parent, origin, state, createdAt, metadata }
}
