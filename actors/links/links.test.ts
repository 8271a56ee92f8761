import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { testAuthority } from '../../test/support/certificates.ts'
import { waitFor } from '../../test/support/wait.ts'
import { systemClock, systemRandom } from '../clock.ts'
import { certificateFiles, type LinkTls } from './certificates.ts'
import type { Reply, Request } from './frames.ts'
import { decodeReply, decodeRequest, encodeReply, encodeRequest } from './frames.ts'
import { LinkServer } from './link-server.ts'
import { Link, type LinkResult } from './link.ts'
import { Links } from './links.ts'
import { DEFAULT_LINK_LIMITS, type LinkLimits } from './settings.ts'
import { tcpTransport } from './tcp.ts'

const SECRET = 'the secret that both ends of a link share'
const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0).toReversed()) close()
})

function settings(secret = SECRET, limits: Partial<LinkLimits> = {}, tls?: LinkTls) {
  const errors: string[] = []
  return {
    transport: tcpTransport({ host: '127.0.0.1', port: 0, ...(tls && { tls: () => tls }) }),
    clock: systemClock(),
    random: systemRandom,
    secret,
    limits: { ...DEFAULT_LINK_LIMITS, ...limits },
    onError: (error: unknown) => void errors.push((error as Error).message),
    errors,
  }
}

type Handler = (request: Request, reply: (reply: Reply) => void) => void

async function serve(onRequest: Handler, options = settings()) {
  const server = new LinkServer({ ...options, onRequest, onOwners: () => '[]' })
  closing.push(() => server.close())
  return { server, address: await server.listen(), errors: options.errors }
}

function dial(address: string, options = settings()): Link {
  const link = new Link(address, options, () => undefined)
  closing.push(() => link.close())
  return link
}

function ask(link: Link, more: Partial<Request> = {}): Promise<LinkResult> {
  const request = {
    leftMs: 5_000,
    control: false,
    repeated: false,
    actor: 'ws:1',
    operationId: 'op',
    caller: 'ada',
    payload: '{}',
  }
  return new Promise((resolve) => {
    if (link.call({ ...request, ...more }, resolve) === undefined)
      resolve({ kind: 'refused', reason: 'overloaded', retryAfter: 1 })
  })
}

const echo: Handler = (request, reply) => reply({ kind: 'value', text: request.payload })

/** A raw, unauthenticated connection, with the frames it received. */
async function raw(
  address: string,
): Promise<{ socket: Socket; frames: Buffer[]; closed: () => boolean; send: (frame: Uint8Array) => void }> {
  const port = Number(address.split(':')[1])
  const socket = connect(port, '127.0.0.1')
  closing.push(() => socket.destroy())
  const frames: Buffer[] = []
  let closed = false
  let data = Buffer.alloc(0)
  socket.on('error', () => undefined).on('close', () => (closed = true))
  socket.on('data', (chunk: Buffer) => {
    data = Buffer.concat([data, chunk])
    while (data.length >= 4 && data.length >= 4 + data.readUInt32BE(0)) {
      const end = 4 + data.readUInt32BE(0)
      frames.push(data.subarray(4, end))
      data = data.subarray(end)
    }
  })
  const send = (frame: Uint8Array) => {
    const head = Buffer.alloc(4)
    head.writeUInt32BE(frame.length)
    socket.write(Buffer.concat([head, frame]))
  }
  await waitFor(() => frames.length > 0)
  return { socket, frames, closed: () => closed, send }
}

describe('a TCP connection', () => {
  it('reports once that it is closed, and ignores frames that are sent afterwards', async () => {
    const { errors, transport } = settings()
    const arrived: Buffer[] = []
    const handlers = { frame: () => undefined, drained: () => undefined, closed: () => undefined }
    const accepted = Promise.withResolvers<void>()
    let gone = false
    const listener = await transport.listen(() => {
      accepted.resolve()
      return { ...handlers, frame: (frame) => void arrived.push(frame), closed: () => (gone = true) }
    })
    closing.push(() => listener.close())
    let closed = 0
    const connection = transport.connect(listener.address, { ...handlers, closed: () => (closed += 1) })
    connection.send(Buffer.from('before'))
    await accepted.promise
    await waitFor(() => arrived.length === 1)
    connection.close()
    connection.send(Buffer.from('after'))
    expect([closed, connection.buffered]).toEqual([1, 0])
    await waitFor(() => gone)
    expect([closed, arrived.map(String), errors]).toEqual([1, ['before'], []])
  })
})

describe('frames', () => {
  it('carry requests and replies unchanged', () => {
    const request = {
      id: 7,
      leftMs: 1_234,
      control: true,
      repeated: true,
      actor: 'ws:ä',
      operationId: 'o',
      caller: '',
      payload: '{"a":"ü"}',
    }
    expect(decodeRequest(encodeRequest(request))).toEqual(request)
    const replies: Reply[] = [
      { kind: 'value', text: '€' },
      { kind: 'error', text: '' },
      { kind: 'refused', reason: 'quarantined', retryAfter: 4 },
      { kind: 'moved' },
      { kind: 'unknown' },
    ]
    for (const reply of replies) expect(decodeReply(encodeReply(9, reply))).toEqual({ id: 9, reply })
  })

  it('are rejected when they are truncated', () => {
    const whole = encodeRequest({
      id: 1,
      leftMs: 1,
      control: false,
      repeated: false,
      actor: 'actor',
      operationId: 'op',
      caller: 'c',
      payload: '',
    })
    for (let length = 0; length < whole.length; length += 1) {
      expect(() => decodeRequest(whole.subarray(0, length)), String(length)).toThrow('truncated')
    }
  })
})

describe('a link', () => {
  it('carries calls of any size, in order, many at a time', async () => {
    const seen: string[] = []
    const { address } = await serve((request, reply) => {
      seen.push(request.operationId)
      echo(request, reply)
    })
    const link = dial(address)
    const payloads = Array.from({ length: 500 }, (_, index) => `${index}`.repeat(index === 250 ? 1_000_000 : 10))
    const results = await Promise.all(payloads.map((payload, index) => ask(link, { payload, operationId: `${index}` })))
    expect(results).toEqual(payloads.map((text) => ({ kind: 'value', text })))
    expect(seen).toEqual(payloads.map((_, index) => `${index}`))
  })

  it('settles sent calls as lost and queued calls as unsent when it breaks', async () => {
    const { server, address } = await serve(() => undefined)
    const link = dial(address)
    const sent = ask(link)
    await waitFor(() => link.stats().state === 'open')
    server.close()
    expect(await sent).toEqual({ kind: 'lost' })
    expect(await ask(link)).toEqual({ kind: 'unsent' })
    expect(await ask(dial('127.0.0.1:1'))).toEqual({ kind: 'unsent' })
  })

  it('limits calls in progress, but always accepts control', async () => {
    const { address } = await serve(() => undefined)
    const link = dial(address, settings(SECRET, { inFlight: 2 }))
    void ask(link)
    void ask(link)
    expect(await ask(link)).toMatchObject({ kind: 'refused', reason: 'overloaded' })
    void ask(link, { control: true })
    expect(link.inFlight).toBe(3)
  })

  it('queues calls when the socket is full, and sends control first when it drains', async () => {
    const seen: string[] = []
    const { address } = await serve((request, reply) => {
      seen.push(request.operationId)
      reply({ kind: 'value', text: '' })
    })
    const link = dial(address, settings(SECRET, { highWater: 100_000 }))
    const payload = 'x'.repeat(60_000)
    const calls = Array.from({ length: 6 }, (_, index) => ask(link, { payload, operationId: `n${index}` }))
    calls.push(ask(link, { control: true, operationId: 'control' }))
    let most = 0
    await waitFor(() => {
      most = Math.max(most, link.stats().buffered)
      return seen.length === 7
    })
    await Promise.all(calls)
    expect(seen).toEqual(['control', 'n0', 'n1', 'n2', 'n3', 'n4', 'n5'])
    expect(most).toBeLessThan(200_000)
  })

  it('is closed when the other end is silent', async () => {
    const transport = tcpTransport({ host: '127.0.0.1', port: 0 })
    const { address } = await serve(echo)
    const options = settings(SECRET, { pingMs: 20, silenceMs: 100 })
    let dropFrames = false
    const link = dial(address, {
      ...options,
      transport: {
        listen: (accept) => transport.listen(accept),
        connect: (to, handlers) =>
          transport.connect(to, { ...handlers, frame: (frame) => dropFrames || handlers.frame(frame) }),
      },
    })
    expect(await ask(link)).toMatchObject({ kind: 'value' })
    dropFrames = true
    expect(await ask(link)).toEqual({ kind: 'lost' })
  })

  it('stays open with pings, also when this process pauses for longer than the silence limit', async () => {
    const { address } = await serve(echo, settings(SECRET, { silenceMs: 100 }))
    const link = dial(address, settings(SECRET, { pingMs: 20, silenceMs: 100 }))
    for (let pause = 0; pause < 3; pause += 1) {
      expect(await ask(link)).toMatchObject({ kind: 'value' })
      const until = performance.now() + 400
      while (performance.now() < until);
      // The timers of both ends are due. They fire before these.
      await new Promise((resolve) => void setTimeout(resolve, 1))
      await new Promise((resolve) => void setImmediate(resolve))
    }
    expect(link.closed).toBe(false)
  })
})

describe('authentication', () => {
  it('rejects a node without the secret, on both sides', async () => {
    const { address, errors } = await serve(echo)
    const link = dial(address, settings('the secret of another cluster, not of the server'))
    expect(await ask(link)).toEqual({ kind: 'unsent' })
    await waitFor(() => errors.length > 0)
    expect(errors).toEqual(['the peer does not know the secret of this cluster'])
  })

  it('rejects a server that cannot prove the secret', async () => {
    // The server only returns the proof that the client sent.
    const transport = tcpTransport({ host: '127.0.0.1', port: 0 })
    const listener = await transport.listen((connection) => {
      connection.send(Buffer.concat([Buffer.from([16, 1]), Buffer.alloc(32, 5)]))
      return {
        opened: () => undefined,
        drained: () => undefined,
        closed: () => undefined,
        frame: (frame) => connection.send(Buffer.concat([Buffer.from([18]), frame.subarray(33)])),
      }
    })
    closing.push(() => listener.close())
    const options = settings()
    expect(await ask(dial(listener.address, options))).toEqual({ kind: 'unsent' })
    expect(options.errors).toEqual(['the peer does not know the secret of this cluster'])
  })

  it('rejects a proof recorded on another connection', async () => {
    const recorded: Buffer[] = []
    const transport = tcpTransport({ host: '127.0.0.1', port: 0 })
    const { address, errors } = await serve(echo)
    const link = dial(address, {
      ...settings(),
      transport: {
        listen: (accept) => transport.listen(accept),
        connect: (to, handlers) => {
          const connection = transport.connect(to, handlers)
          const send = connection.send.bind(connection)
          connection.send = (frame) => {
            recorded.push(Buffer.from(frame))
            send(frame)
          }
          return connection
        },
      },
    })
    expect(await ask(link)).toMatchObject({ kind: 'value' })
    const attacker = await raw(address)
    for (const frame of recorded) attacker.send(frame)
    await waitFor(() => attacker.closed())
    expect(errors).toEqual(['the peer does not know the secret of this cluster'])
    expect(attacker.frames).toHaveLength(1)
  })

  it('reads only the proof from an unauthenticated peer, and closes after a timeout', async () => {
    const requests: Request[] = []
    const { address } = await serve((request) => void requests.push(request), settings(SECRET, { handshakeMs: 100 }))
    const [early, idle, malformed] = [await raw(address), await raw(address), await raw(address)]
    early.send(
      encodeRequest({
        id: 1,
        leftMs: 1_000,
        control: true,
        repeated: false,
        actor: 'a',
        operationId: 'o',
        caller: 'c',
        payload: '',
      }),
    )
    malformed.socket.write(Buffer.from([0xff, 0xff, 0xff, 0xff, 1, 2, 3]))
    await waitFor(() => early.closed() && idle.closed() && malformed.closed())
    expect(requests).toEqual([])
  })
})

describe('TLS', () => {
  const ours = testAuthority('ours')
  const secure = (tls: LinkTls | undefined) => settings(SECRET, { handshakeMs: 500 }, tls)

  it('carries calls of any size between nodes of one authority', async () => {
    const { address } = await serve(echo, secure(ours.issue('one')))
    const link = dial(address, secure(ours.issue('two')))
    const texts = ['small', 'x'.repeat(3 << 20), 'ünï']
    const results = await Promise.all(texts.map((payload) => ask(link, { payload })))
    expect(results).toEqual(texts.map((text) => ({ kind: 'value', text })))
  })

  it.each([
    ['does not use TLS', undefined],
    ['shows a certificate of another authority', { ...testAuthority('ours').issue('two'), ca: ours.ca }],
    ['trusts another authority', { ...ours.issue('two'), ca: testAuthority('theirs').ca }],
  ])('rejects a peer that %s', async (_who, tls) => {
    const received: string[] = []
    const { address } = await serve(
      (request, reply) => {
        received.push(request.operationId)
        echo(request, reply)
      },
      secure(ours.issue('one')),
    )
    const result = await ask(dial(address, secure(tls)))
    expect(result.kind).not.toBe('value')
    expect(received).toEqual([])
  })

  it('reloads certificates from its files, and keeps the old ones when the new ones do not match', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'crier-links-'))
    closing.push(() => rmSync(folder, { recursive: true }))
    const paths = { ca: join(folder, 'ca.pem'), cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
    let changes = 0
    const put = (what: Partial<LinkTls>) => {
      for (const name of ['ca', 'cert', 'key'] as const) {
        const text = what[name]
        if (text === undefined) continue
        writeFileSync(paths[name], text)
        utimesSync(paths[name], 0, (changes += 1))
      }
    }
    put(ours.issue('one'))
    const failures: string[] = []
    const files = certificateFiles(paths, (error) => void failures.push((error as Error).message))
    const server = { ...settings(), transport: tcpTransport({ host: '127.0.0.1', port: 0, tls: files }) }
    const { address } = await serve(echo, server)
    const connects = async (tls: LinkTls) =>
      (await ask(dial(address, secure(tls)), { payload: 'here' })).kind === 'value'
    expect(await connects(ours.issue('two'))).toBe(true)
    const theirs = testAuthority('theirs')
    const renewed = theirs.issue('one')
    put({ key: renewed.key })
    expect(await connects(ours.issue('two'))).toBe(true)
    expect(failures).toEqual([expect.stringMatching(/key values mismatch/i)])
    put({ cert: renewed.cert, ca: renewed.ca })
    expect([await connects(ours.issue('two')), await connects(theirs.issue('two'))]).toEqual([false, true])
  })

  it('reports why a connection between nodes fails', async () => {
    const reported: string[] = []
    const { address } = await serve(echo, secure(ours.issue('one')))
    const tls = testAuthority('theirs').issue('two')
    const onError = (error: Error) => void reported.push(error.message)
    const untrusted = {
      ...settings(),
      transport: tcpTransport({ host: '127.0.0.1', port: 0, tls: () => tls, onError }),
    }
    for (let times = 0; times < 3; times += 1) await ask(dial(address, untrusted))
    expect(reported).toEqual([expect.stringMatching(/certificate|signature|alert/i)])
  })

  it('sends no plaintext over the wire', async () => {
    const { address } = await serve(echo, secure(ours.issue('one')))
    const seen: Buffer[] = []
    const [host, port] = address.split(':')
    const spy = createServer((near) => {
      const far = connect(Number(port), host)
      near.on('data', (chunk: Buffer) => void (seen.push(chunk), far.write(chunk)))
      far.on('data', (chunk: Buffer) => void (seen.push(chunk), near.write(chunk)))
      for (const socket of [near, far])
        socket.on('error', () => undefined).on('close', () => (near.destroy(), far.destroy()))
    })
    await new Promise<void>((resolve) => void spy.listen(0, '127.0.0.1', resolve))
    closing.push(() => spy.close())
    const link = dial(`127.0.0.1:${(spy.address() as AddressInfo).port}`, secure(ours.issue('two')))
    expect(await ask(link, { payload: 'a secret payload' })).toMatchObject({ kind: 'value' })
    expect(Buffer.concat(seen).includes('a secret payload')).toBe(false)
    expect(Buffer.concat(seen).length).toBeGreaterThan(500)
  })
})

describe('the links of a node', () => {
  it('are closed when their node is gone and they have no calls in progress', async () => {
    const answers: (() => void)[] = []
    const { address } = await serve((_request, reply) => answers.push(() => reply({ kind: 'value', text: 'x' })))
    const links = new Links(settings())
    closing.push(() => links.close())
    for (const count of [1, 2]) {
      const result = ask(links.to(address))
      await waitFor(() => answers.length === count, { what: 'the call' })
      links.keep(new Set())
      expect([links.inFlight, links.stats().length]).toEqual([1, 1])
      answers[count - 1]?.()
      expect(await result).toEqual({ kind: 'value', text: 'x' })
      links.keep(new Set([address]))
      expect([links.inFlight, links.stats().length]).toEqual([0, 1])
      links.keep(new Set())
      expect(links.stats()).toEqual([])
    }
  })
})
