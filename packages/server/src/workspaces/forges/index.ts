export { createPullRequest, type CreatedPullRequest, type PullRequestOptions } from './create-pull-request.ts'
export { recogniseForge } from './forge.ts'
