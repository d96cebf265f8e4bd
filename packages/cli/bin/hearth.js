#!/bin/sh
':' //; self=$(readlink -f "$0"); node="${self%/packages/cli/bin/hearth.js}/node_modules/.bin/node"; [ -x "$node" ] || node=node; exec "$node" "$self" "$@"
// To the shell the line above is the launcher: it replaces itself by the Node 24 of this repository, so that signals and the exit
// code need no relay. To Node it is a string and a comment, and what follows is for those who started this file with `node`.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import module from 'node:module'
import { constants, homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const WANTED_MAJOR = 24

if (Number(process.versions.node.split('.')[0]) >= WANTED_MAJOR) {
  // Compiled code is kept, which halves the time to the first line of ours. It lies where the code itself does, so that only those who
  // may change that may change it; where this user may not, it is in the home, if there is one: help makes no homes.
  const beside = fileURLToPath(new URL('../../../node_modules/.cache/hearth', import.meta.url))
  const { status } = module.enableCompileCache(beside)
  const home = process.env.HEARTH_HOME ?? join(homedir(), '.hearth')
  if (status === module.constants.compileCacheStatus.FAILED && existsSync(home)) {
    module.enableCompileCache(join(home, 'cache', 'node'))
  }
  await import('../src/main.ts')
} else {
  relay(fileURLToPath(new URL('../../../node_modules/.bin/node', import.meta.url)))
}

/** @param {string} node */
function relay(node) {
  if (!existsSync(node)) {
    console.error(
      `hearth needs Node ${WANTED_MAJOR} or newer, and this is ${process.version}. In a clone of its repository, \`npm ci\` brings it.`,
    )
    process.exitCode = 125
    return
  }
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' })
  for (const signal of ['SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2']) {
    process.on(signal, () => child.kill(signal))
  }
  // The terminal interrupts its whole foreground group, the child too: passing it on would make it two.
  process.on('SIGINT', () => {
    if (!inForeground()) child.kill('SIGINT')
  })
  child.on('error', (error) => {
    console.error(`hearth: ${node} does not start: ${error.message}`)
    process.exitCode = 125
  })
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal ?? 'SIGKILL'] ?? 9)
  })
}

/** Whether this process is in the foreground group of a terminal; see proc(5), fields 5 and 8. */
function inForeground() {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return fields[2] === fields[5]
}
