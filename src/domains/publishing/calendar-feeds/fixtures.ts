import { newName, times, type Fixtures, type Lists, type Rows, type Stage } from '../../../../test/support/stage.ts'
import type * as operations from './operations.ts'

export const rows: Rows = { calendar_feeds: async (stage) => (await feed(stage)).id }

export const fixtures: Fixtures<typeof operations> = {
  readCalendarFeed: async (stage) => ({ path: { token: (await feed(stage)).token } }),
  revokeCalendarFeed: async (stage) => ({ path: { id: (await feed(stage)).id }, once: true }),
}

export const lists: Lists<typeof operations> = { listCalendarFeeds: times(feed) }

/** A link of the caller, with the token in its address. */
async function feed({ app, caller, workspaceId }: Stage): Promise<{ id: string; token: string }> {
  const reply = await app.send('POST /api/posts/calendar-feeds', {
    apiKey: caller.apiKey,
    body: { workspaceId, name: newName('workspace') },
  })
  if (reply.status !== 201) throw new Error(`a calendar link for a fixture: ${reply.text}`)
  const { feed: made, url } = reply.body.data
  return { id: made._id, token: new URL(url).pathname.split('/').at(-1) ?? '' }
}
