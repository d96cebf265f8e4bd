import {
  environmentSchema,
  HearthError,
  parseInput,
  registryCredentialsSchema,
  type RegistryCredentials,
} from '@hearth/contract'
import { z } from 'zod'
import { requireInside, requireUserName, type Recipe, type Step } from '../../builds/recipe.ts'
import type { Call } from '../control/call.ts'
import { rootOf } from '../control/templates.ts'
import { unsupported } from '../failures.ts'

const text = z.string().max(64 * 1024)
/** The image that clients name when nobody chose one. */
const DEFAULT_IMAGE = 'e2bdev/base'

const stepSchema = z.object({
  type: z.string().max(32),
  args: z.array(text).max(1000).nullish(),
  filesHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullish(),
})
type GivenStep = z.output<typeof stepSchema>

/** What a private registry is shown. */
const registrySchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('registry'), username: text, password: text }),
  z.object({ type: z.literal('gcp'), serviceAccountJson: text }),
  z.object({ type: z.literal('aws') }),
])

/** What is to be done, in E2B's words. */
export const recipeSchema = z.object({
  fromImage: z.string().max(512).nullish(),
  fromTemplate: z.string().max(512).nullish(),
  fromImageRegistry: registrySchema.nullish(),
  steps: z.array(stepSchema).max(1000).nullish(),
  startCmd: text.nullish(),
  readyCmd: text.nullish(),
})

/** The same in ours. What cannot be done is said before anything is. */
export async function recipeOf(call: Call, given: z.output<typeof recipeSchema>): Promise<Recipe> {
  const credentials = given.fromImageRegistry ? credentialsOf(given.fromImageRegistry) : null
  const steps = []
  for (const step of given.steps ?? []) {
    steps.push({ text: `${step.type} ${(step.args ?? []).join(' ')}`, step: await stepOf(call, step) })
  }
  const image = given.fromTemplate || given.fromImage || DEFAULT_IMAGE
  const isDefault = /^e2bdev\/base(:latest)?$/.test(image)
  return {
    ...(credentials === null
      ? { root: isDefault ? {} : await rootOf(call.e2b, call.caller, image) }
      : { root: {}, image: { name: given.fromImage ?? '', credentials } }),
    steps,
    start: given.startCmd || null,
    ready: given.readyCmd || null,
    user: { name: 'user', home: '/home/user' },
  }
}

/** Google's registries take the key of a service account as a password. */
function credentialsOf(registry: z.output<typeof registrySchema>): RegistryCredentials {
  switch (registry.type) {
    case 'registry':
      return parseInput(
        registryCredentialsSchema,
        { username: registry.username, password: registry.password },
        'fromImageRegistry',
      )
    case 'gcp': {
      const given = { username: '_json_key', password: registry.serviceAccountJson }
      return parseInput(registryCredentialsSchema, given, 'fromImageRegistry')
    }
    case 'aws':
      throw unsupported('fromAWSRegistry; `aws ecr get-login-password` gives a password for fromImage')
  }
}

async function stepOf(call: Call, { type, args, filesHash }: GivenStep): Promise<Step> {
  const [first = '', second = '', third = '', fourth = ''] = args ?? []
  switch (type.toUpperCase()) {
    case 'RUN':
      return { kind: 'run', command: first, user: second || null }
    case 'USER':
      return { kind: 'user', name: requireUserName(first) }
    case 'WORKDIR':
      return { kind: 'workdir', path: first }
    case 'ENV': {
      const all = args ?? []
      const pairs = all.flatMap((name, index) => (index % 2 === 0 ? [[name, all[index + 1] ?? '']] : []))
      return { kind: 'env', values: parseInput(environmentSchema, Object.fromEntries(pairs), 'ENV') }
    }
    case 'COPY': {
      const { tenantId } = call.caller
      const { buildFiles } = call.e2b
      const hash = filesHash ?? ''
      if (hash === '' || (await buildFiles.present(tenantId, hash)) === null) {
        throw new HearthError('invalid_request', `COPY ${first}: its files were not sent`)
      }
      return {
        kind: 'copy',
        archive: () => buildFiles.read(tenantId, hash),
        source: requireInside(first.replace(/^\.\/(?=.)/, '')),
        target: second,
        owner: third === '' ? null : third.split(':').map(requireUserName).join(':'),
        mode: fourth === '' ? null : requireMode(fourth),
      }
    }
    default:
      throw unsupported(`${type.slice(0, 32)} in a template build`)
  }
}

function requireMode(mode: string): string {
  if (/^[0-7]{3,5}$/.test(mode)) return mode
  throw new HearthError('invalid_request', `COPY: ${mode.slice(0, 16)} is no mode`)
}
