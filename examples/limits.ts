// Lets code misbehave: each limit ends it, and the result says which one, with the output up to that point.
import { Hearth } from 'hearth'

await using hearth = new Hearth()
await using sandbox = await hearth.create({
  rung: 'process',
  limits: { memoryBytes: 256 * 1024 * 1024, pids: 64, diskBytes: 64 * 1024 * 1024, wallTimeMs: 20_000 },
})

const slow = await sandbox.exec('echo started; sleep 60', { timeoutMs: 1000 })
console.log(`too slow: timed out ${slow.timedOut}, said '${slow.stdout.trim()}'`)

const hungry = await sandbox.exec(['python3', '-c', 'x = bytearray(1 << 30)'])
console.log(`too hungry: ended by the memory limit ${hungry.oom || hungry.stderr.includes('MemoryError')}`)

const full = await sandbox.exec('head -c 200000000 /dev/zero > /tmp/big')
console.log(`too big: exit code ${full.exitCode}`)

const alive = await sandbox.exec('echo still here')
console.log(alive.stdout.trim())
