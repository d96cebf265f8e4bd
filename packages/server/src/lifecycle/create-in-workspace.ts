import { HearthError, WORKSPACE_PATH, type CreateSandbox } from '@hearth/contract'
import type { Caller, KeyedCall } from '../control-plane.ts'
import type { StoredSpec, WorkspaceRecord } from '../state/index.ts'
import type { Context } from './context.ts'
import { planCreate, type PlannedCreate } from './create-request.ts'

/** As `planCreate`, with the workspace that was asked for: it is there, or it is made first. */
export async function planWithWorkspace(
  context: Context,
  caller: Caller,
  request: CreateSandbox,
  call: KeyedCall,
): Promise<PlannedCreate> {
  const { tenantId } = caller
  const { workspace: wanted } = request
  if (wanted === undefined) return await planCreate(context, request, tenantId, null)
  // What can be refused is refused before anything is made.
  await planCreate(context, request, tenantId, null)
  const { workspaces } = context.workspaces
  const workspace = await workspaces.forSandbox(caller, wanted, call)
  try {
    return await planCreate(context, request, tenantId, workspace)
  } catch (error) {
    // Who has a key comes back for it; for anybody else one that was made for this call goes with it.
    if (typeof wanted !== 'string' && call.idempotencyKey === null) await workspaces.remove(caller, workspace.id)
    throw error
  }
}

/** What a sandbox with a workspace is made with: whoever works in it may use git there, and begins there. */
export function specIn(spec: StoredSpec, { volumeId }: Pick<WorkspaceRecord, 'volumeId'>): StoredSpec {
  const { workdir = WORKSPACE_PATH, env = {}, volumes = [] } = spec
  if (volumes.some(({ path }) => path === WORKSPACE_PATH))
    throw new HearthError('invalid_request', `request.volumes: the workspace is at ${WORKSPACE_PATH}`)
  return {
    ...spec,
    workdir,
    env: 'GIT_CONFIG_COUNT' in env ? env : { ...GIT, ...env },
    volumes: [...volumes, { volume: volumeId, path: WORKSPACE_PATH, readOnly: false }],
  }
}

/** git refuses to work in what belongs to another user, and here it may: to the one that a template has, or to none that it knows. */
const GIT = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: WORKSPACE_PATH } as const
