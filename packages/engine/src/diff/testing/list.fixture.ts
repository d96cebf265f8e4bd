import { hostPaths } from '../../host/host.ts'
import { collectChanges, type ListedChange } from '../list-changes.ts'
import { readChanges, type ChangesRequest } from '../read-changes.ts'

export const guest = hostPaths().guest
export const root = process.getuid?.() === 0

type Request = Pick<ChangesRequest, 'before' | 'after'> & Partial<ChangesRequest>

export async function list(request: Request): Promise<ListedChange[]> {
  return await collectChanges(readChanges({ guest, attributes: 'trusted', ...request }))
}

export async function summary(request: Request): Promise<string[]> {
  return (await list(request)).map(({ record }) => `${record.change} ${record.type} ${record.path}`)
}
