// Runs cells in one context. A request is a line of JSON on standard input: {"mark": ..., "code": ...}.
// The cell's own output goes straight to standard output and error; the mark ends it on both.
const fs = require('node:fs')
const { PassThrough, Writable } = require('node:stream')
const readline = require('node:readline')
const repl = require('node:repl')
const util = require('node:util')

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
// The evaluator of Node's own prompt: it knows await at the top and lets declarations outlive the cell.
const server = repl.start({ prompt: '', input: new PassThrough(), output: nowhere, terminal: false, useGlobal: true })
server.context.require = require('node:module').createRequire(`${process.cwd()}/cell.js`)

const lines = readline.createInterface({ input: process.stdin, terminal: false })
let queue = Promise.resolve()
lines.on('line', (line) => {
  queue = queue.then(() => answer(JSON.parse(line)))
})
lines.on('close', () => process.exit(0))

let failRunning = null
process.on('uncaughtException', (error) => (failRunning ? failRunning(error) : report(error)))
process.on('unhandledRejection', (error) => (failRunning ? failRunning(error) : report(error)))

// Up to Node 24 the evaluator runs in a domain, whose own handler would print the error where nobody reads.
if (server._domain) {
  server._domain.removeAllListeners('error')
  server._domain.on('error', (error) => (failRunning ? failRunning(error) : report(error)))
}

function report(error) {
  writeAll(2, `${util.inspect(error)}\n`)
}

/** The state of `Math.random` cannot be set anew: another copy of this process would draw the same numbers. */
function renewRandomness() {
  const words = new Uint32Array(1024)
  let next = words.length
  const draw = () => {
    if (next === words.length) {
      const source = fs.openSync('/dev/urandom')
      fs.readSync(source, words)
      fs.closeSync(source)
      next = 0
    }
    return words[next++]
  }
  Math.random = () => ((draw() >>> 5) * 2 ** 26 + (draw() >>> 6)) / 2 ** 53
}

async function answer({ mark, code, copied }) {
  if (copied) renewRandomness()
  const result = await run(code)
  // Pipes are written synchronously by Node on Linux, so that what the cell wrote is already out.
  writeAll(2, `\x1e${mark}\n`)
  writeAll(1, `\x1e${mark}${JSON.stringify(result)}\n`)
}

function run(code) {
  return new Promise((resolve) => {
    const fail = (error) => {
      failRunning = null
      resolve({ text: null, error: describe(error) })
    }
    failRunning = fail
    server.eval(`${code}\n`, server.context, 'cell', (error, value) => {
      if (error) return fail(error instanceof repl.Recoverable ? error.err : error)
      failRunning = null
      resolve({ text: value === undefined ? null : util.inspect(value, { maxStringLength: 100_000 }), error: null })
    })
  })
}

function describe(error) {
  const isError = error !== null && typeof error === 'object' && 'message' in error
  const traceback = isError && typeof error.stack === 'string' ? error.stack : util.inspect(error)
  return {
    name: isError ? String(error.name) : 'Error',
    message: isError ? String(error.message) : util.inspect(error),
    traceback,
  }
}

function writeAll(descriptor, text) {
  let data = Buffer.from(text)
  while (data.length > 0) {
    try {
      data = data.subarray(fs.writeSync(descriptor, data))
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}
