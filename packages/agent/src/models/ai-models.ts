import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  jsonSchema,
  streamText,
  tool,
  type LanguageModel,
  type LanguageModelUsage,
  type ModelMessage,
  type ToolSet,
} from 'ai'
import type { Finish } from '@hearth/contract'
import { acceptable, acceptableReply } from './acceptable.ts'
import { ModelFailure } from './model-failure.ts'
import { NO_USAGE, type Message, type Model, type ModelReply, type ModelRequest } from './model.ts'
import type { ToolCall, ToolDescription, Usage } from './model.ts'

// The one file that knows what the `ai` package does.

/** A reply of more is cut off: no honest one comes near it, and a server that never ends must not fill the memory. */
const REPLY_CHARACTERS = 4 * 1024 * 1024
/** A safe guess where a server does not count. */
const CHARACTERS_PER_TOKEN = 3.5
const CALL_MS = 15 * 60_000
const SILENCE_MS = 3 * 60_000

export interface AiModelOptions {
  readonly provider: 'anthropic' | 'openai' | 'openai-compatible'
  readonly model: string
  readonly name: string
  readonly contextTokens: number
  readonly apiKey: string | undefined
  readonly baseUrl: string | undefined
}

export function openAiModel(options: AiModelOptions): Model {
  // Its warnings, for example about a temperature that a model does not know, would go to standard output, where our results go.
  Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })
  const language = languageModel(options)
  return {
    name: options.name,
    contextTokens: options.contextTokens,
    call: async (request) => await callModel(language, request),
  }
}

function languageModel({ provider, model, apiKey, baseUrl }: AiModelOptions): LanguageModel {
  const settings = {
    ...(apiKey === undefined ? {} : { apiKey }),
    ...(baseUrl === undefined ? {} : { baseURL: baseUrl }),
  }
  if (provider === 'anthropic') return createAnthropic(settings)(model)
  if (provider === 'openai') return createOpenAI(settings).responses(model)
  return createOpenAICompatible({ name: 'compatible', baseURL: baseUrl ?? '', includeUsage: true, ...settings })(model)
}

async function callModel(model: LanguageModel, request: ModelRequest): Promise<ModelReply> {
  const overlong = new AbortController()
  const result = streamText({
    model,
    instructions: request.system.toWellFormed(),
    messages: acceptable(request.messages.map(toModelMessage)).map(markForCache),
    tools: toToolSet(request.tools),
    maxOutputTokens: request.maxOutputTokens,
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    maxRetries: 0,
    timeout: { totalMs: CALL_MS, chunkMs: SILENCE_MS },
    abortSignal: AbortSignal.any([request.signal, overlong.signal]),
    // Nothing is kept at the provider, so that a conversation can go on anywhere from what was written down here.
    providerOptions: { openai: { store: false, include: ['reasoning.encrypted_content'] } },
    onError: () => undefined,
  })
  let characters = 0
  try {
    for await (const part of result.stream) {
      if (part.type === 'error') throw part.error
      if (part.type === 'abort') throw new ModelFailure('disconnected', 'the model did not answer in time')
      if (part.type === 'text-delta' || part.type === 'reasoning-delta') characters += part.text.length
      if (part.type === 'tool-input-delta') characters += part.delta.length
      if (characters > REPLY_CHARACTERS) throw new ModelFailure('refused', 'the reply of the model does not end')
    }
    const step = await result.finalStep
    const replay = (await result.responseMessages).filter((message) => message.role === 'assistant')
    return {
      text: step.text,
      calls: step.toolCalls.map(toToolCall),
      finish: toFinish(step.finishReason),
      usage: usageOf(step.usage, estimateOf(request, characters)),
      replay: replay[0]?.content,
    }
  } catch (error) {
    overlong.abort()
    request.signal.throwIfAborted()
    throw toFailure(error, characters === 0 ? null : estimateOf(request, characters))
  }
}

/** What was used, by its length: for servers that do not say, and for replies that break off before they do. */
function estimateOf({ system, messages, tools }: ModelRequest, characters: number): Usage {
  const input = system.length + JSON.stringify(messages).length + JSON.stringify(tools).length
  const tokens = (length: number): number => Math.ceil(length / CHARACTERS_PER_TOKEN)
  return { ...NO_USAGE, inputTokens: tokens(input), outputTokens: tokens(characters) }
}

/** A call without any input is none: a server that says so does not count. */
function usageOf(counted: LanguageModelUsage, estimate: Usage): Usage {
  const { inputTokens, outputTokens, inputTokenDetails } = counted
  return {
    inputTokens: (inputTokens ?? 0) > 0 ? (inputTokens ?? 0) : estimate.inputTokens,
    cachedInputTokens: inputTokenDetails.cacheReadTokens ?? 0,
    cacheWriteTokens: inputTokenDetails.cacheWriteTokens ?? 0,
    outputTokens: (outputTokens ?? 0) > 0 ? (outputTokens ?? 0) : estimate.outputTokens,
  }
}

function toToolSet(tools: readonly ToolDescription[]): ToolSet {
  return Object.fromEntries(
    tools.map(({ name, description, inputSchema }) => [
      name,
      tool({ description, inputSchema: jsonSchema(inputSchema) }),
    ]),
  )
}

interface RawCall {
  readonly toolCallId: string
  readonly toolName: string
  readonly input: unknown
  readonly invalid?: boolean | undefined
}

function toToolCall(call: RawCall): ToolCall {
  const common = { id: call.toolCallId, name: call.toolName, input: call.input }
  // A name that is not known is for the toolbox to answer: it can say which ones there are.
  if (call.invalid !== true || typeof call.input === 'object') return common
  return { ...common, malformed: 'the arguments are not valid JSON' }
}

function toFinish(reason: string): Finish {
  if (reason === 'stop' || reason === 'tool-calls' || reason === 'length' || reason === 'content-filter') return reason
  return 'other'
}

function toModelMessage(message: Message): ModelMessage {
  if (message.role === 'user') return { role: 'user', content: message.text }
  if (message.role === 'tool') {
    const content = message.answers.map((answer) => ({
      type: 'tool-result' as const,
      toolCallId: answer.id,
      toolName: answer.name,
      // As plain text also when it failed: the text says so, and some providers would wrap an error in JSON.
      output: { type: 'text' as const, value: answer.text },
    }))
    return { role: 'tool', content }
  }
  const replay = Array.isArray(message.replay) ? acceptableReply(message.replay) : []
  if (replay.length > 0) return { role: 'assistant', content: replay }
  const calls = message.calls.map((call) => ({
    type: 'tool-call' as const,
    toolCallId: call.id,
    toolName: call.name,
    input: typeof call.input === 'object' ? call.input : {},
  }))
  // Providers refuse a message without any content.
  const said = message.text.trim() === '' ? '' : message.text
  const text = said === '' && calls.length === 0 ? '(no answer)' : said
  return { role: 'assistant', content: [...(text === '' ? [] : [{ type: 'text' as const, text }]), ...calls] }
}

/** What has been said so far is paid for once where the provider has a cache. */
function markForCache(message: ModelMessage, index: number, all: readonly ModelMessage[]): ModelMessage {
  if (index !== all.length - 1) return message
  return { ...message, providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }
}

const OVERFLOW =
  /prompt is too long|context[ _]length|context window|maximum context|too many tokens|exceeds? the (maximum|limit)/i

function toFailure(error: unknown, usage: Usage | null): ModelFailure {
  if (error instanceof ModelFailure) return new ModelFailure(error.kind, error.message, { cause: error, usage })
  const message = messageOf(error)
  const options = { cause: error, retryAfterMs: retryAfter(error), usage }
  const status = APICallError.isInstance(error) ? error.statusCode : undefined
  if (status === 413 || ((status === undefined || status === 400) && OVERFLOW.test(message))) {
    return new ModelFailure('overflow', message, options)
  }
  if (status === 429 || /rate.?limit/i.test(message)) return new ModelFailure('rate_limited', message, options)
  if (status !== undefined && (status >= 500 || status === 408 || status === 409)) {
    return new ModelFailure('server_error', message, options)
  }
  // With a status of success something about the stream itself was wrong: it broke, or it was not what the protocol says.
  if (status === undefined || status < 400) {
    const kind = /overloaded|api_error|server_error|internal/i.test(message) ? 'server_error' : 'disconnected'
    return new ModelFailure(kind, message, options)
  }
  return new ModelFailure('refused', message, options)
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : JSON.stringify(error)
  return String(text).slice(0, 2000)
}

/** From `retry-after-ms` and `retry-after`, which is in seconds or a date. */
function retryAfter(error: unknown): number | null {
  if (!APICallError.isInstance(error)) return null
  const milliseconds = Number(error.responseHeaders?.['retry-after-ms'])
  if (Number.isFinite(milliseconds) && milliseconds >= 0) return milliseconds
  const text = error.responseHeaders?.['retry-after']
  if (text === undefined || text === '') return null
  const seconds = Number(text)
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(wait) ? Math.max(0, wait) : null
}
