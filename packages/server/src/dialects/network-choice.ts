import {
  HearthError,
  PRESET_NAMES,
  wholePolicy,
  type CreateSandbox,
  type Policy,
  type PresetName,
} from '@hearth/contract'

/** The entry of the metadata with which clients of other vendors choose what is reachable. It stays visible. */
const ALLOW_KEY = 'hearth.allow'
const MOST_WORDS = 100

/**
 * What single words allow: presets such as `pypi`, names such as `api.example.com`, `*.example.com` or `example.com:8443`, `public` for everything
 * that is public, `none` for nothing. `where` is what a refusal begins with.
 */
export function policyOfWords(words: readonly string[], where: string): Policy {
  if (words.length === 0 || words.length > MOST_WORDS) {
    throw new HearthError('invalid_request', `${where}: must have 1 to ${MOST_WORDS} words`)
  }
  const alone = words.find((word) => word === 'public' || word === 'none')
  if (alone !== undefined) {
    if (words.length > 1) throw new HearthError('invalid_request', `${where}: ${alone} stands alone`)
    return alone === 'public' ? { mode: 'audit' } : {}
  }
  const presets = words.filter(isPreset)
  const allow = words.filter((word) => !isPreset(word))
  // A preset that is misspelt would be the name of a host that there is not.
  const unknown = allow.find((word) => !word.includes('.'))
  if (unknown !== undefined) {
    throw new HearthError('invalid_request', `${where}: ${unknown.slice(0, 64)} is neither a name nor a preset`, {
      suggestion: `Presets are ${PRESET_NAMES.join(', ')}; public allows everything that is public.`,
    })
  }
  const policy = { ...(presets.length === 0 ? {} : { presets }), ...(allow.length === 0 ? {} : { allow }) }
  wholePolicy(policy)
  return policy
}

function isPreset(word: string): word is PresetName {
  return PRESET_NAMES.some((name) => name === word)
}

/** What a new sandbox may reach: what its metadata or the vendor's own options name, or else what the operator gives to all that name nothing. */
export function reachOf(
  metadata: Readonly<Record<string, string>>,
  usual: Policy | null,
  named: Policy | null = null,
): Pick<CreateSandbox, 'policy'> {
  const text = metadata[ALLOW_KEY]
  const where = `metadata.${ALLOW_KEY}`
  if (text !== undefined && named !== null) {
    throw new HearthError('invalid_request', `${where}: the options for the network say something else`)
  }
  const words = text?.split(/[\s,]+/).filter((word) => word !== '')
  const policy = words === undefined ? (named ?? usual) : policyOfWords(words, where)
  return policy === null ? {} : { policy }
}
