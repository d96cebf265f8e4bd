import { environmentSchema, parseInput } from '@hearth/contract'
import { requireInside, requireUserName, type Recipe, type Step } from '../../builds/recipe.ts'
import { unsupported } from '../failures.ts'
import { normal, type ContextFiles } from './context-files.ts'
import { expanded, listOf, parseDockerfile, wordsOf, wrong, type Instruction, type Variables } from './dockerfile.ts'

type Steps = Recipe['steps'][number][]

/** What says nothing about files, or about what runs in a sandbox: it stands in the log. */
const WITHOUT_EFFECT = new Set([
  'CMD',
  'ENTRYPOINT',
  'EXPOSE',
  'HEALTHCHECK',
  'LABEL',
  'MAINTAINER',
  'STOPSIGNAL',
  'VOLUME',
])

export interface DockerRecipe {
  /** The image that it begins with. */
  readonly from: string
  readonly steps: Recipe['steps']
}

/** A Dockerfile as a recipe. What cannot be done is said before anything is. */
export function recipeOfDockerfile(text: string, files: ContextFiles): DockerRecipe {
  const instructions = parseDockerfile(text)
  const start = instructions.findIndex(({ keyword }) => keyword !== 'ARG')
  const from = instructions[start]
  if (from?.keyword !== 'FROM') throw wrong('it must begin with FROM')
  const image = imageOf(from, argumentsOf(instructions.slice(0, start), {}))
  const reading = new Reading(files)
  for (const instruction of instructions.slice(start + 1)) reading.take(instruction)
  return { from: image, steps: reading.steps }
}

function imageOf({ flags, rest }: Instruction, given: Variables): string {
  if (flags.size > 0) throw unsupported(`FROM --${[...flags.keys()].join(' --')}`)
  const [image = '', as, name, ...more] = wordsOf(expanded(rest, given))
  const named = as === undefined || (as.toUpperCase() === 'AS' && name !== undefined && more.length === 0)
  if (image === '' || !named) throw wrong('FROM: must name one image')
  return image
}

function argumentsOf(instructions: readonly Instruction[], known: Variables): Variables {
  const values: Record<string, string> = { ...known }
  for (const word of instructions.flatMap(({ rest }) => wordsOf(rest))) {
    const [, name = '', given] = /^(\w+)(?:=(.*))?$/s.exec(word) ?? []
    if (name === '') throw wrong(`ARG: ${word.slice(0, 64)} is no name of a variable`)
    if (given !== undefined) values[name] = expanded(given, values)
  }
  return values
}

/** Reads instructions in their order: what is set by one counts for those after it. */
class Reading {
  readonly steps: Steps = []
  readonly #files: ContextFiles
  #arguments: Variables = {}
  #environment: Variables = {}

  constructor(files: ContextFiles) {
    this.#files = files
  }

  take(instruction: Instruction): void {
    const { keyword, flags, rest } = instruction
    if (keyword === 'ARG') return void (this.#arguments = argumentsOf([instruction], this.#known))
    if (keyword === 'COPY' || keyword === 'ADD') return this.#copy(instruction)
    if (flags.size > 0 && !WITHOUT_EFFECT.has(keyword)) {
      throw unsupported(`${keyword} --${[...flags.keys()].join(' --')} in a Dockerfile`)
    }
    if (keyword !== 'RUN' && rest === '') throw wrong(`${keyword}: says nothing`)
    this.#add(instruction, this.#step(keyword, rest))
  }

  get #known(): Variables {
    return { ...this.#arguments, ...this.#environment }
  }

  #add({ keyword, rest }: Instruction, step: Step): void {
    this.steps.push({ text: `${keyword} ${rest}`, step })
  }

  #step(keyword: string, rest: string): Step {
    switch (keyword) {
      case 'RUN':
        return { kind: 'run', command: this.#command(rest), user: null }
      case 'ENV':
        return { kind: 'env', values: this.#variables(rest) }
      case 'WORKDIR':
        return { kind: 'workdir', path: expanded(rest, this.#known) }
      case 'USER':
        return { kind: 'user', name: requireUserName(expanded(rest, this.#known)) }
      case 'FROM':
        throw unsupported('several stages in a Dockerfile')
      default:
        if (!WITHOUT_EFFECT.has(keyword)) throw unsupported(`${keyword.slice(0, 32)} in a Dockerfile`)
        return { kind: 'note', text: `${keyword} has no effect: nothing runs in a sandbox but what is asked for` }
    }
  }

  /** Arguments of the build are variables of its commands and of nothing later. */
  #command(rest: string): string {
    if (rest === '') throw wrong('RUN: says nothing')
    if (/<<-?["']?\w/.test(rest)) throw unsupported('texts after << in a Dockerfile')
    const exports = Object.entries(this.#arguments)
      .filter(([name]) => !Object.hasOwn(this.#environment, name))
      .map(([name, value]) => `export ${name}=${quoted(value)}; `)
    return exports.join('') + (listOf(rest)?.map(quoted).join(' ') ?? rest)
  }

  #variables(rest: string): Variables {
    const words = wordsOf(rest)
    const pairs = words.map((word) => /^([^=]+)=(.*)$/s.exec(word))
    // The old form: one name, and all that follows.
    const [, oldName = '', oldValue = ''] = /^(\S+)\s+(.*)$/s.exec(rest) ?? []
    const known = this.#known
    const values = pairs.every((pair) => pair !== null)
      ? Object.fromEntries(pairs.map((pair) => [pair[1] ?? '', expanded(pair[2] ?? '', known)]))
      : { [oldName]: expanded(oldValue, known) }
    const checked = parseInput(environmentSchema, values, 'dockerfile: ENV')
    this.#environment = { ...this.#environment, ...checked }
    return checked
  }

  #copy(instruction: Instruction): void {
    const { keyword, flags, rest } = instruction
    const strange = [...flags.keys()].find((flag) => flag !== 'chown' && flag !== 'chmod')
    if (strange !== undefined) throw unsupported(`${keyword} --${strange} in a Dockerfile`)
    const words = wordsOf(rest).map((word) => expanded(word, this.#known))
    const target = words.pop()
    if (target === undefined || words.length === 0) throw wrong(`${keyword}: needs a source and a target`)
    const mode = flags.get('chmod') ?? null
    if (mode !== null && !/^[0-7]{3,5}$/.test(mode)) throw wrong(`${keyword}: ${mode.slice(0, 16)} is no mode`)
    const owner = (flags.get('chown') ?? 'root').split(':').map(requireUserName).join(':')
    // Several go into a directory.
    const into = words.length > 1 && !target.endsWith('/') ? `${target}/` : target
    for (const word of words) {
      if (keyword === 'ADD' && /^[a-z][a-z0-9+.-]*:\/\/|^git@|\.(tar|tgz|tbz2?|txz|tar\.\w+)$/i.test(word)) {
        throw unsupported('ADD of addresses and archives in a Dockerfile')
      }
      const source = requireInside(normal(word))
      const paths = this.#files.matching(source)
      if (paths.length === 0) throw wrong(`${keyword}: ${source.slice(0, 128)} is not among the files that were sent`)
      this.#add(instruction, {
        kind: 'copy',
        archive: () => this.#files.archive(paths),
        source,
        target: into,
        owner,
        mode,
      })
    }
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
