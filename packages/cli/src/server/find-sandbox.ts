import { type Hearth, HearthError, type RemoteSandbox } from '@hearth/sdk'

const WHOLE = /^sb_[0-9a-z]{20}$/
/** A part must be this long: one letter would name whatever happens to be alone. */
const SHORTEST_PART = 4
const PART = /^[0-9a-z]+$/

/** The sandbox that a person names: by its identifier, or by so much of its beginning or end that only one fits. */
export async function findSandbox(hearth: Hearth, name: string, signal?: AbortSignal): Promise<RemoteSandbox> {
  const options = signal === undefined ? {} : { signal }
  const id = WHOLE.test(name) ? name : await wholeId(hearth, name, options)
  try {
    return await hearth.get(id, options)
  } catch (error) {
    if (HearthError.isInstance(error) && error.code === 'sandbox_not_found') throw notFound(id)
    throw error
  }
}

async function wholeId(hearth: Hearth, name: string, options: { readonly signal?: AbortSignal }): Promise<string> {
  const part = name.replace(/^sb_/, '')
  if (!PART.test(part) || part.length < SHORTEST_PART || part.length > 20) throw notAnId(name)
  const found: string[] = []
  for await (const { id } of hearth.list({ limit: 1000, ...options })) {
    const own = id.slice('sb_'.length)
    if (own.startsWith(part) || (!name.startsWith('sb_') && own.endsWith(part))) found.push(id)
  }
  const [only, ...others] = found
  if (only === undefined) throw notFound(name)
  if (others.length === 0) return only
  const shown = found.slice(0, 3).join(', ')
  throw new HearthError('invalid_request', `${name} fits ${found.length} sandboxes: ${shown}`, {
    suggestion: 'Give more of the identifier; its end is different for each.',
  })
}

function notFound(name: string): HearthError {
  return new HearthError('sandbox_not_found', `there is no sandbox ${name}`, {
    suggestion: 'It does not exist or has ended; `hearth ls` shows those that there are.',
  })
}

function notAnId(name: string): HearthError {
  return new HearthError('invalid_request', `${JSON.stringify(name)} is not the identifier of a sandbox`, {
    suggestion: `Give what \`hearth ls\` shows, or at least ${SHORTEST_PART} characters of its beginning or end.`,
  })
}
