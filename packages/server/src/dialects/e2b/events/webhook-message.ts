import { hash } from 'node:crypto'
import type { LifecycleEvent } from './lifecycle-event.ts'

const MOST_PADDING = 256

export interface WebhookMessage {
  readonly body: string
  readonly signature: string
}

/**
 * What a receiver is sent. E2B's has been described with both spellings of its names, and its signature both with the alphabet of base64 and
 * with that of URLs: so both names are there, and blanks after the JSON make the signature one that is the same in both alphabets.
 */
export function webhookMessage(event: LifecycleEvent, secret: string): WebhookMessage {
  const json = JSON.stringify({ ...event, ...snakeCase(event) })
  for (let padding = 0; padding < MOST_PADDING; padding++) {
    const body = json + ' '.repeat(padding)
    const signature = webhookSignature(secret, body)
    if (!/[-_]/.test(signature)) return { body, signature }
  }
  return { body: json, signature: webhookSignature(secret, json) }
}

export function webhookSignature(secret: string, body: string): string {
  return hash('sha256', secret + body, 'base64url')
}

function snakeCase(event: LifecycleEvent): Record<string, unknown> {
  const renamed = Object.entries(event).map(([name, value]) => [
    name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value as unknown,
  ])
  return Object.fromEntries(renamed) as Record<string, unknown>
}
