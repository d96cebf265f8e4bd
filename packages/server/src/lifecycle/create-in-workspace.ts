import type { CreateSandbox } from '@hearth/contract'
import type { Caller, KeyedCall } from '../control-plane.ts'
import type { Context } from './context.ts'
import { planCreate, type PlannedCreate } from './create-request.ts'

/** As `planCreate`, with the workspace that was asked for: it is there, or it is made first. */
export async function planWithWorkspace(
  context: Context,
  caller: Caller,
  request: CreateSandbox,
  call: KeyedCall,
): Promise<PlannedCreate> {
  const { workspace: wanted } = request
  if (wanted === undefined) return await planCreate(context, request, caller, null)
  // What can be refused is refused before anything is made.
  await planCreate(context, request, caller, null)
  const { workspaces } = context.workspaces
  const workspace = await workspaces.forSandbox(caller, wanted, call)
  try {
    return await planCreate(context, request, caller, workspace)
  } catch (error) {
    // Who has a key comes back for it; for anybody else one that was made for this call goes with it.
    if (typeof wanted !== 'string' && call.idempotencyKey === null) await workspaces.remove(caller, workspace.id)
    throw error
  }
}
