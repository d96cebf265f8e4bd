import { existsSync } from 'node:fs'
import { appendFile, chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureBareRepository } from './bare-repository.ts'
import { wholeBlob, commitCommands } from './fast-import.ts'
import { git } from './git-process.ts'

describe("the host's git", () => {
  let root: string
  let directory: string
  let commit: string

  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'hearth-git-'))
    directory = join(root, 'repository.git')
    await ensureBareRepository(directory)
    const entry = { path: 'file', mode: '100644', mark: 1 } as const
    const input = [wholeBlob(1, Buffer.from('content')), commitCommands({ branch: 'b', base: null, entries: [entry] })]
    commit = (await git(['fast-import', '--quiet', '--done'], { directory, input })).toString().trim()
  })

  afterAll(() => rm(root, { recursive: true }))

  it('runs no hook, and knows nothing of the environment and the configuration of its user', async () => {
    const marker = join(root, 'marker')
    const program = join(root, 'program')
    await writeFile(program, `#!/bin/sh\ntouch ${marker}\n`)
    await chmod(program, 0o755)
    await mkdir(join(directory, 'hooks'), { recursive: true })
    await writeFile(join(directory, 'hooks/reference-transaction'), `#!/bin/sh\ntouch ${marker}\n`, { mode: 0o755 })
    await writeFile(join(root, '.gitconfig'), `[alias]\n\tshow-ref = !${program}\n[diff]\n\texternal = ${program}\n`)
    const before = { ...process.env }
    Object.assign(process.env, { HOME: root, GIT_DIR: '/nowhere', GIT_EXTERNAL_DIFF: program, GIT_TRACE: '1' })
    try {
      await git(['update-ref', 'refs/heads/here', commit], { directory })
      expect((await git(['show-ref'], { directory })).toString()).toBe(`${commit} refs/heads/here\n`)
      const shown = await git(['log', '-p', '--ext-diff', 'here'], { directory })
      expect(shown.toString()).toContain('+content')
    } finally {
      process.env = before
    }
    expect(existsSync(marker)).toBe(false)
  })

  it('reads no other repository and opens no connection unless it is given leave', async () => {
    for (const place of [
      `file://${directory}`,
      directory,
      'https://127.0.0.1:1/x',
      'ext::sh -c true',
      'ssh://127.0.0.1/x',
    ]) {
      await expect(git(['ls-remote', place], { directory }), place).rejects.toThrow(/not allowed/)
    }
    const reach = { protocols: ['file'] }
    expect((await git(['ls-remote', directory], { directory, reach })).toString()).toContain(commit)
  })

  it('speaks no protocol that only the repository allows', async () => {
    const hostile = join(root, 'hostile.git')
    const marker = join(root, 'spoken')
    await ensureBareRepository(hostile)
    await appendFile(join(hostile, 'config'), '[protocol "ext"]\n\tallow = always\n')
    const address = `ext::touch ${marker}`
    await expect(git(['ls-remote', address], { directory: hostile })).rejects.toThrow(/not allowed/)
    const reach = { protocols: ['https', 'file'] }
    await expect(git(['ls-remote', address], { directory: hostile, reach })).rejects.toThrow(/not allowed/)
    expect((await git(['ls-remote', directory], { directory: hostile, reach })).toString()).toContain(commit)
    expect(existsSync(marker)).toBe(false)
  })

  it('is ended when it takes too long or nobody waits for it, with what it has started', async () => {
    const input = async function* (): AsyncGenerator<Uint8Array, void> {
      yield Buffer.from('HEAD\n')
      await sleep(60_000, undefined, { ref: false })
    }
    const batch = ['cat-file', '--batch']
    await expect(git(batch, { directory, input: input(), timeoutMs: 100 })).rejects.toMatchObject({ code: 'timeout' })
    const given = new AbortController()
    setTimeout(() => given.abort(), 50)
    const call = git(batch, { directory, input: input(), signal: given.signal })
    await expect(call).rejects.toMatchObject({ code: 'aborted' })
    await expect(git(batch, { directory, signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' })
  })

  it('may write so much and no more', async () => {
    const args = ['cat-file', 'blob', `${commit}:file`]
    expect((await git(args, { directory, mostBytes: 7 })).toString()).toBe('content')
    await expect(git(args, { directory, mostBytes: 6 })).rejects.toMatchObject({ code: 'body_too_large' })
  })
})
