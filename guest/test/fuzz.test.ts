import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const guest = fileURLToPath(new URL('..', import.meta.url))
const TARGETS = ['messages', 'tar', 'passwd', 'keeper-pump', 'keeper-launch', 'changes', 'dns', 'seccheck']

function hasClang(): boolean {
  try {
    execFileSync('clang', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

// A few seconds each: what a change breaks is found here, what is hard to find by `make -C guest fuzz-run SECONDS=3600`.
it('the decoders withstand a fuzzer under sanitizers', { timeout: 240_000 }, (context) => {
  if (!hasClang()) context.skip('clang is not installed')
  const output = execFileSync('make', ['-s', '-C', guest, 'fuzz-run', 'SECONDS=4'], { encoding: 'utf8', stdio: 'pipe' })
  for (const target of TARGETS) expect(output).toContain(`fuzz-${target} for 4 s`)
})
