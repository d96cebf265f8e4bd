import { getCommandNames } from 'just-bash'

import { BASE_FILES, TEMPLATE_USER } from '../../templates/base-files.ts'
import type { MemoryTree } from './memory-tree.ts'

const DIRECTORIES = [
  '/dev',
  '/etc',
  '/home',
  TEMPLATE_USER.home,
  '/root',
  '/tmp',
  '/usr',
  '/usr/bin',
  '/usr/local',
  '/var',
]

/** What a shell expects to find. Each command has a name in /bin, as on a merged system, so that a search of PATH finds it. */
export function makeLayout(tree: MemoryTree, options: { hostname: string; commands: readonly string[] }): void {
  for (const path of DIRECTORIES) tree.makeDirectory(path)
  tree.setMode('/tmp', 0o1777)
  tree.addSink('/dev/null')
  for (const { path, content } of BASE_FILES) {
    tree.write(path, Buffer.from(path === '/etc/hostname' ? `${options.hostname}\n` : content))
  }
  for (const name of [...getCommandNames(), 'curl', ...options.commands]) {
    tree.write(`/usr/bin/${name}`, Buffer.from('#!/bin/bash\n'), { mode: 0o755 })
  }

  tree.symlink('usr/bin', '/bin')
}
