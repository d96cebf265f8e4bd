import type { PresetName, Rule } from './policy.ts'

/** The names that common tools need, each with what it is for. Kept small: a preset is a promise about where bytes can go. */
export const PRESETS: Readonly<Record<PresetName, readonly Rule[]>> = {
  npm: [{ name: 'registry.npmjs.org', ports: [443] }],
  pypi: [
    { name: 'pypi.org', ports: [443] },
    // Where the files are.
    { name: 'files.pythonhosted.org', ports: [443] },
  ],
  debian: [
    { name: 'deb.debian.org', ports: [80, 443] },
    { name: 'security.debian.org', ports: [80, 443] },
  ],
  crates: [
    { name: 'index.crates.io', ports: [443] },
    { name: 'static.crates.io', ports: [443] },
    { name: 'crates.io', ports: [443] },
  ],
  go: [
    { name: 'proxy.golang.org', ports: [443] },
    { name: 'sum.golang.org', ports: [443] },
  ],
  github: [
    { name: 'github.com', ports: [443] },
    { name: 'api.github.com', ports: [443] },
    { name: 'codeload.github.com', ports: [443] },
    { name: 'raw.githubusercontent.com', ports: [443] },
    { name: 'objects.githubusercontent.com', ports: [443] },
  ],
  gitlab: [{ name: 'gitlab.com', ports: [443] }],
  anthropic: [{ name: 'api.anthropic.com', ports: [443] }],
  openai: [{ name: 'api.openai.com', ports: [443] }],
}
