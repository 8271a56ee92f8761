import { isUuid } from '../core/id.ts'

const USER = /<@([0-9a-f-]{36})>/g
const CHANNEL = '<!channel>'

/** People whom one message can mention by name. */
const MOST = 100

export interface Mentioned {
  /** Ids as written, each once, in order; who they are is not checked. */
  readonly users: readonly string[]
  readonly channel: boolean
}

/** Whom a text mentions: `<@user id>` somebody, `<!channel>` everybody in the channel. Past 100 people no more count. */
export function mentionsIn(body: string): Mentioned {
  if (!body.includes('<')) return NOBODY
  const users = [...body.matchAll(USER)].map(([, id = '']) => id).filter(isUuid)
  return { users: [...new Set(users)].slice(0, MOST), channel: body.includes(CHANNEL) }
}

const NOBODY: Mentioned = { users: [], channel: false }
