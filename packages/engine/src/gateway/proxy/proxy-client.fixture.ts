import { duplexPair, type Duplex } from 'node:stream'
import { EGRESS_PROXY_NAME, EGRESS_PROXY_PORT } from '@hearth/contract'
import type { Meter } from '../guest-stream.ts'
import type { ScriptedGateway } from '../scripted-gateway.fixture.ts'

/** A program inside. */
export interface ProxyClient {
  readonly stream: Duplex
  /** All that came until the end. */
  readonly answer: Promise<string>
  /** What came until nothing more did for a while. */
  silent(): Promise<string>
}

/** A program that has connected to the proxy. Null when it was not let in. */
export function dialProxy({ gateway }: ScriptedGateway, scope = 0): ProxyClient | null {
  const [inside, outside] = duplexPair()
  let opened = false
  const take = (meter: Meter): Duplex => {
    opened = true
    const write = inside.write.bind(inside) as (chunk: Buffer | string) => boolean
    Object.assign(inside, {
      write: (chunk: Buffer | string) => {
        meter.sent(Buffer.byteLength(chunk))
        return write(chunk)
      },
    })
    return outside
  }
  gateway.connect(EGRESS_PROXY_NAME, EGRESS_PROXY_PORT, null, take, scope)
  if (!opened) return null
  outside.once('close', () => inside.destroy())
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  inside.setEncoding('latin1').on('data', (chunk: string) => (text += chunk))
  inside.on('error', () => undefined).once('close', () => resolve(text))
  inside.once('end', () => {
    resolve(text)
    inside.end()
  })
  const silent = async (): Promise<string> => {
    // What a tunnel leads to may take its time.
    const begun = (): boolean => text !== '' && !text.endsWith('established\r\n\r\n')
    for (let length = -1; !inside.destroyed && (length < text.length || !begun());) {
      length = text.length
      await new Promise((pass) => setTimeout(pass, 300))
    }
    return text
  }
  return { stream: inside, answer: promise, silent }
}

/** What the proxy says to that. */
export async function sayToProxy(to: ScriptedGateway, text: string | Buffer, scope = 0): Promise<string> {
  const client = dialProxy(to, scope)
  if (client === null) return 'not let in'
  client.stream.write(text)
  // A tunnel stays open after an answer.
  return await Promise.race([client.answer, client.silent()])
}
