import { createServer, type Server, type Socket } from 'node:net'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { Outgoing, OutgoingError } from './outgoing.ts'
import { OPEN_RULES } from './target.ts'

const cleanUps: (() => void)[] = []
afterEach(() => {
  for (const cleanUp of cleanUps.splice(0)) cleanUp()
})

/** A server that answers each request, and keeps what it has received. */
async function startServer() {
  const received: string[] = []
  const sockets: Socket[] = []
  const server: Server = createServer((socket) => {
    sockets.push(socket)
    const index = received.push('') - 1
    socket.on('error', () => undefined)
    socket.on('data', (bytes) => {
      received[index] += bytes.toString('latin1')
      if (isWhole(received[index] ?? '')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

function isWhole(text: string): boolean {
  const [head = '', ...body] = text.slice(text.lastIndexOf('POST ')).split('\r\n\r\n')
  const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? Number.NaN)
  return body.join('\r\n\r\n').length === length
}

function client(): Outgoing {
  const outgoing = Outgoing.of(true)
  cleanUps.push(() => outgoing.close())
  return outgoing
}

const request = (url: string, more: object = {}) => {
  return { method: 'POST', url, body: '{}', maxBytes: 1_000, timeoutMs: 30_000, ...more }
}

async function failureOf(sending: Promise<unknown>): Promise<OutgoingError> {
  const error = await sending.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toBeInstanceOf(OutgoingError)
  return error as OutgoingError
}

describe('the guard of a request', () => {
  test('is called when the connection stands and nothing is sent yet', async () => {
    const { received, url } = await startServer()
    const seen: string[] = []
    const reply = await client().send(request(url, { guard: () => seen.push(received.join('|')) }))
    expect(reply.status).toBe(200)
    expect(seen).toEqual([''])
  })

  test('stops the request before its first byte, on a new connection and on an open one', async () => {
    const { received, url } = await startServer()
    const outgoing = client()
    const guard = () => {
      throw new Error('too late')
    }
    const first = await failureOf(outgoing.send(request(url, { guard })))
    expect(first).toMatchObject({ fault: 'cancelled', sent: false, message: 'too late' })
    await outgoing.send(request(url))
    const before = received.join('|')
    const second = await failureOf(outgoing.send(request(url, { guard })))
    expect(second).toMatchObject({ fault: 'cancelled', sent: false })
    await outgoing.send(request(url))
    expect(received.join('|').split('POST ')).toHaveLength(3)
    expect(before).toContain('POST ')
  })

  test('stops a long body before its last piece, so that the server has no complete request', async () => {
    const { received, url } = await startServer()
    const body = Buffer.alloc(1_000_000, 'x')
    let calls = 0
    const guard = () => {
      calls += 1
      if (calls === 4) throw new Error('too late')
    }
    const error = await failureOf(client().send(request(url, { body, guard })))
    // Some of it was sent.
    expect(error.sent).toBe(true)
    expect(received.some((text) => isWhole(text))).toBe(false)
    const whole = await client().send(request(url, { body, guard: () => undefined }))
    expect(whole.status).toBe(200)
  })
})

test('the limit of a whole request includes lookup and connection', async () => {
  const silent = createServer((socket) => void socket.on('error', () => undefined))
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  cleanUps.push(() => silent.close())
  const url = `http://slow.example:${(silent.address() as AddressInfo).port}/`
  const rules = {
    ...OPEN_RULES,
    resolve: async () => {
      await new Promise((resolve) => setTimeout(resolve, 400))
      return ['127.0.0.1']
    },
  }
  const outgoing = client()
  const ended: string[] = []
  const send = async (name: string, wholly: boolean) => {
    const failure = await failureOf(outgoing.send(request(url, { timeoutMs: 600, wholly }), rules))
    ended.push(`${name} ${failure.fault}`)
  }
  await Promise.all([send('from the connection', false), send('wholly', true)])
  expect(ended).toEqual(['wholly timeout', 'from the connection timeout'])
})
