import { HearthError, type Refusal } from '@hearth/contract'

/** `detail` is for the record alone: the sandbox does not learn what the host knows of its networks. */
export function dialRefused(
  refusal: Refusal,
  message: string,
  { cause, detail }: { readonly cause?: unknown; readonly detail?: string } = {},
): HearthError {
  return new HearthError('egress_refused', message, {
    cause,
    context: { refusal, ...(detail === undefined ? {} : { detail }) },
  })
}

/** What the record says of a refusal. */
export function recordedMessage({ message, context }: HearthError): string {
  const detail = context['detail']
  return typeof detail === 'string' ? `${message}: ${detail}` : message
}
