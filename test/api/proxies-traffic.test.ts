import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect as connectH2 } from 'node:http2'
import { request } from 'node:https'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { WhipClient } from '../../media/testing/whip-client.ts'
import { makeWhipMedia, type WhipMedia } from '../../media/testing/whip-media.ts'
import type { Front } from '../support/fronts.ts'
import { mp4Head } from '../support/mp4.ts'
import { startBehindProxies, type ProxyStage } from '../support/proxy-stage.ts'
import { Sockets } from '../support/sockets.ts'
import { waitFor } from '../support/wait.ts'

/** Large files, sockets and streams through nginx and HAProxy with the configurations of docs/proxies.md. */

let stage: ProxyStage
let media: WhipMedia
const sockets = new Sockets(() => stage.app)

beforeAll(async () => {
  stage = await startBehindProxies({ SOCKET_POLLING: '1' })
  media = await makeWhipMedia()
})
afterEach(() => sockets.end())
afterAll(() => stage?.stop())

const MB = 1_000_000
const key = () => ({ 'x-api-key': stage.world.key('ada') })
const proxied = () => stage.fronts.filter(({ proxy }) => proxy !== undefined)
const overHttp1 = () => proxied().filter(({ isHttp2 }) => !isHttp2)

describe('a file of 300 MB', () => {
  const BLOCK = randomBytes(MB)
  const SIZE = 300 * MB
  const HEAD = mp4Head(SIZE)
  const WHOLE = HEAD.length + SIZE

  /** Each is another file, because one that the library has is not stored again. */
  async function* video(name: string, hash = createHash('sha256')): AsyncGenerator<Uint8Array> {
    const parts = [HEAD, Buffer.from(name), BLOCK.subarray(name.length), ...Array<Buffer>(SIZE / MB - 1).fill(BLOCK)]
    for (const part of parts) {
      hash.update(part)
      yield part
    }
  }

  test('is uploaded over HTTP/1.1, and downloaded unchanged over HTTP/2', async () => {
    for (const front of overHttp1()) {
      const fields = { workspaceId: stage.world.id('acme'), name: 'v.mp4', type: 'video/mp4', size: WHOLE }
      const opened = await stage.world.as('ada').call('POST /api/assets/signed-upload', { body: fields })
      const { uploadId, url } = opened.body.data as { uploadId: string; url: string }
      const { pathname, search } = new URL(url)
      const headers = { 'content-type': 'video/mp4', 'content-length': String(WHOLE) }
      const hash = createHash('sha256')
      const path = pathname + search
      const sent = await front.send({ method: 'PUT', path, headers, body: video(front.name, hash) })
      expect([front.name, sent.status, sent.text]).toEqual([front.name, 200, expect.stringContaining('"received"')])
      const confirm = 'POST /api/assets/signed-upload/{uploadId}/confirm'
      const confirmed = await stage.world.as('ada').call(confirm, { path: { uploadId } })
      const file = `/api/assets/${confirmed.body.data._id}/file`
      const received = createHash('sha256')
      const reader = proxied().find(({ isHttp2, proxy }) => isHttp2 && proxy === front.proxy)!
      const onData = (part: Buffer) => void received.update(part)
      const read = await reader.send({ method: 'GET', path: file, headers: key(), onData })
      const expected = [reader.name, 200, WHOLE, hash.digest('hex')]
      expect([reader.name, read.status, read.bytes, received.digest('hex')]).toEqual(expected)
    }
  })

  test('is uploaded as a form without a length over HTTP/2', async () => {
    for (const front of proxied().filter(({ isHttp2 }) => isHttp2)) {
      const part = '--x\r\nContent-Disposition: form-data; name='
      const field = `${part}"workspaceId"\r\n\r\n${stage.world.id('acme')}\r\n`
      async function* form(): AsyncGenerator<Uint8Array> {
        yield Buffer.from(`${field}${part}"file"; filename="v.mp4"\r\nContent-Type: video/mp4\r\n\r\n`)
        yield* video(front.name)
        yield Buffer.from('\r\n--x--\r\n')
      }
      const headers = { ...key(), 'content-type': 'multipart/form-data; boundary=x' }
      const reply = await front.send({ method: 'POST', path: '/api/assets/upload', headers, body: form() })
      const size = `"size":${WHOLE}`
      expect([front.name, reply.status, reply.text]).toEqual([front.name, 201, expect.stringContaining(size)])
    }
  })
})

describe('sockets', () => {
  const connect = ({ proxy, url }: Front, options: object) =>
    sockets.connect(stage.world.key('ada'), { ca: proxy?.ca, rejectUnauthorized: false, ...options }, url)

  test.each(['websocket', 'polling'])('get events and replies by %s', async (transport) => {
    const listening = await Promise.all(overHttp1().map((front) => connect(front, { transports: [transport] })))
    const body = { workspaceId: stage.world.id('acme'), title: `Launch by ${transport}` }
    await stage.world.as('ada').call('POST /api/streams', { body })
    for (const { events, socket } of listening) {
      await waitFor(() => events.some(({ data }) => JSON.stringify(data).includes(body.title)), { what: 'an event' })
      expect(socket.io.engine.transport.name).toBe(transport)
      const reply: unknown = await socket.emitWithAck('call', { operation: 'none' })
      expect(reply).toMatchObject({ status: 404, body: { code: 'route_not_found' } })
    }
  })

  test('a refused one gets the reason', async () => {
    for (const { proxy, url } of overHttp1()) {
      const options = { ca: proxy?.ca, rejectUnauthorized: false }
      const { socket } = sockets.listen({ token: 'crier_wrong' }, options, url)
      const error = await new Promise<Error & { data?: { code: string } }>((done) => socket.once('connect_error', done))
      expect(error.data?.code, error.message).toBe('invalid_credential')
    }
  })

  test('can be opened over HTTP/2 where the proxy offers that', async () => {
    const front = stage.fronts.find(({ name }) => name === 'HAProxy by HTTP/2')!
    const session = connectH2(front.url, { ca: front.proxy?.ca, servername: 'localhost' })
    // RFC 8441.
    await once(session, 'remoteSettings')
    expect(session.remoteSettings.enableConnectProtocol).toBe(true)
    const stream = session.request({
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': '/socket.io/?EIO=4&transport=websocket',
      ':authority': 'localhost',
      'sec-websocket-version': '13',
    })
    const [frame] = (await once(stream, 'data')) as [Buffer]
    expect(frame.toString()).toContain('{"sid":')
    session.destroy()
  })
})

test('the address of a client is the one that the proxy saw', async () => {
  for (const [index, { proxy, url }] of overHttp1().entries()) {
    const apiKey = (await stage.world.user(`visitor${index}`)).apiKey
    const headers = { 'x-api-key': apiKey, 'x-forwarded-for': '203.0.113.9' }
    const from = { localAddress: `127.0.0.${2 + index}`, ca: proxy?.ca, servername: 'localhost', agent: false as const }
    const sent = request(`${url}/api/users/me`, { headers, ...from }).end()
    const [reply] = (await once(sent, 'response')) as [IncomingMessage]
    expect(reply.resume().statusCode).toBe(200)
    await waitFor(async () => {
      const { body } = await stage.app.send('GET /api/users/me/api-keys', { apiKey })
      return body.data[0].lastUsedAddress === from.localAddress
    })
  }
})

describe('a stream over WHIP', () => {
  test('is published, watched and ended', async () => {
    const { caster } = stage
    for (const front of proxied()) {
      const { _id: id } = await caster.stream({})
      const armed = await caster.call<{ whipUrl: string; whipToken: string }>('POST /api/streams/{id}/arm', {
        path: { id },
      })
      const { pathname } = new URL(armed.whipUrl)
      const authorization = `Bearer ${armed.whipToken}`
      const client = new WhipClient({ media })
      try {
        const offer = await client.offer()
        const headers = { authorization, 'content-type': 'application/sdp' }
        const answered = await front.send({ method: 'POST', path: pathname, headers, body: offer })
        expect([front.name, answered.status, answered.text.slice(0, 5)]).toEqual([front.name, 201, 'v=0\r\n'])
        const session = answered.headers['location'] ?? ''
        client.accept(answered.text)
        client.start()
        const body = `a=ice-ufrag:${/a=ice-ufrag:(\S+)/.exec(offer)?.[1]}\r\na=ice-pwd:whatever\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=end-of-candidates\r\n`
        const fragment = {
          authorization,
          'content-type': 'application/trickle-ice-sdpfrag',
          'if-match': answered.headers['etag'] ?? '',
        }
        const trickled = await front.send({ method: 'PATCH', path: session, headers: fragment, body })
        expect([front.name, trickled.status]).toEqual([front.name, 204])
        await caster.until(id, 'receiving')
        // A preview has no end, so its first bytes must pass at once.
        const seen = await preview(front, id)
        expect([front.name, seen]).toEqual([front.name, 'FLV'])
        const ended = await front.send({ method: 'DELETE', path: session, headers: { authorization } })
        expect([front.name, ended.status, ended.text]).toEqual([front.name, 200, ''])
      } finally {
        client.close()
      }
    }
  })

  /** The first three bytes of the preview. */
  async function preview(front: Front, id: string): Promise<string> {
    let first = ''
    const watching = front.send({
      method: 'GET',
      path: `/api/streams/${id}/preview.flv`,
      headers: key(),
      onData: (part) => (first ||= part.toString('latin1', 0, 3)),
    })
    // It fails once the connection is closed.
    const ended = Promise.allSettled([watching])
    await waitFor(() => first !== '', { what: 'the preview' })
    front.close()
    await ended
    return first
  }
})
