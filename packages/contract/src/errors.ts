import { WORKSPACE_ERRORS } from './workspace-errors.ts'

/** Every way in which Hearth refuses or fails. `status` is the HTTP status that a server answers with. */
export const ERROR_CODES = {
  invalid_request: { status: 400, retryable: false, suggestion: 'Correct the fields that the message names.' },
  rung_unavailable: {
    status: 409,
    retryable: false,
    suggestion: 'Run `hearth doctor` to see which rungs work here and how to enable the others.',
  },
  template_not_found: {
    status: 404,
    retryable: false,
    suggestion:
      'Run `hearth template ls` to see the templates; an image needs the form `registry/name:tag` or `archive:PATH`.',
  },
  template_not_ready: {
    status: 503,
    retryable: true,
    suggestion: 'It goes on being made, which can take minutes the first time: create again in a while.',
  },
  template_unsupported: { status: 409, retryable: false, suggestion: 'Choose another template or another rung.' },
  template_in_use: {
    status: 409,
    retryable: true,
    suggestion: 'End the sandboxes that run on it first.',
  },
  template_build_failed: {
    status: 500,
    retryable: true,
    suggestion: 'Read the build output above; `hearth template build NAME` tries again.',
  },
  image_invalid: {
    status: 422,
    retryable: false,
    suggestion: 'The image does not match its digests or holds entries that leave its root. Do not use it.',
  },
  registry_failed: { status: 502, retryable: true, suggestion: 'Check the image name and that the registry answers.' },
  capability_unsupported: {
    status: 409,
    retryable: false,
    suggestion: 'This rung cannot do that; `hearth doctor --json` lists the capabilities of each rung.',
  },
  launch_failed: {
    status: 500,
    retryable: true,
    suggestion: 'Read the log of the runtime in the message; `hearth doctor` tests the rung.',
  },
  sandbox_not_found: { status: 404, retryable: false, suggestion: 'The sandbox does not exist or has ended.' },
  sandbox_ended: {
    status: 410,
    retryable: false,
    suggestion: 'Create a new sandbox. The message says how this one ended.',
  },
  sandbox_paused: { status: 409, retryable: true, suggestion: 'Resume it first.' },
  sandbox_hibernated: { status: 409, retryable: true, suggestion: 'Wake it first.' },
  snapshot_not_found: {
    status: 404,
    retryable: false,
    suggestion: 'Run `hearth snapshot ls` to see the snapshots.',
  },
  snapshot_incompatible: {
    status: 409,
    retryable: false,
    suggestion: 'The message says what differs. Create a sandbox like the one that the snapshot was taken of.',
  },
  snapshot_in_use: {
    status: 409,
    retryable: true,
    suggestion: 'End the sandboxes and remove the snapshots that depend on it first.',
  },
  snapshot_corrupt: {
    status: 422,
    retryable: false,
    suggestion: 'The archive is damaged or was not made by Hearth: export it again. Nothing of it was kept.',
  },
  volume_not_found: { status: 404, retryable: false, suggestion: 'Run `hearth volume ls` to see the volumes.' },
  volume_in_use: {
    status: 409,
    retryable: true,
    suggestion: 'End the sandbox that the message names, attach the volume read-only, or attach a clone of it.',
  },
  memory_unsupported: {
    status: 409,
    retryable: false,
    suggestion: 'Use `memory: auto` or `none`, or a rung that captures memory (gvisor, microvm).',
  },
  store_full: {
    status: 507,
    retryable: true,
    suggestion:
      'The store of this host is full: `hearth store df` shows what fills it, `hearth store gc` frees what is unused.',
  },
  run_not_found: { status: 404, retryable: false, suggestion: 'Run `hearth agent ls` to see the runs.' },
  run_full: {
    status: 409,
    retryable: false,
    suggestion: 'The run has as many events as one may have: end it, and begin another from where it came to.',
  },
  process_not_found: {
    status: 404,
    retryable: false,
    suggestion: 'The process never existed or its retained output is gone.',
  },
  spawn_failed: {
    status: 422,
    retryable: false,
    suggestion: 'Check that the program, the working directory and the user exist in the sandbox.',
  },
  file_not_found: { status: 404, retryable: false, suggestion: 'Check the path inside the sandbox.' },
  file_exists: {
    status: 409,
    retryable: false,
    suggestion: 'Remove the existing file first, or allow it to be replaced.',
  },
  not_a_directory: { status: 409, retryable: false, suggestion: 'A part of the path is not a directory.' },
  is_a_directory: { status: 409, retryable: false, suggestion: 'Use the call for directories.' },
  directory_not_empty: { status: 409, retryable: false, suggestion: 'Remove recursively.' },
  permission_denied: {
    status: 403,
    retryable: false,
    suggestion: 'The sandbox itself refuses this to the user of the call.',
  },
  disk_full: {
    status: 507,
    retryable: false,
    suggestion: 'The disk limit of the sandbox is reached: remove files or create it with a larger `diskBytes`.',
  },
  file_failed: {
    status: 422,
    retryable: false,
    suggestion: 'The message has the error of the operating system in the sandbox.',
  },
  port_refused: { status: 502, retryable: true, suggestion: 'Nothing listens on that port in the sandbox yet.' },
  egress_refused: {
    status: 403,
    retryable: false,
    suggestion: 'Allow the name in the policy of the sandbox; `hearth policy show ID` prints what it allows.',
  },
  secret_not_found: {
    status: 404,
    retryable: false,
    suggestion: 'Run `hearth secret ls` to see the secrets; `hearth secret set NAME` stores one.',
  },
  secret_unreadable: {
    status: 503,
    retryable: false,
    suggestion:
      'It was stored with another key, or changed since: start the server with the key that it had (HEARTH_SECRET_KEY, or `secret-key` in its home), or store the secret anew.',
  },
  ...WORKSPACE_ERRORS,
  watch_failed: { status: 422, retryable: false, suggestion: 'Watch a smaller directory.' },
  protocol_violation: {
    status: 502,
    retryable: false,
    suggestion: 'The guest broke the protocol, and its sandbox was ended. Treat what ran in it as hostile.',
  },
  link_lost: { status: 503, retryable: true, suggestion: 'The connection to the sandbox broke; reconnect to it.' },
  timeout: { status: 504, retryable: true, suggestion: 'Allow more time.' },
  conflict: {
    status: 409,
    retryable: true,
    suggestion:
      'Something else changed it at the same time: read it again, then repeat the call if it still makes sense.',
  },
  invalid_state: {
    status: 409,
    retryable: false,
    suggestion: 'The message names the present state; `hearth get ID` shows it.',
  },
  idempotency_conflict: {
    status: 422,
    retryable: false,
    suggestion: 'This idempotency key was used for a different request: use a new key for a new request.',
  },
  not_found: { status: 404, retryable: false, suggestion: 'Check the identifier.' },
  unauthorized: {
    status: 401,
    retryable: false,
    suggestion: 'Send a valid key as `Authorization: Bearer hearth_...`; `hearth key create` makes one.',
  },
  forbidden: { status: 403, retryable: false, suggestion: 'Use a key that has the scope that the message names.' },
  grant_exceeded: {
    status: 403,
    retryable: false,
    suggestion:
      'Ask for no more than the message names as allowed; `hearth key ls --json` shows the grant of this key.',
  },
  quota_exceeded: {
    status: 429,
    retryable: false,
    suggestion:
      'Delete what is no longer needed; `hearth quota` shows what is in use. An operator raises a quota with `hearth tenant quota`.',
  },
  host_full: {
    status: 503,
    retryable: true,
    suggestion: 'This host has no room for another sandbox now: try again when others have ended.',
  },
  rate_limited: { status: 429, retryable: true, suggestion: 'Slow down; `Retry-After` says how long to wait.' },
  method_not_allowed: { status: 405, retryable: false, suggestion: 'Use a method that the header `Allow` names.' },
  body_too_large: { status: 413, retryable: false, suggestion: 'Send less at once; files of any size go to `/files`.' },
  unsupported_media_type: { status: 415, retryable: false, suggestion: 'Send the content type that the API names.' },
  range_unsatisfiable: { status: 416, retryable: false, suggestion: 'Ask for a range that begins within the file.' },
  upgrade_required: { status: 426, retryable: false, suggestion: 'Connect to this path with a WebSocket.' },
  headers_too_large: { status: 431, retryable: false, suggestion: 'Send fewer or shorter headers.' },
  request_timeout: { status: 408, retryable: true, suggestion: 'The request came too slowly: send it again.' },
  shutting_down: { status: 503, retryable: true, suggestion: 'The server is being stopped: try again in a moment.' },
  store_unavailable: {
    status: 503,
    retryable: true,
    suggestion: 'The database did not answer in time: check that it runs and that its disk has room.',
  },
  engine_unavailable: {
    status: 503,
    retryable: true,
    suggestion: 'No sandbox can be made on this host: read the log of the server, and run `hearth doctor`.',
  },
  aborted: { status: 499, retryable: false, suggestion: 'The caller gave up.' },
  too_many: { status: 429, retryable: true, suggestion: 'Wait until something else has ended.' },
  internal: { status: 500, retryable: false, suggestion: 'This is a bug in Hearth.' },
} as const satisfies Record<string, { status: number; retryable: boolean; suggestion: string }>

export type ErrorCode = keyof typeof ERROR_CODES

const marker = Symbol.for('hearth.error')

/** What every interface of Hearth throws. `isInstance` works across copies of this package. */
export class HearthError extends Error {
  readonly code: ErrorCode
  readonly suggestion: string
  readonly retryable: boolean
  /** Typed facts for programs: paths, rungs, reasons. Never a secret. */
  readonly context: Readonly<Record<string, unknown>>
  readonly [marker] = true

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; context?: Record<string, unknown>; suggestion?: string } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause })
    this.name = 'HearthError'
    this.code = code
    this.suggestion = options.suggestion ?? ERROR_CODES[code].suggestion
    this.retryable = ERROR_CODES[code].retryable
    this.context = options.context ?? {}
  }

  static isInstance(value: unknown): value is HearthError {
    return typeof value === 'object' && value !== null && marker in value
  }

  toJSON(): {
    code: ErrorCode
    message: string
    suggestion: string
    retryable: boolean
    context: Readonly<Record<string, unknown>>
  } {
    return {
      code: this.code,
      message: this.message,
      suggestion: this.suggestion,
      retryable: this.retryable,
      context: this.context,
    }
  }
}
