import { HearthError } from '@hearth/contract'

/** The image is not what it says it is, or would do what an image must not do. */
export function imageInvalid(message: string, context: Record<string, unknown> = {}, cause?: unknown): HearthError {
  return new HearthError('image_invalid', message, { context, cause })
}

/** The registry does not answer, or not as it should. */
export function registryFailed(message: string, context: Record<string, unknown> = {}, cause?: unknown): HearthError {
  return new HearthError('registry_failed', message, { context, cause })
}
