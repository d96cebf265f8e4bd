import { describe, expect, it } from 'vitest'
import { fromBinary, toBinary } from './binary-codec.ts'
import { codecOf } from './codec.ts'
import { frame, FRAME, readFrames } from './frames.ts'
import { fromJson, toJson } from './json-codec.ts'
import type { Draft, MessageName } from './messages.ts'

/** As `@bufbuild/protobuf` writes them with the vendor's own descriptors. */
const VECTORS: readonly (readonly [MessageName, string, string])[] = [
  [
    'StartRequest',
    '{"process":{"cmd":"/bin/bash","args":["-l","-c","echo ä"],"envs":{"A":"b"},"cwd":"/tmp"},"pty":{"size":{"cols":80,"rows":300}},"tag":"","stdin":false}',
    '0a2a0a092f62696e2f6261736812022d6c12022d6312076563686f20c3a41a060a014112016222042f746d7012070a05085010ac021a002000',
  ],
  [
    'ProcessEvents',
    '{"event":{"end":{"exitCode":-1,"status":"signal: killed","error":"signal: killed"}}}',
    '0a241a2208011a0e7369676e616c3a206b696c6c6564220e7369676e616c3a206b696c6c6564',
  ],
  ['ProcessEvents', '{"event":{"data":{"stdout":"/wA="}}}', '0a0612040a02ff00'],
  [
    'Entry',
    '{"entry":{"name":"a","type":"FILE_TYPE_DIRECTORY","path":"/a","size":"5000000000","mode":493,"modifiedTime":"2026-01-02T03:04:05.678Z","symlinkTarget":"/b","metadata":{"k":"v"}}}',
    '0a2c0a016110021a022f612080e497d01228ed034a0c08a5ebdcca061080eba5c30252022f625a060a016b120176',
  ],
  ['SendSignalRequest', '{"process":{"pid":4000000000},"signal":"SIGNAL_SIGTERM"}', '0a060880d0acf30e100f'],
]

describe('the codecs', () => {
  it.each(VECTORS)('write %s as the vendor does, and read it again', (name, json, hex) => {
    const message = fromJson(name, json)
    const draft = message as Draft<MessageName>
    expect(toJson(name, draft)).toBe(json)
    expect(toBinary(name, draft).toString('hex')).toBe(hex)
    // Timestamps are the server's to write: it never reads one.
    if (name !== 'Entry') expect(fromBinary(name, Buffer.from(hex, 'hex'))).toEqual(message)
  })

  it('take both spellings of names, numbers of enumerations and unknown fields', () => {
    expect(fromJson('WatchRequest', '{"path":"/a","include_entry":true,"unknown":[1]}')).toMatchObject({
      includeEntry: true,
      recursive: false,
    })
    expect(fromJson('SendSignalRequest', '{"signal":9}').signal).toBe('SIGNAL_SIGKILL')
    // Field 15 of three kinds, then a path.
    const unknown = Buffer.from('7801' + '7a0161' + '7d00000000' + '0a022f61', 'hex')
    expect(fromBinary('Path', unknown)).toEqual({ path: '/a' })
  })

  it('refuse what is not a message', () => {
    for (const wrong of [
      '[]',
      '{',
      '1',
      '{"path":1}',
      '{"path":{}}',
      '{"depth":-1}',
      '{"depth":1.5}',
      '{"depth":"x"}',
    ]) {
      expect(() => fromJson('ListDirRequest', wrong), wrong).toThrow(/message/)
    }
    for (const wrong of ['0a', '0a05', '08', '0aff', '0b', '0a01610bff', '7d0000', 'ffffffffffffffffffffff01']) {
      expect(() => fromBinary('ListDirRequest', Buffer.from(wrong, 'hex')), wrong).toThrow(/message/)
    }
  })

  it('is chosen by the content type', () => {
    expect(codecOf('application/json; charset=utf-8', false).name).toBe('json')
    expect(codecOf('application/connect+proto', true).name).toBe('proto')
    expect(() => codecOf('application/json', true)).toThrow(/content type/)
    expect(() => codecOf(undefined, false)).toThrow(/content type/)
  })
})

describe('frames', () => {
  const collect = async (pieces: readonly Buffer[], limit = 100): Promise<string[]> => {
    const found: string[] = []
    const body = (async function* () {
      yield* pieces
    })()
    for await (const payload of readFrames(body, limit)) found.push(payload.toString())
    return found
  }

  it('are found wherever the pieces are cut', async () => {
    const bytes = Buffer.concat([frame(0, Buffer.from('one')), frame(0, Buffer.alloc(0)), frame(0, Buffer.from('two'))])
    const single = Array.from(bytes, (byte) => Buffer.from([byte]))
    expect(await collect([bytes])).toEqual(['one', '', 'two'])
    expect(await collect(single)).toEqual(['one', '', 'two'])
    expect(await collect([frame(FRAME.end, Buffer.from('{}')), bytes])).toEqual([])
  })

  it('that are too large, compressed, unknown or cut off are refused', async () => {
    await expect(collect([frame(0, Buffer.alloc(101))])).rejects.toMatchObject({ code: 'body_too_large' })
    await expect(collect([frame(FRAME.compressed, Buffer.from('x'))])).rejects.toThrow(/compressed/)
    await expect(collect([frame(0x80, Buffer.from('x'))])).rejects.toThrow(/unknown/)
    await expect(collect([frame(0, Buffer.from('cut off')).subarray(0, 8)])).rejects.toThrow(/within a frame/)
    await expect(collect([Buffer.from([0, 0])])).rejects.toThrow(/within a frame/)
  })
})
