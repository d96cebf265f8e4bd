/** Every instant between two durable effects on repositories and workspaces. The crash suite kills the server at each. */
export const WORKSPACE_STEPS = [
  'repository:begun',
  'repository:fetched',
  'seed:begun',
  'seed:filled',
  'workspace:begun',
  'workspace:cloned',
  'workspace:committed',
  'workspace:pushed',
  'workspace:rescued',
  'workspace:emptied',
  'workspace:removing',
  'workspace:freed',
] as const

export type WorkspaceStep = (typeof WORKSPACE_STEPS)[number]
