import { beforeEach, describe, expect, it } from 'vitest'
import type { Connection, ConnectionHandlers } from '../ports.ts'
import { SimProcess } from '../simulation/process.ts'
import { SeededRandom } from '../simulation/random.ts'
import { Scheduler } from '../simulation/scheduler.ts'
import {
  decodeReply,
  encodeOwners,
  encodeReply,
  encodeRequest,
  PING,
  PONG,
  TYPE,
  VERSION,
  type Reply,
  type Request,
} from './frames.ts'
import { checkAuth, checkWelcome, decodeHello, encodeAuth, encodeHello, encodeWelcome } from './handshake.ts'
import { LinkServer } from './link-server.ts'
import { Link, type LinkResult } from './link.ts'
import { DEFAULT_LINK_LIMITS, type LinkLimits } from './settings.ts'

// Both ends of links in virtual time, on connections that the test controls.

const SECRET = 'the secret that both ends of a link share'
const LIMITS = { ...DEFAULT_LINK_LIMITS, inFlight: 2, maxUnauthenticated: 2, highWater: 100 }

let scheduler: Scheduler
let errors: string[]

beforeEach(() => {
  scheduler = new Scheduler()
  errors = []
})

/** One end of a connection, and what was sent on it. */
class TestConnection implements Connection {
  readonly sent: Buffer[] = []
  buffered = 0
  isClosed = false
  paused = 0
  resumed = 0
  handlers: ConnectionHandlers | undefined

  send(frame: Buffer): void {
    this.sent.push(Buffer.from(frame))
  }
  pauseReading(): void {
    this.paused += 1
  }
  resumeReading(): void {
    this.resumed += 1
  }
  close(): void {
    this.isClosed = true
  }
}

const settings = (transport: object, limits: Partial<LinkLimits>) => ({
  transport: transport as never,
  clock: new SimProcess('node', scheduler, 1, 0).clock,
  random: new SeededRandom(1),
  secret: SECRET,
  limits: { ...LIMITS, ...limits },
  onError: (error: unknown) => void errors.push((error as Error).message),
})

async function serve(limits: Partial<LinkLimits> = {}) {
  const requests: [Request, (reply: Reply) => void][] = []
  let accept: (connection: Connection) => ConnectionHandlers = () => {
    throw new Error('not listening')
  }
  const listen = async (to: typeof accept) => {
    accept = to
    return { address: 'node:1', close: () => undefined }
  }
  const server = new LinkServer({
    ...settings({ listen }, limits),
    onRequest: (request, reply) => void requests.push([request, reply]),
    onOwners: () => '[{"actor":"ws:1","waiting":0}]',
  })
  expect(await server.listen()).toBe('node:1')
  const connect = () => {
    const connection = new TestConnection()
    const handlers = accept(connection)
    const prove = () =>
      handlers.frame(encodeAuth(SECRET, decodeHello(connection.sent[0] as Buffer), Buffer.alloc(32, 1)))
    return { connection, handlers, prove }
  }
  const connected = () => {
    const peer = connect()
    peer.prove()
    peer.connection.sent.length = 0
    return peer
  }
  return { connect, connected, requests, server }
}

const request = (id: number, changes: Partial<Request> = {}) =>
  encodeRequest({
    id,
    leftMs: 1_000,
    control: false,
    repeated: false,
    actor: 'ws:1',
    operationId: `op ${id}`,
    caller: 'ada',
    payload: '{}',
    ...changes,
  })

const replies = ({ sent }: TestConnection) => sent.map((frame) => decodeReply(frame))
const value: Reply = { kind: 'value', text: '1' }

describe('the server end of a link', () => {
  it('proves that it knows the secret too, and accepts requests only after that', async () => {
    const { connect, requests } = await serve()
    const { connection, handlers, prove } = connect()
    prove()
    const [hello, welcome] = connection.sent as [Buffer, Buffer]
    expect(() => checkWelcome(SECRET, decodeHello(hello), Buffer.alloc(32, 1), welcome)).not.toThrow()
    handlers.frame(request(1))
    expect(requests.map(([{ operationId }]) => operationId)).toEqual(['op 1'])
    requests[0]?.[1](value)
    expect(decodeReply(connection.sent[2] as Buffer)).toEqual({ id: 1, reply: value })
  })

  it('closes a connection that does not prove the secret in time', async () => {
    const { connect, connected } = await serve()
    const [idle, proven] = [connect(), connected()]
    await scheduler.run(LIMITS.handshakeMs - 1)
    expect(idle.connection.isClosed).toBe(false)
    await scheduler.run(LIMITS.handshakeMs)
    expect([idle.connection.isClosed, proven.connection.isClosed]).toEqual([true, false])
  })

  it('keeps few unproven connections, and closes the oldest one first', async () => {
    const { connect, connected } = await serve()
    const proven = connected()
    const [first, second, third] = [connect(), connect(), connect()]
    const closed = [proven, first, second, third].map(({ connection }) => connection.isClosed)
    expect(closed).toEqual([false, true, false, false])
    // A closed connection does not count.
    second.handlers.closed()
    connect()
    expect(third.connection.isClosed).toBe(false)
  })

  it('closes on a frame that is not allowed, and says why', async () => {
    const { connect, connected, requests } = await serve()
    const frames = [Buffer.alloc(129, 17), request(1), Buffer.alloc(65)]
    for (const frame of frames) {
      const peer = connect()
      peer.handlers.frame(frame)
      expect(peer.connection.isClosed).toBe(true)
      // Nothing that follows is read.
      peer.prove()
      expect(peer.connection.sent).toHaveLength(1)
    }
    const peer = connected()
    peer.handlers.frame(Buffer.from([99]))
    expect(peer.connection.isClosed).toBe(true)
    expect(requests).toEqual([])
    expect(errors).toEqual([
      'a handshake frame is too long',
      'no proof of the secret',
      'no proof of the secret',
      'unknown frame type 99',
    ])
  })

  it('answers pings, and lists the actors of the node', async () => {
    const { connected } = await serve()
    const { connection, handlers } = connected()
    handlers.frame(PING)
    expect(connection.sent.splice(0)).toEqual([PONG])
    handlers.frame(encodeOwners(7))
    expect(replies(connection)).toEqual([{ id: 7, reply: { kind: 'value', text: '[{"actor":"ws:1","waiting":0}]' } }])
  })

  it('accepts each request once, even if it is repeated many requests later', async () => {
    const { connected, requests } = await serve({ inFlight: 100_000 })
    const { handlers } = connected()
    handlers.frame(request(1))
    handlers.frame(request(1))
    expect(requests).toHaveLength(1)
    for (let id = 2; id <= 8_192; id += 1) handlers.frame(request(id))
    handlers.frame(request(1))
    handlers.frame(request(8_192))
    handlers.frame(request(8_193))
    handlers.frame(request(8_193))
    expect(requests).toHaveLength(8_193)
  })

  it('refuses requests over its limit until others have ended, but never control requests', async () => {
    const { connected, requests } = await serve()
    const { connection, handlers } = connected()
    for (const id of [1, 2, 3]) handlers.frame(request(id))
    expect(replies(connection)).toEqual([{ id: 3, reply: { kind: 'refused', reason: 'overloaded', retryAfter: 1 } }])
    handlers.frame(request(4, { control: true }))
    expect(requests).toHaveLength(3)
    requests[0]?.[1](value)
    requests[1]?.[1](value)
    handlers.frame(request(5))
    expect(requests).toHaveLength(4)
  })

  it('stops reading from a peer that does not read, until it reads again', async () => {
    const { connected, requests } = await serve()
    const { connection, handlers } = connected()
    handlers.frame(request(1))
    connection.buffered = LIMITS.highWater - 1
    requests[0]?.[1](value)
    expect(connection.paused).toBe(0)
    handlers.frame(request(2))
    connection.buffered = LIMITS.highWater
    requests[1]?.[1](value)
    expect(connection.paused).toBe(1)
    handlers.drained()
    expect(connection.resumed).toBe(1)
  })

  it('closes a silent connection after three times the limit, and sends no more replies', async () => {
    const { connected, requests } = await serve()
    const { connection, handlers } = connected()
    await scheduler.run(5_000)
    handlers.frame(request(1))
    await scheduler.run(5_000 + 3 * LIMITS.silenceMs - 1)
    expect(connection.isClosed).toBe(false)
    await scheduler.run(5_000 + 4 * LIMITS.silenceMs)
    expect(connection.isClosed).toBe(true)
    requests[0]?.[1](value)
    expect([connection.sent, scheduler.waiting]).toEqual([[], 0])
  })

  it('closes every connection when it is closed', async () => {
    const { connect, connected, server } = await serve()
    const peers = [connect(), connected()]
    server.close()
    expect(peers.map(({ connection }) => connection.isClosed)).toEqual([true, true])
    expect(scheduler.waiting).toBe(0)
  })
})

describe('the client end of a link', () => {
  const SERVER_NONCE = Buffer.alloc(32, 2)

  function dial(limits: Partial<LinkLimits> = {}) {
    const connection = new TestConnection()
    const connect = (_address: string, handlers: ConnectionHandlers) => {
      connection.handlers = handlers
      return connection
    }
    let closed = 0
    const link = new Link('node:1', settings({ connect }, limits), () => (closed += 1))
    const receive = (frame: Buffer) => connection.handlers?.frame(frame)
    const greet = () => {
      receive(encodeHello(SERVER_NONCE))
      const nonce = checkAuth(SECRET, SERVER_NONCE, connection.sent[0] as Buffer)
      receive(encodeWelcome(SECRET, SERVER_NONCE, nonce))
    }
    /** The ids of the requests that were sent, in order. */
    const ids = () => connection.sent.filter(([type]) => type === TYPE.request).map((frame) => frame.readUInt32BE(2))
    const results: LinkResult[] = []
    const call = (changes: { control?: boolean } = {}) =>
      link.call(
        {
          leftMs: 1_000,
          control: false,
          repeated: false,
          actor: 'a',
          operationId: 'o',
          caller: 'c',
          payload: '',
          ...changes,
        },
        (result) => void results.push(result),
      )
    return { call, closedTimes: () => closed, connection, greet, ids, link, receive, results }
  }

  it('sends waiting calls after the server has proved the secret: control first, abandoned calls never', () => {
    const { call, greet, ids, link } = dial({ inFlight: 10 })
    expect([call(), call(), call(), call({ control: true })]).toEqual([1, 2, 3, 4])
    link.forget(2)
    expect([link.stats().state, link.inFlight, ids()]).toEqual(['connecting', 3, []])
    greet()
    expect(ids()).toEqual([4, 1, 3])
    expect(link.stats()).toEqual({ address: 'node:1', state: 'open', inFlight: 3, buffered: 0 })
    call()
    expect(ids()).toEqual([4, 1, 3, 5])
  })

  it('accepts no more calls than its limit, except control calls', () => {
    const { call, greet } = dial()
    greet()
    expect([call(), call(), call(), call({ control: true })]).toEqual([1, 2, undefined, 3])
  })

  it('passes each reply to its call once', () => {
    const { call, greet, link, receive, results } = dial()
    greet()
    const id = call() as number
    receive(encodeReply(id, value))
    receive(encodeReply(id, value))
    receive(PONG)
    expect([results, link.inFlight, link.closed]).toEqual([[value], 0, false])
  })

  it('settles calls as lost or unsent when it closes, and reports that once', () => {
    const { call, closedTimes, connection, greet, link, results } = dial()
    greet()
    call()
    connection.buffered = LIMITS.highWater
    call()
    connection.handlers?.closed()
    link.close()
    expect(results).toEqual([{ kind: 'lost' }, { kind: 'unsent' }])
    call()
    expect(results[2]).toEqual({ kind: 'unsent' })
    expect([closedTimes(), link.closed, scheduler.waiting]).toEqual([1, true, 0])
  })

  it('sends the rest when the connection has room again', () => {
    const { call, connection, greet, ids } = dial()
    greet()
    connection.buffered = LIMITS.highWater
    call()
    expect(ids()).toEqual([])
    connection.buffered = LIMITS.highWater - 1
    connection.handlers?.drained()
    expect(ids()).toEqual([1])
    connection.handlers?.drained()
    expect(ids()).toEqual([1])
  })

  it('pings, and closes when there is no reply', async () => {
    const { connection, greet, link, receive } = dial()
    greet()
    await scheduler.run(2 * LIMITS.pingMs)
    expect(connection.sent.slice(1)).toEqual([PING, PING])
    receive(PONG)
    // Silence is counted in pings that were sent, so it begins with the next ping.
    await scheduler.run(3 * LIMITS.pingMs + LIMITS.silenceMs - 1)
    expect(link.closed).toBe(false)
    await scheduler.run(3 * LIMITS.pingMs + LIMITS.silenceMs)
    expect([link.closed, connection.isClosed]).toEqual([true, true])
  })

  it('closes when the handshake takes too long, fails, or has another version', async () => {
    const slow = dial()
    await scheduler.run(LIMITS.handshakeMs)
    expect(slow.link.closed).toBe(true)
    const hello = encodeHello(SERVER_NONCE)
    const newer = Buffer.from(hello)
    newer[1] = VERSION + 1
    for (const frame of [newer, hello.subarray(0, 33), Buffer.from([1])]) {
      const { link, receive } = dial()
      receive(frame)
      expect(link.closed).toBe(true)
    }
    const { link, receive } = dial()
    receive(hello)
    receive(Buffer.from([18]))
    expect(link.closed).toBe(true)
    expect(errors).toEqual([
      `version ${VERSION + 1} of the link protocol is not supported`,
      'no hello',
      'no hello',
      'no welcome',
    ])
  })

  it('closes on a reply that it cannot read', () => {
    for (const frame of [Buffer.from([2, 9, 0, 0, 0, 1]), Buffer.from([2, 0, 0, 0, 0])]) {
      const { greet, link, receive } = dial()
      greet()
      receive(frame)
      expect(link.closed).toBe(true)
    }
    expect(errors).toEqual(['unknown kind of reply', 'unknown kind of reply'])
  })
})

describe('a request', () => {
  it('has names of at most 65,535 bytes, and a time that fits', () => {
    expect(() => request(1, { caller: 'x'.repeat(0xffff) })).not.toThrow()
    for (const name of ['actor', 'operationId', 'caller']) {
      expect(() => request(1, { [name]: 'x'.repeat(0x1_0000) })).toThrow('a name is too long')
    }
    expect(request(1, { leftMs: -5 }).readUInt32BE(6)).toBe(0)
    expect(request(1, { leftMs: 1.2 }).readUInt32BE(6)).toBe(2)
    expect(request(1, { leftMs: 1e12 }).readUInt32BE(6)).toBe(0xffff_ffff)
  })
})
