import type { Sandbox } from '@hearth/contract'
import { expect, it } from 'vitest'
import type { NoteRepository } from '../../../state/index.ts'
import { FileMetadata } from './file-metadata.ts'

it('files with metadata are as many as a sandbox may have, and no more', async () => {
  const value = { metadata: { k: 'v' }, size: 1, modifiedAt: 1 }
  const notes = Array.from({ length: 1000 }, (_, index) => ({ key: `/${index}`, value, createdAt: 1 }))
  const repository = { list: async () => notes, remove: async () => undefined } as unknown as NoteRepository
  const metadata = new FileMetadata(repository)
  const sandbox = { id: 'sb_1' } as unknown as Sandbox
  await expect(metadata.requireRoom(sandbox, '/another')).rejects.toMatchObject({ code: 'too_many' })
  await metadata.requireRoom(sandbox, '/7')
  await metadata.remove(sandbox, '/7')
  await metadata.requireRoom(sandbox, '/another')
})
