import { createHash } from 'node:crypto'
import type { Secret, SecretPlacement } from '@hearth/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isSigned, signAnew, type Signable } from '../secrets/sigv4.ts'
import { startGateway, type TestGateway } from './inspected.fixture.ts'
import type { Headers } from './message.ts'
import { curlFor, startServer, type Curl, type TestServer } from './servers.fixture.ts'

const NAME = 'aws.test'
const real = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'
const other = 'aBcDeFgHiJ/KlMnOpQ+rStUvWxYz0123456789ab'
const EMPTY = createHash('sha256').digest('hex')

function secretOf(placeholder: string, value: string, placement: SecretPlacement = { in: 'aws' }) {
  return { name: 'AWS', value, placeholder, binding: { name: NAME, placement } }
}

/** The example of the service's own documentation. */
const example: Signable = {
  method: 'GET',
  target: '/?Action=ListUsers&Version=2010-05-08',
  host: 'iam.amazonaws.com',
  headers: [
    ['Content-Type', 'application/x-www-form-urlencoded; charset=utf-8'],
    ['X-Amz-Date', '20150830T123600Z'],
    [
      'Authorization',
      'AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/iam/aws4_request, SignedHeaders=content-type;host;x-amz-date, Signature=5d672d79c15b13162d9279b0855cfba6789a8edb4c82c400e06b5924a6f2b5d7',
    ],
  ],
}

function signedWith(request: Signable, authorization: string): Signable {
  return { ...request, headers: [...request.headers.slice(0, -1), ['authorization', authorization]] }
}

describe('Signature Version 4', () => {
  it('agrees with the example of the documentation, both ways', () => {
    const anew = signAnew(example, example, EMPTY, secretOf(real, other)) ?? ''
    expect(anew).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE.*Signature=[0-9a-f]{64}$/)
    const back = signAnew(signedWith(example, anew), example, EMPTY, secretOf(other, real))
    expect(back).toBe(example.headers.at(-1)?.[1])
  })

  it('is made anew only for what was signed with the placeholder, and within the binding', () => {
    expect(signAnew(example, example, EMPTY, secretOf(other, real))).toBeNull()
    expect(signAnew({ ...example, target: '/?Action=DeleteUser' }, example, EMPTY, secretOf(real, other))).toBeNull()
    expect(signAnew(example, example, EMPTY, secretOf(real, other, { in: 'aws', region: 'eu-west-1' }))).toBeNull()
    expect(signAnew(example, example, EMPTY, secretOf(real, other, { in: 'aws', service: 's3' }))).toBeNull()
    expect(
      signAnew(example, example, EMPTY, secretOf(real, other, { in: 'aws', service: 'iam', region: 'us-east-1' })),
    ).not.toBeNull()
  })

  it('covers only what is sent', () => {
    const goes = { ...example, headers: example.headers.filter(([name]) => name !== 'Content-Type') }
    expect(signAnew(example, goes, EMPTY, secretOf(real, other))).toContain('SignedHeaders=host;x-amz-date,')
  })

  it('other kinds are refused', () => {
    const streaming: Headers = [...example.headers, ['x-amz-content-sha256', 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD']]
    expect(() => isSigned(streaming)).toThrow(/chunk by chunk/)
    expect(() => isSigned([['authorization', 'AWS4-ECDSA-P256-SHA256 Credential=x']])).toThrow(/only AWS4-HMAC-SHA256/)
    expect(isSigned([['authorization', 'Bearer x']])).toBe(false)
    expect(isSigned([...example.headers, ['x-amz-content-sha256', 'STREAMING-UNSIGNED-PAYLOAD-TRAILER']])).toBe(true)
  })

  describe('of an unmodified client', () => {
    let server: TestServer
    let gateway: TestGateway
    let curl: Curl
    let remove: () => Promise<void>

    beforeAll(async () => {
      const secrets: Secret[] = [{ name: 'AWS', value: real, binding: { name: NAME, placement: { in: 'aws' } } }]
      server = await startServer((_request, response) => void response.end('ok'))
      gateway = await startGateway({
        name: NAME,
        upstreamPort: server.port,
        upstreamRoot: server.root,
        secrets,
        limits: { bodyBytes: 1000 },
      })
      ;({ curl, remove } = await curlFor(NAME, gateway.port, gateway.root))
    })

    afterAll(async () => {
      gateway.close()
      server.close()
      await remove()
    })

    it('reaches the server with the signature of the secret', async () => {
      const own = gateway.secrets.all[0]?.placeholder ?? ''
      const sign = ['--aws-sigv4', 'aws:amz:us-east-1:execute-api', '-u', `AKIDEXAMPLE:${own}`, '-H', `Host: ${NAME}`]
      const url = `https://${NAME}:${gateway.port}/things?a=1&b=2`
      expect(await curl('--http1.1', ...sign, '-d', '{"x":1}', url)).toMatchObject({ status: 200 })
      expect(gateway.entries.at(-1)).toMatchObject({ kind: 'request', secrets: ['AWS'] })
      const request = server.requests.at(-1)
      const headers = request?.headers ?? {}
      const arrived: Signable = {
        method: 'POST',
        target: '/things?a=1&b=2',
        host: String(headers['host']),
        headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
      }
      const hash = createHash('sha256')
        .update(request?.body ?? '')
        .digest('hex')
      expect(signAnew(arrived, arrived, hash, secretOf(real, other))).not.toBeNull()
      const large = await curl('--http1.1', ...sign, '-d', 'y'.repeat(2000), url)
      expect(large.status).toBe(403)
      expect(large.body).toContain('cannot be signed anew')
    })
  })
})
