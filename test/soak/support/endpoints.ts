import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export const FAILINGS = ['hangs', 'replies 500', 'is slow', 'resets'] as const
export type Failing = (typeof FAILINGS)[number]

const SLOW_MS = 3_000

/** An endpoint of a webhook. */
export interface Endpoint {
  readonly path: string
  readonly workspaceId: string
  readonly failing: Failing | undefined
  /** The number of each event that was accepted, in the order of arrival. */
  readonly accepted: number[]
  /** Milliseconds from each accepted event to its arrival. */
  readonly lateMs: number[]
}

/** A server with endpoints of webhooks, some of which fail until they recover. */
export async function startEndpoints() {
  const all = new Map<string, Endpoint>()
  let isWell = false
  let refused = 0
  const answer = async (request: IncomingMessage, reply: ServerResponse) => {
    const arrivedAt = Date.now()
    const body = JSON.parse(await text(request)) as { seq: number; timestamp: string }
    const endpoint = all.get(request.url ?? '')
    if (endpoint === undefined) {
      reply.writeHead(404).end()
      return
    }
    const failing = isWell ? undefined : endpoint.failing
    if (failing === undefined || failing === 'is slow') {
      endpoint.accepted.push(body.seq)
      endpoint.lateMs.push(arrivedAt - Date.parse(body.timestamp))
    } else refused += 1
    if (failing === undefined) reply.writeHead(204).end()
    if (failing === 'is slow') setTimeout(() => reply.writeHead(204).end(), SLOW_MS)
    if (failing === 'replies 500') reply.writeHead(500).end()
    if (failing === 'resets') reply.socket?.resetAndDestroy()
  }
  const server = createServer((request, reply) => void answer(request, reply).catch(() => undefined))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    get all(): Endpoint[] {
      return [...all.values()]
    },
    /** Attempts that endpoints have not accepted. */
    get refused(): number {
      return refused
    },
    /** @returns its URL */
    add(workspaceId: string, failing: Failing | undefined): string {
      const path = `/${all.size}`
      all.set(path, { path, workspaceId, failing, accepted: [], lateMs: [] })
      return `http://127.0.0.1:${port}${path}`
    },
    /** No endpoint fails from now on. */
    recover(): void {
      isWell = true
    },
    close(): void {
      server.closeAllConnections()
      server.close()
    },
  }
}
