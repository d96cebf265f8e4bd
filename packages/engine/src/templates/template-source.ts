import type { Progress, Template } from './template.ts'

/** What a source may use while it builds. */
export interface BuildContext {
  /** An empty directory on the file system of the finished roots. It is removed when the build ends, however it ends. */
  readonly workspace: string
  readonly progress: Progress
  readonly signal: AbortSignal
  /** True when a root with this digest exists already, so that it need not be made again. */
  readonly has: (digest: string) => Promise<boolean>
}

/** What a build gives: a root in the workspace, or null when `has` said that it exists. */
export type BuiltTemplate = Pick<Template, 'digest' | 'environment' | 'workdir' | 'user'> & {
  readonly root: string | null
}

/** Where the root of a template comes from. */
export interface TemplateSource {
  /** Stored roots are used for as long as this stays the same. */
  identity(): Promise<string>
  build(context: BuildContext): Promise<BuiltTemplate>
}
