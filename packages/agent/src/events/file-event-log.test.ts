import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HearthError, type AgentEvent } from '@hearth/contract'
import { afterAll, describe, expect, it } from 'vitest'
import { MemoryEventLog } from './event-log.ts'
import { FileEventLog } from './file-event-log.ts'

const directory = mkdtempSync(join(tmpdir(), 'hearth-event-log-'))
afterAll(() => rmSync(directory, { recursive: true }))

const event = (seq: number): AgentEvent => ({ type: 'steered', text: `message ${seq} \u{1f525}`, seq, at: 1000 + seq })
const isConflict = (error: unknown): boolean => HearthError.isInstance(error) && error.code === 'conflict'

describe('a log in a file', () => {
  it('is read by the next process, without the line that a crash cut short', async () => {
    const file = join(directory, 'cut')
    {
      await using log = await FileEventLog.open(file)
      await log.append(event(0))
      await log.append(event(1))
    }
    appendFileSync(file, '{"type":"steered","te')
    await using log = await FileEventLog.open(file)
    expect(await log.read()).toEqual([event(0), event(1)])
    await log.append(event(2))
    expect(await log.read()).toEqual([event(0), event(1), event(2)])
    expect(readFileSync(file, 'utf8').split('\n')).toHaveLength(4)
  })

  it('has one writer', async () => {
    const file = join(directory, 'two')
    await using first = await FileEventLog.open(file)
    await using second = await FileEventLog.open(file)
    await second.append(event(0))
    await expect(first.append(event(0))).rejects.toSatisfy(isConflict)
    await expect(second.append(event(5))).rejects.toSatisfy(isConflict)
    await expect(new MemoryEventLog().append(event(1))).rejects.toSatisfy(isConflict)
  })

  it.each([
    'no json\n',
    '{"seq":0}\n',
    '{"type":"steered","text":"x","seq":3,"at":1}\n',
    '{"type":"other","seq":0,"at":1}\n',
  ])('says what is wrong with %j', async (content) => {
    const file = join(directory, 'wrong')
    writeFileSync(file, content)
    await expect(FileEventLog.open(file)).rejects.toThrow(/line 1 of .* is no event of a run/)
  })
})
