import type { ErrorCode, HearthError } from '@hearth/contract'

/** Codes of Connect and the status that a unary answer has with each. */
const STATUSES = {
  invalid_argument: 400,
  failed_precondition: 400,
  unauthenticated: 401,
  permission_denied: 403,
  not_found: 404,
  already_exists: 409,
  aborted: 409,
  resource_exhausted: 429,
  canceled: 499,
  internal: 500,
  unimplemented: 501,
  unavailable: 503,
  deadline_exceeded: 504,
} as const

export type ConnectCode = keyof typeof STATUSES

const CODES: Partial<Record<ErrorCode, ConnectCode>> = {
  invalid_request: 'invalid_argument',
  spawn_failed: 'invalid_argument',
  not_a_directory: 'invalid_argument',
  is_a_directory: 'invalid_argument',
  unsupported_media_type: 'invalid_argument',
  directory_not_empty: 'failed_precondition',
  file_failed: 'failed_precondition',
  watch_failed: 'failed_precondition',
  invalid_state: 'failed_precondition',
  unauthorized: 'unauthenticated',
  forbidden: 'permission_denied',
  permission_denied: 'permission_denied',
  file_not_found: 'not_found',
  process_not_found: 'not_found',
  not_found: 'not_found',
  file_exists: 'already_exists',
  conflict: 'aborted',
  disk_full: 'resource_exhausted',
  store_full: 'resource_exhausted',
  quota_exceeded: 'resource_exhausted',
  rate_limited: 'resource_exhausted',
  too_many: 'resource_exhausted',
  body_too_large: 'resource_exhausted',
  aborted: 'canceled',
  capability_unsupported: 'unimplemented',
  method_not_allowed: 'unimplemented',
  sandbox_ended: 'unavailable',
  sandbox_not_found: 'unavailable',
  sandbox_paused: 'unavailable',
  link_lost: 'unavailable',
  shutting_down: 'unavailable',
  host_full: 'unavailable',
  request_timeout: 'deadline_exceeded',
  timeout: 'deadline_exceeded',
}

export function connectError(error: HearthError): { readonly code: ConnectCode; readonly message: string } {
  return { code: CODES[error.code] ?? 'internal', message: error.message }
}

export function connectStatus(code: ConnectCode): number {
  return STATUSES[code]
}
