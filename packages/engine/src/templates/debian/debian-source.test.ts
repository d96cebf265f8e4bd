import type { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readAptSources } from './apt-sources.ts'
import { DEBIAN_RECIPES, recipeDigest } from './recipe.ts'
import { runBuild } from './run-build.ts'

const drain = async (output: Readable): Promise<void> => void output.resume()
const never = new AbortController().signal

describe('apt sources', () => {
  it('are those of the machine for its own release', async () => {
    const { suite, lines, options } = await readAptSources()
    expect(lines.length).toBeGreaterThan(0)
    for (const line of lines)
      expect(line).toMatch(new RegExp(`^deb \\S+ ${suite}(-updates|-security)? (main|universe)$`))
    for (const option of options) expect(option).toMatch(/^Acquire::/)
  })
})

describe('a build tool', () => {
  it('has its steps told and its output consumed', async () => {
    const lines: string[] = []
    let received = ''
    await runBuild({
      tool: 'sh',
      suggestion: null,
      argv: ['sh', '-c', 'echo "I: first" >&2; echo noise >&2; echo "I: running --hook" >&2; cat; echo "I: last" >&2'],
      input: 'given',
      progress: (line) => lines.push(line),
      signal: never,
      consume: async (output) => {
        for await (const chunk of output) received += String(chunk)
      },
    })
    expect([lines, received]).toEqual([['first', 'last'], 'given'])
  })

  it('that fails says why', async () => {
    const failing = {
      tool: 'sh',
      suggestion: null,
      argv: ['sh', '-c', 'echo "E: the reason" >&2; exit 3'],
      input: '',
      progress: () => undefined,
      signal: never,
      consume: drain,
    }
    await expect(runBuild(failing)).rejects.toMatchObject({
      code: 'template_build_failed',
      message: expect.stringContaining('E: the reason') as unknown,
    })
    await expect(runBuild({ ...failing, argv: ['no-such-tool'] })).rejects.toMatchObject({
      code: 'template_build_failed',
    })
  })

  it('is ended with all that it started when the caller gives up', async () => {
    const started = performance.now()
    const build = runBuild({
      tool: 'sh',
      suggestion: null,
      argv: ['sh', '-c', 'sleep 100 & sleep 100'],
      input: '',
      progress: () => undefined,
      signal: AbortSignal.timeout(200),
      consume: drain,
    })
    await expect(build).rejects.toThrow(/abort|timeout/i)
    expect(performance.now() - started).toBeLessThan(4000)
  })
})

describe('recipes', () => {
  it('have digests of their own', () => {
    expect(new Set(DEBIAN_RECIPES.map(recipeDigest)).size).toBe(DEBIAN_RECIPES.length)
  })
})
