import type { SnapshotInfo } from '@hearth/contract'
import { expect, test } from 'vitest'
import { readHostTools } from '../templates/host-tools.ts'
import type { Template } from '../templates/template.ts'
import { requireSameTools } from './incompatible-memory.ts'

const info = { id: 'snap_00000000000000000000' } as SnapshotInfo
const host = { kind: 'host', tools: 'those of here' } as Template

test('processes on tools of the host go on with the same ones alone', () => {
  expect(() => requireSameTools({ info, hostTools: 'those of here' }, host)).not.toThrow()
  expect(() => requireSameTools({ info, hostTools: 'others' }, host)).toThrow(
    expect.objectContaining({ code: 'snapshot_incompatible', message: expect.stringContaining('libraries') as string }),
  )
})

test('nothing is compared where nothing was noted, and for a template with a root of its own', () => {
  expect(() => requireSameTools({ info, hostTools: null }, host)).not.toThrow()
  expect(() => requireSameTools({ info, hostTools: 'others' }, { kind: 'directory' } as Template)).not.toThrow()
})

test('the tools of a host are the same whenever they are asked for', async () => {
  const tools = await readHostTools()
  expect(tools).toMatch(/^[0-9a-f]{32}$/)
  expect(await readHostTools()).toBe(tools)
})
