import { z } from 'zod'
import { below, type ForgePlace } from './forge.ts'
import type { ForgeApi, PullRequestWish } from './forge-api.ts'

const mergeSchema = z.object({ iid: z.int().positive(), web_url: z.url({ protocol: /^https?$/ }).max(2048) })

function requestsOf({ api, project }: ForgePlace, query?: Readonly<Record<string, string>>): URL {
  return below(api, `/projects/${encodeURIComponent(project)}/merge_requests`, query)
}

/** Merge requests of GitLab, on its own host or another. */
export const gitlab: ForgeApi = {
  // Takes personal, project and OAuth tokens alike.
  headers: (token) => ({ authorization: `Bearer ${token}`, accept: 'application/json', 'user-agent': 'hearth' }),
  find: (place, { branch, base }) =>
    requestsOf(place, { state: 'opened', source_branch: branch, target_branch: base, per_page: '1' }),
  create: (place) => requestsOf(place),
  body: ({ branch, base, title, body, draft }: PullRequestWish) => ({
    source_branch: branch,
    target_branch: base,
    title: draft ? `Draft: ${title}` : title,
    description: body,
  }),
  exists: (status) => status === 409,
  read: (value) => {
    const found = mergeSchema.safeParse(value).data
    return found === undefined ? null : { number: found.iid, url: found.web_url }
  },
}
