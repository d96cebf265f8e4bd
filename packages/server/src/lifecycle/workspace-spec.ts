import { HearthError, WORKSPACE_PATH } from '@hearth/contract'
import type { StoredSpec, WorkspaceRecord } from '../state/index.ts'

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
