import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { makeTar } from '@hearth/engine/tar'

/** An image with two files in it, like `docker save` writes one. */
export function saveImage(path: string): void {
  const layer = makeTar([
    { path: 'usr/bin/true', content: 'x' },
    { path: 'file', content: 'content' },
  ])
  const digest = `sha256:${createHash('sha256').update(layer).digest('hex')}`
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  const config = { architecture, os: 'linux', config: {}, rootfs: { type: 'layers', diff_ids: [digest] } }
  writeFileSync(
    path,
    makeTar([
      { path: 'manifest.json', content: JSON.stringify([{ Config: 'config.json', Layers: ['layer.tar'] }]) },
      { path: 'config.json', content: JSON.stringify(config) },
      { path: 'layer.tar', content: layer },
    ]),
  )
}
