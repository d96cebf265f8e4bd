import { BOUNDS } from '@hearth/contract'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createPullRequest, type PullRequestOptions } from './create-pull-request.ts'
import { placeOf, recogniseForge } from './forge.ts'
import { ForgeServer, reply } from './forge-server.fixture.ts'

let server: ForgeServer
beforeEach(async () => {
  server = await ForgeServer.start()
})
afterEach(() => server[Symbol.asyncDispose]())

const NEVER = new AbortController().signal
const LOOPBACK = ['127.0.0.0/8']

const KINDS = [
  { kind: 'github', path: '/owner/name.git' },
  { kind: 'gitlab', path: '/group/sub/name.git' },
] as const
type Kind = (typeof KINDS)[number]

function ask({ kind, path }: Kind, change: Partial<PullRequestOptions> = {}) {
  return createPullRequest({
    forge: { kind },
    remoteUrl: `${server.url}${path}`,
    token: server.token,
    branch: 'hearth/fix',
    base: 'main',
    title: 'A fix',
    body: 'What it does.',
    signal: NEVER,
    networks: LOOPBACK,
    ...change,
  })
}

const failure = (work: Promise<unknown>): Promise<{ code: string; message: string; context: object }> =>
  work.then(
    () => expect.fail('it was not refused'),
    (error) => error,
  )

describe.each(KINDS)('pull requests of $kind', (kind) => {
  it('are made once for a branch', async () => {
    const made = await ask(kind, { draft: true })
    expect(made).toMatchObject({ forge: kind.kind, number: 1, created: true, url: expect.stringMatching(/\/1$/) })
    expect(server.open).toMatchObject([{ branch: 'hearth/fix', base: 'main', body: 'What it does.', draft: true }])
    expect(await ask(kind)).toEqual({ ...made, created: false })
    expect(await ask(kind, { branch: 'other' })).toMatchObject({ number: 2, created: true })
    expect(server.asked.every(({ headers }) => headers['user-agent'] === 'hearth')).toBe(true)
  })

  it('are found when somebody else was faster', async () => {
    server.interfere = ({ method }) => {
      if (method === 'POST' && server.open.length === 0)
        server.add({ branch: 'hearth/fix', base: 'main', title: 'Theirs', body: '', draft: false })
      return false
    }
    expect(await ask(kind)).toMatchObject({ number: 1, created: false })
  })

  it('are refused with what the forge says, and without the token', async () => {
    const same = await failure(ask(kind, { branch: 'main' }))
    expect(same).toMatchObject({ code: 'forge_failed', context: { status: kind.kind === 'github' ? 422 : 400 } })
    expect(same.message).toMatch(kind.kind === 'github' ? /No commits between/ : /source_branch is the target/)
    const denied = await failure(ask(kind, { token: 'wrong-token' }))
    expect(denied).toMatchObject({ code: 'forge_failed', message: expect.stringContaining('Bad credentials') })
    server.interfere = ({ headers }, answer) => {
      reply(answer, 500, { message: `you sent ${headers.authorization}\u001b[31m${'x'.repeat(5000)}` })
      return true
    }
    const told = await failure(ask(kind))
    expect(JSON.stringify({ ...told, message: told.message })).not.toContain(server.token)
    expect(told.message).not.toContain('\u001b')
    expect(told.message.length).toBeLessThan(700)
  })

  it('wait as long as the forge says', async () => {
    server.interfere = (_asked, answer) => {
      reply(answer, 403, { message: 'rate limit exceeded' }, { 'x-ratelimit-remaining': '0', 'retry-after': '7' })
      return true
    }
    expect(await failure(ask(kind))).toMatchObject({
      code: 'forge_failed',
      message: expect.stringContaining('too many calls'),
      context: { status: 403, retryAfterMs: 7000 },
    })
  })

  it.each([
    ['no JSON', '<html>'],
    ['no list', '{}'],
    ['something else in the list', '[{"number":"x","iid":0}]'],
    ['an address that is none', '[{"number":1,"html_url":"javascript:alert(1)","iid":1,"web_url":"file:///etc"}]'],
    ['more than is read', `["${'x'.repeat(BOUNDS.forgeAnswerBytes)}"]`],
  ])('refuse an answer with %s', async (_what, body) => {
    server.interfere = (_asked, answer) => {
      answer.writeHead(200).end(body)
      return true
    }
    expect(await failure(ask(kind))).toMatchObject({ code: 'forge_failed' })
  })

  it('follow a repository that moved on the same server, and take the token nowhere else', async () => {
    await using stranger = await ForgeServer.start()
    const { pathname } = new URL(placeOf({ kind: kind.kind }, `${server.url}${kind.path}`).api)
    server.interfere = ({ path, method }, answer) => {
      if (path.includes('moved')) return false
      reply(answer, method === 'GET' ? 301 : 307, {}, { location: `${path}${path.includes('?') ? '&' : '?'}moved=1` })
      return true
    }
    expect(await ask(kind)).toMatchObject({ created: true })
    server.interfere = (_asked, answer) => {
      reply(answer, 302, {}, { location: `${stranger.url}${pathname}` })
      return true
    }
    expect(await failure(ask(kind))).toMatchObject({ message: expect.stringContaining('another server') })
    server.interfere = ({ path }, answer) => {
      reply(answer, 301, {}, { location: path })
      return true
    }
    expect(await failure(ask(kind))).toMatchObject({ message: expect.stringContaining('without end') })
    expect(stranger.asked).toEqual([])
  })

  it('give up a server that does not answer, and one that nobody waits for', async () => {
    server.interfere = () => true
    const caller = new AbortController()
    setTimeout(() => caller.abort(), 50)
    expect(await failure(ask(kind, { signal: caller.signal }))).toMatchObject({ code: 'aborted' })
    const soon = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
      const late = new AbortController()
      setTimeout(() => late.abort(), 50)
      return late.signal
    })
    expect(await failure(ask(kind))).toMatchObject({ message: expect.stringContaining(`within ${BOUNDS.forgeMs} ms`) })
    soon.mockRestore()
  })

  it('reach only addresses that are public or allowed', async () => {
    expect(await failure(ask(kind, { networks: [] }))).toMatchObject({ code: 'egress_refused' })
    expect(server.asked).toEqual([])
  })
})

describe('a forge', () => {
  it('is recognised by its host, and has its API at the usual place', () => {
    expect(recogniseForge('https://github.com/owner/name')).toEqual({ kind: 'github' })
    expect(recogniseForge('https://gitlab.com/group/name.git')).toEqual({ kind: 'gitlab' })
    expect(recogniseForge('https://git.example.com/a/b')).toBeNull()
    expect(recogniseForge('https://github.com.example.com/a/b')).toBeNull()
    const api = (...[forge, url]: Parameters<typeof placeOf>): string => placeOf(forge, url).api.href
    expect(api(null, 'https://github.com/owner/name')).toBe('https://api.github.com/')
    expect(api(null, 'https://gitlab.com/group/name')).toBe('https://gitlab.com/api/v4')
    expect(api({ kind: 'github' }, 'https://git.example.com/a/b')).toBe('https://git.example.com/api/v3')
    const elsewhere = { kind: 'gitlab', apiUrl: 'https://api.example.com/gitlab/' } as const
    expect(api(elsewhere, 'https://git.example.com/a/b')).toBe('https://api.example.com/gitlab/')
  })

  it.each([
    [null, 'https://git.example.com/a/b'],
    [null, '/srv/repository'],
    [null, 'https://github.com/name'],
    [null, 'https://github.com/a/b/c'],
    [null, 'https://github.com/a/..%2f..%2fb'],
    [null, 'https://github.com/a/%zz'],
    [{ kind: 'gitlab', apiUrl: 'ftp://example.com' }, 'https://git.example.com/a/b'],
    [{ kind: 'gitlab', apiUrl: 'https://user:pass@example.com' }, 'https://git.example.com/a/b'],
  ] as const)('is refused for %o %s', (forge, url) => {
    expect(() => placeOf(forge, url)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  })
})
