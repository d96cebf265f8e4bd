import { openModel, type Model, type OpenModelOptions } from '@hearth/agent'
import { HearthError } from '@hearth/contract'

/** By its name, or whichever there is a key for. */
export async function chooseModel(
  name: string | undefined,
  options: Pick<OpenModelOptions, 'contextTokens'>,
): Promise<Model> {
  if (name !== undefined) return await openModel(name, options)
  if (variable('ANTHROPIC_API_KEY') !== null) return await openModel('anthropic:claude-sonnet-5-5', options)
  if (variable('OPENAI_API_KEY') !== null) return await openModel('openai:gpt-6.1-sol', options)
  const [url, model] = [variable('OPENAI_COMPATIBLE_URL'), variable('OPENAI_COMPATIBLE_MODEL')]
  if (url !== null && model !== null) return await openModel(`openai-compatible:${url}#${model}`, options)
  throw new HearthError('invalid_request', 'there is no model: neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set', {
    suggestion:
      'Set one of them, or OPENAI_COMPATIBLE_URL and OPENAI_COMPATIBLE_MODEL, name a model with --model, or try it out with --model scripted:FILE.',
  })
}

function variable(name: string): string | null {
  const value = process.env[name]
  return value === undefined || value === '' ? null : value
}
