import { isUuid } from '../../../tools/id.ts'

const USER = /<@([0-9a-f-]{36})>/g
const CHANNEL = '<!channel>'

/** Users whom one message can mention by name. */
const MAX = 100

export interface Mentioned {
  /** Ids as written, in order, without duplicates. Whether they exist is not checked. */
  readonly userIds: readonly string[]
  readonly everyone: boolean
}

/** The mentions in a text: `<@user id>` for a user, `<!channel>` for everyone in the channel. Only the first 100 users count. */
export function mentionsIn(body: string): Mentioned {
  if (!body.includes('<')) return NOBODY
  const userIds = [...body.matchAll(USER)].map(([, id = '']) => id).filter(isUuid)
  return { userIds: [...new Set(userIds)].slice(0, MAX), everyone: body.includes(CHANNEL) }
}

const NOBODY: Mentioned = { userIds: [], everyone: false }
