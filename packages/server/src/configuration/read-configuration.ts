import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { HearthError } from '@hearth/contract'
import { configurationSchema, type Configuration } from './configuration.ts'
import { configurationProblems } from './configuration-problems.ts'
import { effectiveConfiguration } from './effective-configuration.ts'

const MOST_BYTES = 1024 ** 2

/** The settings of a file: JSON, with comments. Paths in it are relative to its folder. `invalid_request` names everything that is wrong. */
export async function readConfiguration(path: string): Promise<Configuration> {
  const content = parse(path, await readSmallFile(path))
  const result = configurationSchema.safeParse(content)
  if (result.success) return inFolder(result.data, dirname(resolve(path)))
  const problems = configurationProblems(result.error.issues, content, effectiveConfiguration({}, {}))
  throw new HearthError('invalid_request', `${path}: ${problems.join('; ')}`, {
    suggestion: '`hearth up --print-config` shows every setting with its value.',
    context: { problems },
  })
}

/** A file that an operator names. It is not repeated in errors: it may hold a secret. */
export async function readSmallFile(path: string): Promise<string> {
  try {
    await using file = await open(path)
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MOST_BYTES + 1))
    if (bytesRead <= MOST_BYTES) return buffer.toString('utf8', 0, bytesRead)
  } catch (cause) {
    throw new HearthError('invalid_request', `cannot read ${path}: ${(cause as Error).message}`, {
      cause,
      suggestion: 'Name a file that this user may read.',
    })
  }
  throw new HearthError('invalid_request', `${path} is larger than ${MOST_BYTES} bytes`)
}

function parse(path: string, text: string): unknown {
  // Comments become spaces, so that positions in what is wrong stay what they are.
  const plain = text.replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[^]*?\*\//g, (match, quoted?: string) =>
    quoted === undefined ? match.replace(/[^\n]/g, ' ') : match,
  )
  try {
    return JSON.parse(plain)
  } catch (cause) {
    const { message } = cause as SyntaxError
    throw new HearthError('invalid_request', `${path} is no JSON: ${message}`, {
      cause,
      suggestion:
        'It must be one object. Comments (// and /* */) are allowed, commas before a closing bracket are not.',
    })
  }
}

function inFolder(configuration: Configuration, folder: string): Configuration {
  const { database = {}, secretKeyFile = null, gateway = {} } = configuration
  const there = (path: string): string => resolve(folder, path)
  const { url = null, passwordFile = null } = database
  return {
    ...configuration,
    database: {
      url: url?.replace(/^sqlite:(.+)$/s, (_, path: string) => `sqlite:${there(path)}`) ?? null,
      passwordFile: passwordFile === null ? null : there(passwordFile),
    },
    secretKeyFile: secretKeyFile === null ? null : there(secretKeyFile),
    gateway: { extraRootsFiles: (gateway.extraRootsFiles ?? []).map(there) },
  }
}
