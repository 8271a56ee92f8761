import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

export interface CutProxy {
  /** The URL of the database through the proxy. */
  readonly url: string
  /**
   * Cuts the connection on which a client next sends `text`: `before` the server gets it, or `after` the server has
   * replied, so that the reply is lost.
   */
  cutAt(text: string, when: 'before' | 'after'): void
  /**
   * Withholds every reply from the client that next sends `text`, from its next commit on: the transaction takes effect,
   * but the client does not learn of it.
   */
  holdCommitAfter(text: string): void
  /** Refuses new connections and cuts open ones, or accepts connections again. */
  away(isAway: boolean): void
  /** How many connections were refused. */
  readonly refused: number
  close(): Promise<void>
}

/** A proxy between a client and PostgreSQL on loopback that drops what a test chooses. */
export async function cutProxy(databaseUrl: string): Promise<CutProxy> {
  const target = new URL(databaseUrl)
  const open = new Set<Socket>()
  let cut: { readonly text: string; readonly when: 'before' | 'after' } | undefined
  let held: string | undefined
  let isAway = false
  let refused = 0
  const server = createServer((client) => {
    if (isAway) {
      refused += 1
      client.destroy()
      return
    }
    const upstream = connect(Number(target.port), target.hostname)
    const end = () => {
      client.destroy()
      upstream.destroy()
      open.delete(client)
    }
    open.add(client)
    let losesAnswer = false
    let holdsAtCommit = false
    let holds = false
    client.on('data', (bytes) => {
      if (cut && bytes.includes(cut.text)) {
        const { when } = cut
        cut = undefined
        if (when === 'before') {
          end()
          return
        }
        losesAnswer = true
      }
      if (held !== undefined && bytes.includes(held)) {
        held = undefined
        holdsAtCommit = true
      }
      holds ||= holdsAtCommit && /commit/i.test(bytes.toString('latin1'))
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (losesAnswer) end()
      else if (!holds) client.write(bytes)
    })
    for (const socket of [client, upstream]) socket.on('error', end).on('close', end)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    get refused() {
      return refused
    },
    cutAt: (text, when) => {
      cut = { text, when }
    },
    holdCommitAfter: (text) => {
      held = text
    },
    away: (now) => {
      isAway = now
      if (now) for (const socket of open) socket.destroy()
    },
    close: async () => {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
