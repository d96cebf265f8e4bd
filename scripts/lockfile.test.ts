import { expect, it } from 'vitest'
import { missingEntries } from './lockfile.ts'

it('describes what the lockfile leaves out by the platform in its name', () => {
  const optionalDependencies = {
    'tool-linux-x64-gnu': '1.0.0',
    '@tool/binding-linux-arm64-musl': '1.0.0',
    '@tool/binding-darwin-arm64': '1.0.0',
    '@tool/binding-wasm32-wasi': '1.0.0',
  }
  const packages = {
    'node_modules/tool': { version: '1.0.0', dev: true, optionalDependencies },
    'node_modules/tool-linux-x64-gnu': {},
  }
  expect(missingEntries({ packages })).toEqual({
    'node_modules/@tool/binding-linux-arm64-musl': {
      version: '1.0.0',
      dev: true,
      optional: true,
      cpu: ['arm64'],
      libc: ['musl'],
      os: ['linux'],
    },
    'node_modules/@tool/binding-darwin-arm64': {
      version: '1.0.0',
      dev: true,
      optional: true,
      cpu: ['arm64'],
      os: ['darwin'],
    },
    'node_modules/@tool/binding-wasm32-wasi': { version: '1.0.0', dev: true, optional: true, cpu: ['wasm32'] },
  })
})

it('leaves a complete lockfile alone', () => {
  const packages = { 'node_modules/a': { optionalDependencies: { b: '1.0.0' } }, 'node_modules/x/node_modules/b': {} }
  expect(missingEntries({ packages })).toEqual({})
})
