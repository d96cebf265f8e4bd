/** A root that machines start from. Immutable once it exists. */
export type Template = HostTemplate | DirectoryTemplate

interface TemplateDefaults {
  readonly name: string
  /** Content address: the same digest is the same root. */
  readonly digest: string
  /** Environment, working directory and user that the template asks for, under what the sandbox spec says. */
  readonly environment: Readonly<Record<string, string>>
  readonly workdir: string | null
  readonly user: string | null
}

/** The host's own toolchain, read-only. */
export interface HostTemplate extends TemplateDefaults {
  readonly kind: 'host'
  /** Tells one toolchain from another, where processes were captured that have it in memory. */
  readonly tools: string
  /** What is shown: host path and where. All read-only. */
  readonly mounts: readonly { readonly source: string; readonly target: string }[]
  /** For example `/bin` to `usr/bin`. */
  readonly symlinks: readonly { readonly path: string; readonly target: string }[]
  /** Small files written into the root: /etc/passwd, /etc/hosts and the like. */
  readonly files: readonly { readonly path: string; readonly content: string }[]
}

/** An unpacked root on the host. */
export interface DirectoryTemplate extends TemplateDefaults {
  readonly kind: 'directory'
  /** Absolute, read-only by convention, owners as in the image when made by root. */
  readonly root: string
}

/** Told to people while something takes long. */
export type Progress = (line: string) => void
