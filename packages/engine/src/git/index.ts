/** The host's git, without the rest of the engine: `@hearth/engine/git`. */
export { ensureBareRepository } from './bare-repository.ts'
export { blobEnd, blobHead, commitCommands, treePath, wholeBlob, type TreeEntry } from './fast-import.ts'
export { git, TIED } from './git-process.ts'
export { IgnoreRules } from './ignored-paths.ts'
export { findProgram } from '../drivers/staging/programs.ts'
export { changedLines, readChanges, type ChangedLines } from './read-changes.ts'
