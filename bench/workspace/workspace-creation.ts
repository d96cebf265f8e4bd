import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Hearth } from '@hearth/engine'
import { openStore } from '../../packages/server/src/state/index.ts'
import { WorkspaceServices } from '../../packages/server/src/workspaces/workspace-services.ts'
import { timed } from '../context.ts'
import type { Measurement } from '../report/row.ts'

const FILES = 50_000
const WARM = 10

/** How long a workspace of a repository with 50,000 files takes: the first one, with the clone, and the next ones, beside a bare snapshot. */
export async function measureWorkspaces({ hearth }: { readonly hearth: Hearth }): Promise<Measurement[]> {
  const root = mkdtempSync(join(tmpdir(), 'hearth-bench-workspace-'))
  try {
    const path = makeRepository(root)
    await using store = await openStore({ url: `sqlite:${join(root, 'state.db')}` })
    const ignore = (): void => undefined
    const parts = {
      store,
      hearth,
      hostId: 'bench',
      leaseMs: 30_000,
      underWay: new Map(),
      step: ignore,
      storeShare: () => Promise.resolve(0),
      report: ignore,
    }
    const { repositories, workspaces } = new WorkspaceServices(parts)
    const { id: tenantId } = await store.tenants.create({ name: 'bench' })
    const caller = {
      tenantId,
      keyId: 'bench',
      holder: null,
      requestId: 'bench',
      scopes: new Set(['operator' as const]),
    }
    const call = { idempotencyKey: null, signal: new AbortController().signal }
    const make = () => workspaces.create(caller, { path }, call)
    const cold = [await timed(make)]
    const [seed] = await store.seeds.ofHost('bench', ['ready'])
    const [warm, bare]: [number[], number[]] = [[], []]
    for (let round = 0; round < WARM; round++) {
      warm.push(await timed(make))
      bare.push(await timed(async () => snapshot(join(hearth.paths.store, 'volumes', seed?.id ?? '', 'files'), round)))
    }
    removeSnapshots(hearth, seed?.id ?? '')
    for (const { id } of (await workspaces.list(caller, { limit: 100, cursor: null })).items)
      await workspaces.remove(caller, id)
    for (const { id } of (await repositories.list(caller, { limit: 10, cursor: null })).items)
      await repositories.remove(caller, id)
    const common = { rung: 'process', unit: 'ms' } as const
    const floors = [{ name: '1.3 x btrfs subvolume snapshot', samples: bare.map((time) => time * 1.3) }]
    return [
      { ...common, metric: 'workspace of 50,000 files, cold', samples: cold, floors: [], target: null },
      {
        ...common,
        metric: 'workspace of 50,000 files, warm',
        samples: warm,
        floors,
        target: { kind: 'added', value: 100 },
      },
    ]
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

function makeRepository(root: string): string {
  const path = join(root, 'repository.git')
  execFileSync('git', ['init', '--quiet', '--bare', '--initial-branch=main', path])
  const names = Array.from({ length: FILES }, (_, index) => `d${index % 500}/f${index}.txt`)
  const blobs = names.map((name, index) => `blob\nmark :${index + 1}\ndata ${name.length}\n${name}\n`)
  const entries = names.map((name, index) => `M 100644 :${index + 1} ${name}\n`)
  const commit = 'commit refs/heads/main\ncommitter Bench <bench@hearth.invalid> 0 +0000\ndata 1\nm\n'
  execFileSync('git', ['-C', path, 'fast-import', '--quiet'], { input: [...blobs, commit, ...entries].join('') })
  return path
}

function snapshot(source: string, round: number): void {
  execFileSync('btrfs', ['subvolume', 'snapshot', source, `${source}-bench-${round}`], { stdio: 'ignore' })
}

function removeSnapshots(hearth: Hearth, seed: string): void {
  const source = join(hearth.paths.store, 'volumes', seed, 'files')
  for (let round = 0; round < WARM; round++)
    execFileSync('btrfs', ['subvolume', 'delete', `${source}-bench-${round}`], { stdio: 'ignore' })
}
