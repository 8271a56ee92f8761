import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Faults, type Fault } from '../../sandbox/faults.ts'

/** A proxy in front of a real platform that produces the faults of the sandbox. */
export interface FaultProxy {
  readonly url: string
  readonly faults: Faults
  close(): Promise<void>
}

interface Received {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly bytes: Buffer
}

/** Starts a proxy for an HTTP server on loopback. */
export async function faultProxy(target: string): Promise<FaultProxy> {
  const { hostname, port } = new URL(target)
  const faults = new Faults()

  const handled = async (incoming: IncomingMessage, bytes: Buffer) => {
    const { headers, method, url } = incoming
    return new Promise<Received>((resolve, reject) => {
      const sent = request({ hostname, port, method, path: url, headers }, (reply) => {
        received(reply).then(
          (body) => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, bytes: body }),
          reject,
        )
      })
      sent.on('error', reject).end(bytes)
    })
  }

  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const bytes = await received(incoming)
    const fault = faults.take(incoming.method ?? 'GET', incoming.url ?? '/')
    if (fault?.kind === 'refuse') return void outgoing.destroy()
    if (fault?.kind === 'stall') return
    if (fault?.kind === 'status') return refuse(outgoing, fault)
    const reply = await handled(incoming, bytes)
    if (fault?.kind === 'cut') return void outgoing.destroy()
    if (fault?.kind === 'hold') return
    if (fault?.kind === 'status_after') return refuse(outgoing, fault)
    const { 'transfer-encoding': _chunked, ...headers } = reply.headers
    if (fault?.kind === 'cut_body') {
      outgoing.writeHead(reply.status, { ...headers, 'content-length': reply.bytes.length + 1_000 })
      outgoing.write(reply.bytes.subarray(0, 5), () => outgoing.destroy())
      return
    }
    outgoing.writeHead(reply.status, { ...headers, 'content-length': reply.bytes.length })
    outgoing.end(incoming.method === 'HEAD' ? undefined : reply.bytes)
  }

  const server = createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch(() => outgoing.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://${hostname}:${(server.address() as AddressInfo).port}`,
    faults,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function refuse(outgoing: ServerResponse, { status = 503 }: Fault): void {
  outgoing.writeHead(status, { 'content-type': 'application/json' })
  outgoing.end(JSON.stringify({ error: 'Injected', message: 'injected by a test' }))
}

async function received(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}
