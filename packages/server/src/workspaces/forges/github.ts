import { z } from 'zod'
import { below } from './forge.ts'
import type { ForgeApi, PullRequestWish } from './forge-api.ts'

const pullSchema = z.object({ number: z.int().positive(), html_url: z.url({ protocol: /^https?$/ }).max(2048) })

/** Pull requests as GitHub and GitHub Enterprise have them. */
export const github: ForgeApi = {
  headers: (token) => ({
    authorization: `Bearer ${token}`,
    accept: 'application/vnd.github+json',
    'x-github-api-version': '2022-11-28',
    'user-agent': 'hearth',
  }),
  find: ({ api, project }, { branch, base }) => {
    const [owner = ''] = project.split('/')
    return below(api, `/repos/${project}/pulls`, { state: 'open', head: `${owner}:${branch}`, base, per_page: '1' })
  },
  create: ({ api, project }) => below(api, `/repos/${project}/pulls`),
  body: ({ branch, base, title, body, draft }: PullRequestWish) => ({ title, head: branch, base, body, draft }),
  /** Also when something else is wrong with it: whether there is one already tells the search. */
  exists: (status) => status === 422,
  read: (value) => {
    const found = pullSchema.safeParse(value).data
    return found === undefined ? null : { number: found.number, url: found.html_url }
  },
}
