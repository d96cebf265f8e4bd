/** How repositories and workspaces refuse or fail, for the registry in `errors.ts`. */
export const WORKSPACE_ERRORS = {
  repository_not_found: {
    status: 404,
    retryable: false,
    suggestion: 'Run `hearth repo ls` to see the repositories; `hearth repo add URL` makes one known.',
  },
  repository_unreachable: {
    status: 502,
    retryable: true,
    suggestion: 'Check the address, and that the server answers; `hearth repo fetch ID` tries again.',
  },
  repository_denied: {
    status: 403,
    retryable: false,
    suggestion:
      'The server refuses the credentials, or has no such repository: store a token with `hearth secret set NAME --for HOST --basic` and name it with `--secret NAME`.',
  },
  host_key_changed: {
    status: 502,
    retryable: false,
    suggestion:
      'Somebody may stand between this host and the server, or the server has new keys. If its owner says so, `hearth repo host-keys --forget HOST` lets the next call take the new one; a secret that was stored with --host-key has to be stored anew.',
  },
  ssh_missing: {
    status: 503,
    retryable: false,
    suggestion:
      'Install `ssh` on the host of the server (Debian: `apt-get install openssh-client`; `npm run setup` does it).',
  },
  repository_invalid: {
    status: 422,
    retryable: false,
    suggestion: 'What the server sent is damaged or made to do harm. Nothing of it was kept.',
  },
  repository_too_large: {
    status: 413,
    retryable: false,
    suggestion: 'The message names the limit that the repository goes beyond.',
  },
  repository_in_use: { status: 409, retryable: true, suggestion: 'Remove the workspaces that are made of it first.' },
  revision_not_found: {
    status: 404,
    retryable: false,
    suggestion: 'Name a branch, a tag or a whole commit identifier that the repository has.',
  },
  workspace_not_found: {
    status: 404,
    retryable: false,
    suggestion: 'Run `hearth workspace ls` to see the workspaces.',
  },
  workspace_in_use: {
    status: 409,
    retryable: true,
    suggestion: 'Another sandbox has it for writing, or something is being done with it: end that first, or fork it.',
  },
  workspace_evicted: {
    status: 410,
    retryable: false,
    suggestion: 'Its files were given up for room. `hearth workspace diff ID` prints what had changed in it.',
  },
  push_rejected: {
    status: 409,
    retryable: false,
    suggestion: 'The branch has other commits on the server: push to another branch, or with `--force`.',
  },
  forge_failed: {
    status: 502,
    retryable: true,
    suggestion: 'The message has what the API of the forge answered. Check the token and what it may do.',
  },
} as const
