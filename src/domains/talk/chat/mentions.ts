import { isUuid } from '../../../core/id.ts'

const USER = /<@([0-9a-f-]{36})>/g
const CHANNEL = '<!channel>'

/** People whom one message can mention by name. */
const MOST = 100

export interface Mentioned {
  /** Ids as written, each once, in order; who they are is not checked. */
  readonly userIds: readonly string[]
  readonly everyone: boolean
}

/** Whom a text mentions: `<@user id>` somebody, `<!channel>` everybody in the channel. Past 100 people no more count. */
export function mentionsIn(body: string): Mentioned {
  if (!body.includes('<')) return NOBODY
  const userIds = [...body.matchAll(USER)].map(([, id = '']) => id).filter(isUuid)
  return { userIds: [...new Set(userIds)].slice(0, MOST), everyone: body.includes(CHANNEL) }
}

const NOBODY: Mentioned = { userIds: [], everyone: false }
