import type { AssistantModelMessage, ModelMessage } from 'ai'

/** Names of tools as every provider takes them. */
const NAME_CHARACTERS = 64
const NO_NAME = /[^a-zA-Z0-9_-]/g

type Content = Exclude<AssistantModelMessage['content'], string>

/**
 * What a provider does not refuse. It refuses a whole conversation for what a model or a program once wrote in it: half of a character, the name
 * of a tool that cannot be one, a text of nothing.
 */
export function acceptable(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.map((message) => wellFormed(message) as ModelMessage)
}

/** A reply as it is given back: nothing but a text of nothing, or thoughts that led to nothing, is no reply. */
export function acceptableReply(content: Content): Content {
  const said = content.filter((part) => part.type !== 'text' || part.text.trim() !== '')
  return said.slice(0, said.findLastIndex(({ type }) => type !== 'reasoning') + 1)
}

function wellFormed(value: unknown, name = ''): unknown {
  if (typeof value === 'string') {
    return name === 'toolName' ? value.replaceAll(NO_NAME, '_').slice(0, NAME_CHARACTERS) || '_' : value.toWellFormed()
  }
  if (Array.isArray(value)) return value.map((each) => wellFormed(each))
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key.toWellFormed(), wellFormed(each, key)]))
}
