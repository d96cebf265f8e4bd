import { type Hearth, HearthError, type RunInfo } from '@hearth/sdk'

const WHOLE = /^run_[0-9a-z]{20}$/
/** As for sandboxes. */
const SHORTEST_PART = 4
const PART = /^[0-9a-z]+$/

/** The run that a person names: by its identifier, or by so much of its beginning or end that only one fits. */
export async function findRun(hearth: Hearth, name: string): Promise<RunInfo> {
  if (WHOLE.test(name)) return await hearth.runs.get(name)
  const part = name.replace(/^run_/, '')
  const found: RunInfo[] = []
  if (PART.test(part) && part.length >= SHORTEST_PART) {
    for await (const run of hearth.runs.list({ limit: 1000 })) {
      const own = run.id.slice('run_'.length)
      if (own.startsWith(part) || (!name.startsWith('run_') && own.endsWith(part))) found.push(run)
    }
  }
  const [only, ...others] = found
  if (only === undefined) {
    throw new HearthError('run_not_found', `there is no run ${JSON.stringify(name)}`, {
      suggestion: `Give what \`hearth agent ls\` shows, or at least ${SHORTEST_PART} characters of its beginning or end.`,
    })
  }
  if (others.length === 0) return only
  throw new HearthError('invalid_request', `${name} fits ${found.length} runs`, {
    suggestion: 'Give more of the identifier; its end is different for each.',
  })
}
