import type { VolumeView } from '@hearth/contract'
import type { Caller } from '../control-plane.ts'
import type { Services } from '../http/app-env.ts'

const PAGE = 1000

interface Asking {
  readonly plane: Services['controlPlane']
  readonly caller: Caller
}

/** Those of workspaces, and copies that belong to a fork, are not for clients of other vendors. */
export async function ownVolumes({ plane, caller }: Asking): Promise<VolumeView[]> {
  const found: VolumeView[] = []
  let cursor: string | null = null
  do {
    const page: { readonly items: readonly VolumeView[]; readonly next: string | null } = await plane.volumes.list(
      caller,
      { limit: PAGE, cursor },
    )
    found.push(...page.items.filter(isOwn))
    cursor = page.next
  } while (cursor !== null)
  return found
}

export function isOwn({ workspace, name }: VolumeView): boolean {
  return workspace === null && name !== null
}
