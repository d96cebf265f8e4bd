import { expect, it, vi } from 'vitest'
import { answerChallenge } from './registry-auth.ts'

const given = { username: 'me', password: 'secret' }
const { signal } = new AbortController()

it.each([
  ['http://tokens.example.com/token', 'registry.example.com'],
  ['http://127.0.0.1:1/token', 'registry.example.com'],
  ['http://localhost:1/token', 'registry.example.com:5000'],
  ['http://registry.example.com/token', '127.0.0.1:5000'],
  ['ftp://registry.example.com/token', 'registry.example.com'],
])('a password is not sent to %s for %s', async (realm, registry) => {
  const fetch = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new Error('no request is made'))
  try {
    const answer = answerChallenge(`Bearer realm="${realm}"`, { registry, given, signal })
    await expect(answer).rejects.toMatchObject({ code: 'registry_failed' })
    expect(fetch).not.toHaveBeenCalled()
  } finally {
    fetch.mockRestore()
  }
})

it('a password goes to where the registry gives its tokens out, over HTTPS', async () => {
  const fetch = vi.spyOn(globalThis, 'fetch').mockResolvedValue(new Response('{"token":"t"}'))
  try {
    const challenge = 'Bearer realm="https://tokens.example.com/token",service="s",scope="x"'
    expect(await answerChallenge(challenge, { registry: 'registry.example.com', given, signal })).toBe('Bearer t')
    const authorization = `Basic ${Buffer.from('me:secret').toString('base64')}`
    expect(fetch).toHaveBeenCalledWith(new URL('https://tokens.example.com/token?service=s&scope=x'), {
      signal,
      headers: { authorization },
      redirect: 'manual',
    })
  } finally {
    fetch.mockRestore()
  }
})
