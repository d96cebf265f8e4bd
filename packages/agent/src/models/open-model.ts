import { HearthError } from '@hearth/contract'
import { openAiModel } from './ai-models.ts'
import type { Model } from './model.ts'
import { ScriptedModel } from './scripted-model.ts'

export interface OpenModelOptions {
  /** Default: `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` or `OPENAI_COMPATIBLE_API_KEY`. */
  readonly apiKey?: string
  /** Default: where the provider is, or `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL`. */
  readonly baseUrl?: string
  /** Tokens that a conversation may have. Default: a safe value for the provider. */
  readonly contextTokens?: number
  /** Default: that of the process. */
  readonly environment?: Readonly<Record<string, string | undefined>>
}

const CONTEXT_TOKENS = { anthropic: 200_000, openai: 256_000, 'openai-compatible': 128_000 } as const
const KEYS = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
  'openai-compatible': 'OPENAI_COMPATIBLE_API_KEY',
} as const
const FORMS = '`anthropic:NAME`, `openai:NAME`, `openai-compatible:URL#NAME` or `scripted:FILE`'

/** A model by its name. One that needs a key and has none is refused here, not at its first call. */
export async function openModel(name: string, options: OpenModelOptions = {}): Promise<Model> {
  const separator = name.indexOf(':')
  const kind = name.slice(0, Math.max(0, separator))
  const rest = name.slice(separator + 1)
  if (rest === '' || separator === -1) throw new HearthError('invalid_request', `a model is named as ${FORMS}`)
  if (kind === 'scripted') return await ScriptedModel.open(rest)
  if (kind !== 'anthropic' && kind !== 'openai' && kind !== 'openai-compatible') {
    throw new HearthError('invalid_request', `there is no kind of model ${JSON.stringify(kind)}: it must be ${FORMS}`)
  }
  const { model, baseUrl } = kind === 'openai-compatible' ? splitUrl(rest) : { model: rest, baseUrl: options.baseUrl }
  const apiKey = options.apiKey ?? (options.environment ?? process.env)[KEYS[kind]]
  if ((apiKey ?? '') === '' && kind !== 'openai-compatible') throw missingKey(KEYS[kind])
  return openAiModel({
    provider: kind,
    model,
    name,
    contextTokens: options.contextTokens ?? CONTEXT_TOKENS[kind],
    apiKey,
    baseUrl,
  })
}

function splitUrl(text: string): { model: string; baseUrl: string } {
  const hash = text.lastIndexOf('#')
  const baseUrl = text.slice(0, Math.max(0, hash))
  const model = text.slice(hash + 1)
  if (hash === -1 || model === '' || !/^https?:\/\//.test(baseUrl) || !URL.canParse(baseUrl)) {
    throw new HearthError('invalid_request', 'an OpenAI-compatible model is named as `openai-compatible:URL#NAME`')
  }
  return { model, baseUrl }
}

function missingKey(variable: string): HearthError {
  return new HearthError('invalid_request', `there is no key for this model: ${variable} is not set`, {
    suggestion: `Set ${variable}, or try things out without a key with a model \`scripted:FILE\`.`,
  })
}
