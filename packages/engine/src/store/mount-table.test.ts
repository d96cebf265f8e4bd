import { expect, it } from 'vitest'
import { mountAt, parseMount, readMounts } from './mount-table.ts'

it('reads a line of the table, with blanks in its paths and fields that only some have', () => {
  expect(
    parseMount(
      '52 27 0:45 /a\\040part /a\\040home/store rw,nosuid,nodev shared:1 master:2 - btrfs /dev/loop1 rw,subvol=/a\\040part',
    ),
  ).toEqual({
    device: '0:45',
    root: '/a part',
    target: '/a home/store',
    options: ['rw', 'nosuid', 'nodev'],
    type: 'btrfs',
    source: '/dev/loop1',
  })
})

it('finds what is mounted at a path, also by another name, and nothing below a mount', async () => {
  expect(await mountAt('/proc')).toMatchObject({ type: 'proc', root: '/' })
  expect(await mountAt('/proc/self/../')).toEqual(await mountAt('/proc'))
  expect(await mountAt('/proc/self')).toBeNull()
  expect((await readMounts()).every(({ device, target }) => /^\d+:\d+$/.test(device) && target.startsWith('/'))).toBe(
    true,
  )
})
