import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ManualClock, SECOND } from '../core/clock.ts'
import { ClientBounds } from './client-bounds.ts'
import { HttpExchange } from './exchange.ts'
import { HttpMetrics } from './metrics.ts'
import { allOf } from './request-headers.ts'
import { ReceiveBuffers } from './receive-buffers.ts'
import { Departure, sendChunks, sendRest, sendWhole } from './send-chunks.ts'
import { WorkGate } from './work-gate.ts'

/** A response of uWS, whose socket accepts the number of bytes that the test sets. */
class TestResponse {
  status = '200 OK'
  head = ''
  written = ''
  room = Number.POSITIVE_INFINITY
  state: 'open' | 'ended' | 'closed' = 'open'
  closesAfter = false
  paused = false
  length: number | undefined
  corks = 0
  #writable: ((offset: number) => boolean) | undefined
  #aborted: (() => void) | undefined
  #data: ((chunk: ArrayBuffer, isLast: boolean) => void) | undefined

  cork(action: () => void) {
    this.corks += 1
    action()
  }
  writeStatus(status: string) {
    this.status = status
  }
  writeHeader(name: string, value: string) {
    this.head = `${name}: ${value}`
  }
  getWriteOffset() {
    return this.written.length
  }
  getRemoteAddressAsText() {
    return new TextEncoder().encode('192.0.2.7').buffer
  }
  tryEnd(body: string | Uint8Array, total: number): [boolean, boolean] {
    this.length = total
    const text = Buffer.from(body).toString()
    const taken = text.slice(0, this.room)
    this.written += taken
    this.room -= taken.length
    const done = this.written.length === total
    if (done) this.state = 'ended'
    return [taken.length === text.length, done]
  }
  write(chunk: Buffer) {
    this.written += chunk.toString()
    this.room -= chunk.length
    return this.room > 0
  }
  end(body = '', close = false) {
    this.written += Buffer.from(body).toString()
    this.closesAfter = close
    this.state = 'ended'
  }
  endWithoutBody(...sent: [length?: number, close?: boolean]) {
    // The binding sends an argument that is undefined as a length of 2^63.
    this.length = sent.length === 0 ? undefined : (sent[0] ?? 2 ** 63)
    this.closesAfter = sent[1] ?? false
    this.state = 'ended'
  }
  close() {
    this.state = 'closed'
  }
  pause() {
    this.paused = true
  }
  resume() {
    this.paused = false
  }
  onWritable(action: (offset: number) => boolean) {
    this.#writable = action
  }
  onAborted(action: () => void) {
    this.#aborted = action
  }
  onData(action: (chunk: ArrayBuffer, isLast: boolean) => void) {
    this.#data = action
  }

  drain(room: number): boolean | undefined {
    this.room = room
    return this.#writable?.(this.written.length)
  }
  abort() {
    this.#aborted?.()
  }
  receive(text: string, isLast = false) {
    this.#data?.(new Uint8Array(Buffer.from(text)).buffer, isLast)
  }
}

const requestWith = (headers: Readonly<Record<string, string>>) =>
  ({
    getHeader: (name: string) => headers[name] ?? '',
    getQuery: () => 'a=1',
    forEach: (see: (name: string, value: string) => void) =>
      Object.entries(headers).forEach(([name, value]) => see(name, value)),
  }) as HttpRequest

let clock: ManualClock
let response: TestResponse
let bounds: ClientBounds
let metrics: HttpMetrics
let allowed: boolean
let over: number

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  clock = new ManualClock()
  response = new TestResponse()
  metrics = new HttpMetrics(new Registry())
  allowed = true
  over = 0
  const take = () => ({ allowed, limit: 1, windowSeconds: 1, remaining: 0, resetSeconds: 1 })
  bounds = new ClientBounds(clock, { take }, metrics, false)
})
afterEach(() => void vi.useRealTimers())

function exchangeOf(headers: Readonly<Record<string, string>> = {}, most = 10): HttpExchange {
  const needs = { body: true, entityTag: false, extra: ['range'] }
  const exchange = new HttpExchange(response as unknown as HttpResponse, requestWith(headers), needs, bounds, 0)
  exchange.gate = new WorkGate(most)
  exchange.onOver = () => (over += 1)
  exchange.outlive()
  return exchange
}

const later = () => new Promise(setImmediate)

describe('a reply', () => {
  test('is sent once with its headers, and is not cached unless it allows that', () => {
    const exchange = exchangeOf()
    exchange.corsHeaders = [['Vary', 'Origin']]
    exchange.send(201, [['Location', '/x']], 'made')
    exchange.send(200, [], 'again')
    exchange.sendEmpty(200, [], 5)
    expect(response).toMatchObject({ status: '201 Created', written: 'made', length: 4, corks: 1 })
    expect(response.head).toBe(
      'X-Content-Type-Options: nosniff\r\nLocation: /x\r\nCache-Control: no-store\r\nVary: Origin',
    )
    expect([exchange.over, over]).toEqual([true, 1])
  })

  test('keeps its own Cache-Control', () => {
    exchangeOf().send(200, [['Cache-Control', 'private']], 'x')
    expect(response.head).toBe('X-Content-Type-Options: nosniff\r\nCache-Control: private')
    expect(response.status).toBe('200 OK')
  })

  test('without a body has the Content-Length of the full reply, unless the status forbids it', () => {
    for (const [status, length] of [
      [200, 0],
      [204, undefined],
      [304, undefined],
    ] as const) {
      response = new TestResponse()
      exchangeOf().send(status, [], '')
      expect(response).toMatchObject({ state: 'ended', length, closesAfter: false })
    }
    response = new TestResponse()
    const head = exchangeOf()
    head.headOnly = true
    head.send(200, [], 'text')
    expect(response).toMatchObject({ state: 'ended', length: 4, written: '' })
    response = new TestResponse()
    exchangeOf().sendEmpty(416, [], 0)
    expect(response).toMatchObject({ status: '416 Range Not Satisfiable', state: 'ended', length: 0 })
  })

  test('without a body closes the connection of a client that receives too many', () => {
    allowed = false
    exchangeOf().send(204, [], '')
    expect([response.state, response.head, over]).toEqual(['closed', '', 1])
  })

  test('that closes the connection is sent after the bytes that were read are parsed', async () => {
    const exchange = exchangeOf()
    exchange.isLastOnConnection = true
    exchange.send(200, [], 'bye')
    expect([response.written, over]).toEqual(['', 0])
    await later()
    expect(response).toMatchObject({ written: 'bye', closesAfter: true, state: 'ended' })
    expect(over).toBe(1)
    response = new TestResponse()
    exchangeOf().send(204, [], '', true)
    await later()
    expect(response).toMatchObject({ state: 'closed', length: undefined })
    expect(response.head).toMatch(/\r\nConnection: close\r\n$/)
    response = new TestResponse()
    const head = exchangeOf()
    head.headOnly = true
    head.send(200, [], 'text', true)
    await later()
    expect(response).toMatchObject({ written: '', length: 4, closesAfter: true })
    response = new TestResponse()
    exchangeOf().send(200, [], 'late', true)
    response.abort()
    await later()
    expect(response.written).toBe('')
  })

  test('to a slow client is sent as it reads, and counts as active until the end', () => {
    const exchange = exchangeOf()
    response.room = 3
    exchange.send(200, [], 'abcdefgh')
    expect([response.written, bounds.replies.count, over]).toEqual(['abc', 1, 0])
    expect(response.drain(2)).toBe(false)
    expect([response.written, bounds.replies.count]).toEqual(['abcde', 1])
    expect(response.drain(10)).toBe(true)
    expect([response.written, bounds.replies.count, over]).toEqual(['abcdefgh', 0, 1])
  })

  test('is aborted when the client reads almost nothing', async () => {
    const exchange = exchangeOf()
    response.room = 3
    exchange.send(200, [], 'x'.repeat(100_000))
    clock.advance(21 * SECOND)
    vi.advanceTimersByTime(SECOND)
    expect(response.state).toBe('closed')
    expect((await metrics.cut.get()).values).toMatchObject([{ value: 1, labels: { what: 'reply', reason: 'slow' } }])
  })

  test('ends when the client disconnects', () => {
    const exchange = exchangeOf()
    response.room = 3
    exchange.send(200, [], 'abcdefgh')
    response.abort()
    expect([exchange.aborted, exchange.over, over, bounds.replies.count]).toEqual([true, true, 1, 0])
    response.abort()
    expect(over).toBe(1)
  })
})

describe('a body', () => {
  test('is read completely, and counts as work from its end to the reply', async () => {
    const exchange = exchangeOf({ 'content-length': '6' })
    const body = exchange.body(10)
    response.receive('abc')
    expect([bounds.bodies.count, exchange.gate?.count]).toEqual([1, 0])
    response.receive('def', true)
    expect((await body).toString()).toBe('abcdef')
    expect([bounds.bodies.count, exchange.gate?.count]).toEqual([0, 1])
    exchange.send(200, [], 'ok')
    expect(exchange.gate?.count).toBe(0)
  })

  test('that is too large is refused, immediately if Content-Length says so', async () => {
    await expect(exchangeOf({ 'content-length': '11' }).body(10)).rejects.toMatchObject({ code: 'payload_too_large' })
    const fits = exchangeOf({ 'content-length': '10' }).body(10)
    response.receive('0123456789', true)
    expect((await fits).length).toBe(10)
    const body = exchangeOf().body(10)
    response.receive('01234567890')
    response.receive('', true)
    await expect(body).rejects.toMatchObject({ code: 'payload_too_large' })
  })

  test('is refused when the server is overloaded', async () => {
    const body = exchangeOf({}, 0).body(10)
    response.receive('x', true)
    await expect(body).rejects.toMatchObject({ code: 'overloaded', retryAfter: 1 })
  })

  test('that arrives too slowly is refused, and the connection is closed after the reply', async () => {
    const exchange = exchangeOf()
    const body = exchange.body(100_000)
    response.receive('x')
    clock.advance(11 * SECOND)
    vi.advanceTimersByTime(SECOND)
    await expect(body).rejects.toMatchObject({ code: 'request_timeout' })
    response.receive('late', true)
    expect(exchange.gate?.count).toBe(0)
    exchange.send(408, [], 'slow')
    await later()
    expect(response).toMatchObject({ written: 'slow', closesAfter: true })
    expect((await metrics.cut.get()).values).toMatchObject([{ value: 1, labels: { what: 'body', reason: 'slow' } }])
  })

  test('with too many unread bytes closes the connection after the reply', async () => {
    for (const [length, closes] of [
      ['16000000', false],
      ['16000001', true],
    ] as const) {
      response = new TestResponse()
      const exchange = exchangeOf({ 'content-length': length })
      await expect(exchange.body(10)).rejects.toMatchObject({ code: 'payload_too_large' })
      exchange.send(413, [], 'no')
      await later()
      expect([response.written, response.closesAfter]).toEqual(['no', closes])
    }
  })

  test('is discarded when the client disconnects', () => {
    const exchange = exchangeOf()
    void exchange.body(10)
    response.abort()
    expect([bounds.bodies.count, exchange.aborted, over]).toEqual([0, true, 1])
    expect(exchange.remoteAddress).toBe('192.0.2.7')
  })
})

describe('a streamed body', () => {
  const buffers = new ReceiveBuffers('/unused')

  test('may be as long as its limit', async () => {
    const body = exchangeOf({ 'content-length': '3' }).streamBody(3, buffers)
    expect(response.paused).toBe(true)
    response.receive('abc', true)
    expect(await text(body)).toBe('abc')
    expect(() => exchangeOf({ 'content-length': '4' }).streamBody(3, buffers)).toThrow(
      expect.objectContaining({ code: 'payload_too_large' }),
    )
  })

  test('ends early when the client disconnects', async () => {
    const body = exchangeOf().streamBody(10, buffers)
    response.receive('abc')
    response.abort()
    await expect(text(body)).rejects.toMatchObject({ code: 'bad_request' })
  })

  test.each<
    [what: string, length: string | undefined, limit: number, received: string, isLast: boolean, closes: boolean]
  >([
    ['is received', '5', 100, 'abcde', true, false],
    ['is received, however long that was not announced', undefined, 100, 'abcde', true, false],
    ['lacks 16 MB', '16000005', 1e9, 'abcde', false, false],
    ['lacks a byte more', '16000006', 1e9, 'abcde', false, true],
    ['has no known length', undefined, 100, 'abcde', false, true],
  ])('that %s when the reply is sent: the rest is read, or the connection is closed', async (_what, ...of) => {
    const [length, limit, received, isLast, closes] = of
    const exchange = exchangeOf(length === undefined ? {} : { 'content-length': length })
    exchange.streamBody(limit, buffers)
    response.receive(received, isLast)
    exchange.send(200, [], 'ok')
    await later()
    expect([response.written, response.closesAfter, response.paused]).toEqual(['ok', closes, false])
  })

  test.each([
    ['16000000', false],
    ['16000001', true],
  ])('of %s bytes that is refused: the connection is closed after the reply: %s', async (length, closes) => {
    const exchange = exchangeOf({ 'content-length': length })
    expect(() => exchange.streamBody(10, buffers)).toThrow('The body is larger than the limit of 10 bytes.')
    exchange.send(413, [], 'no')
    await later()
    expect([response.written, response.closesAfter]).toEqual(['no', closes])
  })
})

describe('a stream', () => {
  test('of known length is sent as the client reads it', async () => {
    const exchange = exchangeOf()
    response.room = 4
    const sent = exchange.sendStream(206, [['ETag', '"x"']], Readable.from([Buffer.from('abc'), Buffer.from('def')]), 6)
    await vi.waitFor(() => expect(response.written).toBe('abcd'))
    expect(over).toBe(0)
    response.drain(10)
    await sent
    expect(response).toMatchObject({ status: '206 Partial Content', written: 'abcdef', length: 6, state: 'ended' })
    expect([over, response.head]).toEqual([1, expect.stringContaining('ETag: "x"')])
  })

  test('that fails closes the connection', async () => {
    const source = new PassThrough()
    const sent = exchangeOf().sendStream(200, [], source, 6)
    source.write('abc')
    source.destroy(new Error('no disk'))
    await sent
    expect(response.state).toBe('closed')
  })

  test('is closed unread when nothing can be sent', async () => {
    const exchange = exchangeOf()
    response.abort()
    const [file, live] = [new PassThrough(), new PassThrough()]
    file.write('abc')
    await exchange.sendStream(200, [], file, 3)
    exchange.sendLive([], live)
    expect([file.destroyed, live.destroyed, response.written, response.head]).toEqual([true, true, '', ''])
  })

  test('without an end counts as answered at once, and ends when its source ends', async () => {
    const exchange = exchangeOf()
    exchange.beginWork()
    const source = new PassThrough()
    exchange.sendLive([['Content-Type', 'video/mp4']], source)
    expect([over, exchange.gate?.count, exchange.over]).toEqual([1, 0, false])
    source.end('frames')
    await vi.waitFor(() => expect(response.state).toBe('ended'))
    expect([response.written, over, exchange.over]).toEqual(['frames', 1, true])
    expect(response.head).toContain('Content-Type: video/mp4')
  })

  test('without an end that fails closes the connection', async () => {
    const source = new PassThrough()
    exchangeOf().sendLive([], source)
    source.destroy(new Error('the camera is gone'))
    await vi.waitFor(() => expect(response.state).toBe('closed'))
  })

  test('without an end is not opened for HEAD, and stops when the client disconnects', async () => {
    const head = exchangeOf()
    head.headOnly = true
    const unused = new PassThrough()
    head.sendLive([['Content-Type', 'video/mp4']], unused)
    expect([unused.destroyed, response.state, response.written]).toEqual([true, 'ended', ''])
    response = new TestResponse()
    const source = new PassThrough()
    exchangeOf().sendLive([], source)
    source.write('abc')
    await vi.waitFor(() => expect(response.written).toBe('abc'))
    response.abort()
    await once(source, 'close')
    expect(response.state).toBe('open')
  })
})

describe('chunks', () => {
  const uws = () => response as unknown as HttpResponse

  test('wait for the socket, one at a time', async () => {
    const read: string[] = []
    async function* source() {
      for (const text of ['abc', 'def']) {
        read.push(text)
        yield Buffer.from(text)
      }
    }
    response.room = 1
    const sent = sendChunks(uws(), source(), 6, new Departure())
    await later()
    expect([read, response.written]).toEqual([['abc'], 'a'])
    expect(response.drain(1)).toBe(false)
    expect(response.drain(1)).toBe(true)
    await later()
    expect([read, response.written]).toEqual([['abc', 'def'], 'abc'])
    response.drain(3)
    expect(await sent).toBe(true)
  })

  test('stop when the client leaves, also while the socket is full', async () => {
    const departure = new Departure()
    response.room = 1
    const sent = sendChunks(uws(), Readable.from([Buffer.from('abc')]), 6, departure)
    await later()
    departure.announce()
    expect(await sent).toBe(false)
    expect(await sendChunks(uws(), Readable.from([Buffer.from('abc')]), 6, departure)).toBe(false)
    expect(response.written).toBe('a')
  })

  test('of an endless stream are not sent to a client that has left', async () => {
    const departure = new Departure()
    departure.announce()
    const source = Readable.from([Buffer.from('abc')])
    expect(await sendWhole(uws(), source, departure)).toBe(false)
    expect([response.written, source.destroyed]).toEqual(['', true])
  })

  test('that end too early do not complete the reply', async () => {
    expect(await sendChunks(uws(), Readable.from([Buffer.from('abc')]), 6, new Departure())).toBe(false)
  })

  test('of an endless stream wait for the socket, or for the end of their source', async () => {
    const source = new PassThrough()
    const sent = sendWhole(uws(), source, new Departure())
    response.room = 3
    source.write('abc')
    await vi.waitFor(() => expect(response.written).toBe('abc'))
    source.write('def')
    await later()
    expect(response.written).toBe('abc')
    expect(response.drain(10)).toBe(true)
    await vi.waitFor(() => expect(response.written).toBe('abcdef'))
    expect(source.listenerCount('close')).toBeLessThan(3)
    source.end()
    expect(await sent).toBe(true)
    const other = new PassThrough()
    const departure = new Departure()
    const cut = sendWhole(uws(), other, departure)
    response.room = 0
    other.write('x')
    await vi.waitFor(() => expect(response.written).toContain('x'))
    departure.announce()
    expect([await cut, other.destroyed]).toEqual([false, true])
  })

  test('of the rest of a body report how many bytes were sent', () => {
    const progress: unknown[] = []
    response.room = 2
    response.tryEnd('abcdef', 6)
    sendRest(uws(), Buffer.from('abcdef'), (...step) => void progress.push(step))
    expect(response.drain(3)).toBe(false)
    expect(response.drain(3)).toBe(true)
    expect([response.written, progress]).toEqual([
      'abcdef',
      [
        [5, false],
        [6, true],
      ],
    ])
  })
})

test('a repeated header is read with all its values', () => {
  const headers = [
    ['x-forwarded-for', '192.0.2.1'],
    ['x-other', '192.0.2.3'],
    ['x-forwarded-for', '192.0.2.2'],
  ] as const
  const request = {
    forEach: (see: (name: string, value: string) => void) => headers.forEach(([name, value]) => see(name, value)),
  } as HttpRequest
  expect(allOf(request, 'x-forwarded-for')).toBe('192.0.2.1,192.0.2.2')
})
