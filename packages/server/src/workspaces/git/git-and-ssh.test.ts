import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseSshAddress, sshUrl } from '@hearth/contract'
import { ensureBareRepository, git } from '@hearth/engine/git'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { remoteFailure } from './git-failure.ts'
import { parseRemote } from './remote.ts'

let root: string
let directory: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'hearth-git-ssh-'))
  directory = join(root, 'cache.git')
  await ensureBareRepository(directory)
  await writeFile(join(root, 'ssh'), `#!/bin/sh\nprintf '%s\\0' "$@" >${root}/told\nexit 1\n`, { mode: 0o755 })
})
afterAll(() => rm(root, { recursive: true }))

/** What git starts `ssh` with. */
async function toldTo(address: string): Promise<string[]> {
  await rm(join(root, 'told'), { force: true })
  const environment = { GIT_SSH_COMMAND: join(root, 'ssh'), GIT_SSH_VARIANT: 'ssh' }
  const reach = { protocols: ['ssh'], environment }
  await expect(git(['ls-remote', '--', address], { directory, reach })).rejects.toThrow(/git ls-remote failed/)
  return (await readFile(join(root, 'told'), 'utf8')).split('\0').slice(0, -1)
}

const name = fc.stringMatching(/^[a-z0-9_][a-z0-9_.]{0,8}[a-z0-9]$/)
const path = fc.stringMatching(/^[A-Za-z0-9_~/'" $`;&|()%.é-]{1,20}$/)

it(
  'git understands an address as it was checked, and no part of it as anything else',
  { timeout: 60_000 },
  async () => {
    const form = fc.constantFrom('ssh', 'scp')
    await fc.assert(
      fc.asyncProperty(name, name, path, fc.constantFrom(22, 2222), form, async (user, host, place, port, kind) => {
        const text =
          kind === 'scp' ? `${user}@${host}:${place}` : `ssh://${user}@${host}:${port}/${encodeURIComponent(place)}`
        let address: ReturnType<typeof parseSshAddress>
        try {
          address = parseSshAddress(text)
        } catch {
          return
        }
        if (address === null) return
        const told = await toldTo(sshUrl(address))
        const quoted = address.path.replaceAll(/['!]/g, (character) => `'\\${character}'`)
        const wanted = [`${address.user}@${address.host}`, `git-upload-pack '${quoted}'`]
        expect(told.slice(-2)).toEqual(wanted)
        const before = told.slice(0, -2).join(' ')
        expect(before).toBe(
          address.port === 22 ? '-o SendEnv=GIT_PROTOCOL' : `-o SendEnv=GIT_PROTOCOL -p ${address.port}`,
        )
      }),
      { numRuns: 150 },
    )
  },
)

it.each([
  ['@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@\nHost key verification failed.', 'host_key_changed'],
  [
    'git@example.com: Permission denied (publickey).\nfatal: Could not read from remote repository.',
    'repository_denied',
  ],
  ['Load key "/proc/1/fd/3": error in libcrypto\ngit@example.com: Permission denied (publickey).', 'repository_denied'],
  ['ERROR: Repository not found.\nfatal: Could not read from remote repository.', 'repository_denied'],
  ['ssh: connect to host 127.0.0.1 port 1: Connection refused', 'repository_unreachable'],
  [' ! [rejected] a -> b (fetch first)', 'push_rejected'],
])('what is said over ssh becomes an error that tells what to do: %j', (said, code) => {
  expect(remoteFailure(parseRemote({ url: 'git@example.com:x' }))(said)).toMatchObject({ code })
})
