import { once } from 'node:events'
import { createServer, type AddressInfo, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HearthError } from '@hearth/contract'
import { errorBody } from '../http/refusal.ts'
import { recordedMessage } from './dial-refused.ts'
import { Dialer } from './dialer.ts'

describe('the dialer', () => {
  let server: Server
  let port: number

  beforeAll(async () => {
    server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.end('here')
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  })

  afterAll(() => server.close())

  it('dials what the policy names, though it is not public', async () => {
    const dialer = new Dialer(async () => ['127.0.0.1'])
    const socket = await dialer.dial('a.test', port, { addresses: ['127.0.0.0/8'] })
    const [chunk] = (await once(socket, 'data')) as [Buffer]
    expect(chunk.toString()).toBe('here')
    socket.destroy()
  })

  it.each([['127.0.0.1'], ['::ffff:127.0.0.1'], ['169.254.169.254'], ['::1'], ['nonsense']])(
    'never dials %s otherwise',
    async (address) => {
      const dialer = new Dialer(async () => [address])
      await expect(dialer.dial('a.test', port, { addresses: [] })).rejects.toMatchObject({
        code: 'egress_refused',
        context: { refusal: 'address_not_public' },
      })
    },
  )

  it('says where a name leads in the record alone', async () => {
    const refused = await new Dialer(async () => ['10.1.2.3'])
      .dial('a.test', port, { addresses: [] })
      .catch((error: unknown) => error)
    if (!HearthError.isInstance(refused)) throw new Error('it was dialed')
    expect(errorBody(refused).toString()).not.toContain('10.1.2.3')
    expect(recordedMessage(refused)).toContain('10.1.2.3')
  })

  it('tries the next address, and asks for the name once only', async () => {
    let asked = 0
    const dialer = new Dialer(async () => {
      asked++
      return ['169.254.169.254', '127.0.0.2', '127.0.0.1']
    })
    const socket = await dialer.dial('a.test', port, { addresses: ['127.0.0.0/8'] })
    expect([socket.remoteAddress, asked]).toEqual(['127.0.0.1', 1])
    socket.destroy()
  })

  it('gives up when nobody waits any more, but never a connection that was made', async () => {
    const dialer = new Dialer(async () => ['127.0.0.1'])
    const abort = new AbortController()
    const socket = await dialer.dial('a.test', port, { addresses: ['127.0.0.0/8'], signal: abort.signal })
    abort.abort()
    expect(socket.destroyed).toBe(false)
    socket.destroy()
    await expect(
      dialer.dial('a.test', port, { addresses: ['127.0.0.0/8'], signal: abort.signal }),
    ).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('says that a name has no address, and that nobody listens', async () => {
    const none = new Dialer(() => Promise.reject(new Error('ENOTFOUND')))
    await expect(none.dial('a.test', port, { addresses: [] })).rejects.toMatchObject({
      code: 'egress_refused',
      context: { refusal: 'name_not_found' },
    })
    const closed = new Dialer(async () => ['127.0.0.1'])
    await expect(closed.dial('a.test', 1, { addresses: ['127.0.0.1/32'] })).rejects.toMatchObject({
      code: 'port_refused',
    })
  })
})
