import type { Body } from './protocols.ts'

const NAME = /^[a-zA-Z0-9_-]{1,64}$/

type Part = Record<string, unknown>

/** What the real providers refuse a request for, of all that a conversation may have got into it. Null for one that they take. */
export function refusalOf(body: Body): string | null {
  const parts = [...partsOf(body)]
  const messages = (body['messages'] ?? []) as Part[]
  const lastParts = messages.flatMap(({ role, content }) =>
    role === 'assistant' && Array.isArray(content) ? [content.at(-1)] : [],
  )
  if (parts.some((part) => Object.entries(part).flat().some(isBroken))) return 'no low surrogate in string'
  if (parts.some(({ type, text }) => type === 'text' && String(text).trim() === '')) {
    return 'text content blocks must contain non-whitespace text'
  }
  if (lastParts.some((part) => (part as Part | undefined)?.['type'] === 'thinking')) {
    return 'the final block in an assistant message cannot be `thinking`'
  }
  if (messages.some(({ content }) => content === '' || (Array.isArray(content) && content.length === 0))) {
    return 'messages must have non-empty content'
  }
  const named = parts.filter((part) => 'input' in part || 'arguments' in part)
  return named.every(({ name }) => NAME.test(String(name)))
    ? null
    : 'the name of a tool must match ^[a-zA-Z0-9_-]{1,64}$'
}

function isBroken(value: unknown): boolean {
  return typeof value === 'string' && !value.isWellFormed()
}

function* partsOf(value: unknown): Generator<Part, void> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield value as Part
  for (const each of Object.values(value)) yield* partsOf(each)
}
