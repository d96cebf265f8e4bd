import { HearthError, type SecretPlacement } from '@hearth/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Header } from '../http/message.ts'
import { checkPush, PushRefusedError, readPushCommands } from './git-push.ts'
import { placeInHead } from './place-in-head.ts'
import { placeInJson } from './place-in-json.ts'
import { SandboxSecrets } from './sandbox-secrets.ts'

const value = 'sk-live-"Q/4f9a8b7c6d5e4f3a2b1c0d9e'

function secretsFor(placement: SecretPlacement): { secrets: SandboxSecrets; placeholder: string } {
  const secrets = new SandboxSecrets([{ name: 'S', value, binding: { name: 'a.test', placement } }])
  return { secrets, placeholder: secrets.all[0]?.placeholder ?? '' }
}

/** What comes out, or null when it is refused. */
function unlessRefused<T>(work: () => T): T | null {
  try {
    return work()
  } catch (error) {
    return refused(error)
  }
}

function refused(error: unknown): null {
  if (HearthError.isInstance(error) && error.context['refusal'] === 'placeholder_misplaced') return null
  throw error
}

const word = fc.stringMatching(/^[a-z0-9-]{1,12}$/)
const some = fc.array(fc.tuple(word, word), { maxLength: 5 })

describe('placements', () => {
  it('a header: the value is in that one alone, or nowhere', () => {
    const { secrets, placeholder } = secretsFor({ in: 'header', header: 'authorization' })
    const where = fc.constantFrom('authorization', 'Authorization', 'cookie', 'x-other', 'authorization2')
    const around = fc.constantFrom(
      '@',
      'Bearer @',
      'token @',
      'Basic @',
      ' @',
      '@ ',
      'x=@',
      'Bearer  @',
      'a b @',
      '@@',
      'Bearer @, x',
    )
    fc.assert(
      fc.property(some, where, around, fc.boolean(), (others, name, form, twice) => {
        const header: Header = [name, form.replaceAll('@', placeholder)]
        const headers: Header[] = [...others, header, ...(twice ? [header] : [])]
        const placed = unlessRefused(() => placeInHead({ target: '/', headers }, secrets.all, secrets.watch))
        const fits = name.toLowerCase() === 'authorization' && /^([A-Za-z]+ )?@$/.test(form) && !twice
        expect(placed !== null).toBe(fits)
        if (placed === null) return
        expect(placed.headers.filter(([, text]) => text.includes(value))).toEqual([[name, form.replace('@', value)]])
        expect(JSON.stringify(placed.headers)).not.toContain(placeholder)
      }),
    )
  })

  it('a query key: the value is there alone, or nowhere', () => {
    const { secrets, placeholder } = secretsFor({ in: 'query', key: 'api key' })
    const key = fc.constantFrom('api%20key', 'api+key', 'key', 'api', 'api%20key2')
    fc.assert(
      fc.property(some, key, fc.constantFrom('@', 'x@', '@x'), (others, name, form) => {
        const pairs = [
          ...others.map(([one, other]) => `${one}=${other}`),
          `${name}=${form.replace('@', encodeURIComponent(placeholder))}`,
        ]
        const target = `/p?${pairs.join('&')}`
        const placed = unlessRefused(() => placeInHead({ target, headers: [] }, secrets.all, secrets.watch))
        expect(placed !== null).toBe(form === '@' && (name === 'api%20key' || name === 'api+key'))
        if (placed !== null) expect(new URL(placed.target, 'https://x').searchParams.get('api key')).toBe(value)
      }),
    )
  })

  it('a field of JSON: nothing else changes', async () => {
    const { secrets, placeholder } = secretsFor({ in: 'json', field: 'auth.token' })
    const place = async (body: Buffer): ReturnType<typeof placeInJson> =>
      await placeInJson(body, secrets.all, secrets.watch)
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.constantFrom('token', 'other'), fc.boolean(), async (noise, field, again) => {
        const document = { noise, auth: { [field]: placeholder }, ...(again ? { more: placeholder } : {}) }
        const body = Buffer.from(JSON.stringify(document, null, 1))
        const placed = await place(body).catch(refused)
        expect(placed !== null).toBe(field === 'token' && !again)
        if (placed === null) return
        expect(JSON.parse(placed.body.toString())).toEqual(
          JSON.parse(JSON.stringify({ noise, auth: { token: value } })),
        )
      }),
    )
    for (const text of [
      `{"x":${JSON.stringify(placeholder)},"auth":{"token":"${Array.from(placeholder, (one) => `\\u00${one.charCodeAt(0).toString(16)}`).join('')}"}}`,
      `{"auth":{"token":"x"},"auth":{"TOKEN":${JSON.stringify(placeholder)}}}`,
      `not json ${placeholder}`,
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- a few of them
      expect(await place(Buffer.from(text)).catch(refused)).toBeNull()
    }
  })
})

describe('the changes of a push', () => {
  const id = '0123456789abcdef0123456789abcdef01234567'
  const line = (text: string): string => `${(text.length + 4).toString(16).padStart(4, '0')}${text}`
  const push = (refs: readonly string[]): Buffer =>
    Buffer.from(
      `${refs.map((ref, at) => line(`${id} ${id} ${ref}${at === 0 ? '\0 report-status side-band-64k' : ''}`)).join('')}0000PACK...`,
    )

  it('are read whole, however they are cut', () => {
    const bytes = push(['refs/heads/a', 'refs/heads/b/c'])
    const end = bytes.indexOf('0000PACK') + 4
    for (let length = 0; length < end; length++)
      expect(readPushCommands(bytes.subarray(0, length)).kind).toBe('incomplete')
    expect(readPushCommands(bytes)).toMatchObject({ refs: ['refs/heads/a', 'refs/heads/b/c'] })
  })

  it('that are none are refused', () => {
    for (const text of [
      'zzzz',
      '0001',
      '0003',
      line('push-cert\0 x'),
      line(`${id} ${id}`),
      line(`${id} ${id} a b`),
      line('x y z'),
    ]) {
      expect(() => readPushCommands(Buffer.from(`${text}0000`))).toThrow(/push/)
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => quietly(() => readPushCommands(Buffer.from(bytes)))),
    )
  })

  it.each([
    [['main'], 'refs/heads/main', true],
    [['main'], 'refs/heads/main2', false],
    [['main'], 'refs/tags/main', false],
    [['main'], 'refs/heads/MAIN', false],
    [['a.b'], 'refs/heads/axb', false],
    [['*'], 'refs/heads/anything/at/all', true],
    [['*'], 'refs/for/main', false],
    [['agent/*'], 'refs/heads/agent/x/y', true],
    [['agent/*'], 'refs/heads/agents', false],
    [[], 'refs/heads/main', false],
  ])('branches %j, %s: %s', (branches, ref, allowed) => {
    const commands = readPushCommands(push([ref]))
    if (commands.kind !== 'commands') throw new Error('incomplete')
    if (allowed) checkPush(commands, branches)
    else expect(() => checkPush(commands, branches)).toThrow(PushRefusedError)
  })

  it.each([
    [' report-status push-options', ''],
    ['', ' push-options'],
    [' report-status\tpush-options', ''],
    [' report-status push-options=1', ''],
    [' report-status\0push-options', ''],
  ])('options are refused wherever git would heed them: %j, then %j', (...capabilities) => {
    const lines = capabilities.map((some, index) => line(`${id} ${id} refs/heads/a${index}\0${some}`))
    const commands = readPushCommands(Buffer.from(`${lines.join('')}0000`))
    if (commands.kind !== 'commands') throw new Error('incomplete')
    expect(() => checkPush(commands, ['*'])).toThrow(/without options/)
  })

  it.each(['a/../main', 'a/./b', 'a//b', 'a\tb', 'a\nb', 'a/'])(
    'no name that two servers could read differently: %j',
    (name) => {
      const commands = readPushCommands(push([`refs/heads/${name}`]))
      if (commands.kind !== 'commands') throw new Error('incomplete')
      expect(() => checkPush(commands, ['*'])).toThrow(PushRefusedError)
    },
  )

  it('no pattern and no name make the gateway stand still', () => {
    const commands = readPushCommands(push([`refs/heads/${'a'.repeat(60_000)}`]))
    if (commands.kind !== 'commands') throw new Error('incomplete')
    const started = performance.now()
    expect(() => checkPush(commands, [`${'*a'.repeat(100)}b`])).toThrow(PushRefusedError)
    expect(performance.now() - started).toBeLessThan(1000)
  })

  function quietly(work: () => unknown): void {
    try {
      work()
    } catch (error) {
      if (!HearthError.isInstance(error)) throw error
    }
  }
})
