import type { CodeLanguage } from '@hearth/contract'

/** What is run before a cell and after it, in its own interpreter: the directory of the context and the variables of the call. */
export interface Prelude {
  readonly before: string | null
  readonly after: string | null
}

type Variables = Readonly<Record<string, string>>

/** `cwd` null: the interpreter is there already. Variables are as they were when the cell has ended. */
export function preludeOf(language: CodeLanguage, cwd: string | null, variables: Variables): Prelude {
  const write = WRITERS[language]
  const names = Object.keys(variables)
  const before = [
    ...(cwd === null ? [] : [write.directory(cwd)]),
    ...(names.length === 0 ? [] : [write.set(variables)]),
  ]
  return {
    before: before.length === 0 ? null : before.join('\n'),
    after: names.length === 0 ? null : write.restore(names),
  }
}

interface Writer {
  readonly directory: (path: string) => string
  readonly set: (variables: Variables) => string
  readonly restore: (names: readonly string[]) => string
}

const SAVED = '__hearth_saved'

/** JSON strings are literals in both languages. */
const WRITERS: Readonly<Record<CodeLanguage, Writer>> = {
  python: {
    directory: (path) =>
      `import os as ${SAVED}_os\nif ${SAVED}_os.path.isdir(${json(path)}): ${SAVED}_os.chdir(${json(path)})`,
    set: (variables) =>
      `import os as ${SAVED}_os\n${SAVED} = {name: ${SAVED}_os.environ.get(name) for name in ${json(Object.keys(variables))}}\n${SAVED}_os.environ.update(${json(variables)})`,
    restore: () =>
      `for ${SAVED}_name, ${SAVED}_value in ${SAVED}.items():\n  ${SAVED}_os.environ.pop(${SAVED}_name, None)\n  if ${SAVED}_value is not None: ${SAVED}_os.environ[${SAVED}_name] = ${SAVED}_value`,
  },
  javascript: {
    directory: (path) => `try { process.chdir(${json(path)}) } catch {}; void 0`,
    set: (variables) =>
      `globalThis.${SAVED} = Object.fromEntries(${json(Object.keys(variables))}.map((name) => [name, process.env[name]])); Object.assign(process.env, ${json(variables)}); void 0`,
    restore: () =>
      `for (const [name, value] of Object.entries(globalThis.${SAVED})) value === undefined ? delete process.env[name] : (process.env[name] = value); void 0`,
  },
  bash: {
    directory: (path) => `cd -- ${quoted(path)} 2>/dev/null || true`,
    set: (variables) =>
      Object.entries(variables)
        .map(
          ([name, value]) =>
            `${SAVED}_${name}=\${${name}-}; ${SAVED}_set_${name}=\${${name}+x}; export ${name}=${quoted(value)}`,
        )
        .join('\n'),
    restore: (names) =>
      names
        .map(
          (name) => `if [ -n "\${${SAVED}_set_${name}}" ]; then ${name}=\${${SAVED}_${name}}; else unset ${name}; fi`,
        )
        .join('\n'),
  },
  r: {
    directory: (path) => `invisible(try(setwd(${json(path)}), silent = TRUE))`,
    set: (variables) => {
      const names = Object.keys(variables).map(json).join(', ')
      const values = Object.entries(variables).map(([name, value]) => `${json(name)} = ${json(value)}`)
      return `.${SAVED} <- Sys.getenv(c(${names}), unset = NA, names = TRUE); invisible(do.call(Sys.setenv, list(${values.join(', ')})))`
    },
    restore: () =>
      `for (name in names(.${SAVED})) if (is.na(.${SAVED}[[name]])) Sys.unsetenv(name) else do.call(Sys.setenv, setNames(list(.${SAVED}[[name]]), name))`,
  },
  java: {
    // A process of Java stays where it began; relative paths follow this property where programs look at it.
    directory: (path) => `System.setProperty("user.dir", ${json(path)});`,
    // Its own environment cannot be changed: variables are properties there.
    set: (variables) =>
      [
        `var ${SAVED} = new java.util.HashMap<String, String>();`,
        ...Object.entries(variables).map(
          ([name, value]) => `${SAVED}.put(${json(name)}, System.setProperty(${json(name)}, ${json(value)}));`,
        ),
      ].join('\n'),
    restore: () =>
      `${SAVED}.forEach((name, value) -> { if (value == null) System.clearProperty(name); else System.setProperty(name, value); });`,
  },
}

function json(value: unknown): string {
  return JSON.stringify(value)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
