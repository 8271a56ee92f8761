import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { waitFor } from '../../test/support/wait.ts'
import { newKey } from '../testing/ingest-fixture.ts'
import { Feed } from '../testing/feed.ts'
import { hashOf, FAST_LIMITS, destinationTo } from '../testing/node-fixture.ts'
import { TestPublisher } from '../testing/publisher.ts'
import { startSink } from '../testing/sink.ts'
import type { DesiredStream, MediaEvent } from '../types.ts'
import { MediaUnavailableError, startMediaProcess, type MediaHost, type MediaProcessOptions } from './host.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

interface Fixture {
  readonly host: MediaHost
  readonly port: number
  readonly events: MediaEvent[]
  readonly lines: string[]
  readonly availability: boolean[]
  readonly stream: DesiredStream
  readonly key: string
}

async function startHost(
  overrides: Partial<MediaProcessOptions> = {},
  streams: DesiredStream[] = [],
): Promise<Fixture> {
  const events: MediaEvent[] = []
  const lines: string[] = []
  const availability: boolean[] = []
  const write = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`)
  const key = newKey()
  const path = key.split('-')[0]!
  const stream: DesiredStream = { streamId: 'stream-1', path, keyHash: hashOf(key), live: true, destinations: [] }
  streams.push(stream)
  const host = startMediaProcess({
    host: '127.0.0.1',
    port: 0,
    allowPrivateAddresses: true,
    limits: { relay: FAST_LIMITS },
    log: { debug: write, info: write, warn: write, error: write },
    onEvent: (event) => events.push(event),
    authorizePublish: async ({ keyHash }) => {
      const found = streams.findLast((one) => one.keyHash === keyHash)
      return found === undefined ? { allowed: false, reason: 'unknown key' } : { allowed: true, stream: found }
    },
    ...overrides,
  })
  closers.push(() => host.close())
  host.onAvailability((available) => availability.push(available))
  const { port } = await host.ready
  return { host, port, events, lines, availability, stream, key }
}

test('relays in a child process and reports events in order', async () => {
  const sink = await startSink()
  closers.push(() => sink.close())
  const streams: DesiredStream[] = []
  const { host, port, events, stream, key } = await startHost({}, streams)
  const wanted = { ...stream, destinations: [destinationTo(sink)] }
  streams.push(wanted)
  const publisher = await TestPublisher.connect({ port })
  expect((await publisher.publish(newKey()))?.code).toBe('NetStream.Publish.BadName')
  const admitted = await TestPublisher.connect({ port })
  expect((await admitted.publish(key))?.code).toBe('NetStream.Publish.Start')
  const feed = new Feed(admitted).start()
  await waitFor(() => sink.messages('video').length > 20)
  feed.stop()
  const status = await host.status()
  expect(status.rtmpPort).toBe(port)
  expect(status.streams[0]!.destinations[0]!.state).toBe('live')
  await waitFor(() => events.some(({ type }) => type === 'usage'))
  expect(events[0]!.type).toBe('ingest.started')
})

test('restarts after a kill, on the same port, with the desired states', async () => {
  const sink = await startSink()
  closers.push(() => sink.close())
  const streams: DesiredStream[] = []
  const { host, port, availability, stream, key } = await startHost({}, streams)
  const wanted = { ...stream, destinations: [destinationTo(sink)] }
  streams.push(wanted)
  host.apply(wanted)
  host.apply({ ...stream, streamId: 'gone', path: 'gone' })
  host.remove('gone')
  const first = await TestPublisher.connect({ port })
  await first.publish(key)
  const pid = host.pid()!
  process.kill(pid, 'SIGKILL')
  await waitFor(() => availability.length === 1)
  expect(host.pid()).toBeUndefined()
  await expect(host.status()).rejects.toThrow(MediaUnavailableError)
  await waitFor(() => availability.length === 2)
  expect(availability).toEqual([false, true])
  expect(host.pid()).not.toBe(pid)
  const status = await host.status()
  expect(status.rtmpPort).toBe(port)
  expect(status.streams.map(({ streamId, live }) => [streamId, live])).toEqual([['stream-1', true]])
  expect(status.streams[0]!.destinations.map(({ id }) => id)).toEqual(['destination-1'])
  const second = await TestPublisher.connect({ port })
  await second.publish(key)
  const feed = new Feed(second).start()
  await waitFor(() => sink.messages('video').length > 20)
  feed.stop()
})

test('a server that keeps the session of a killed process is retried until it releases it', async () => {
  const sink = await startSink({ keepsSessions: true })
  closers.push(() => sink.close())
  const streams: DesiredStream[] = []
  const { host, port, availability, stream, key } = await startHost({}, streams)
  const wanted = { ...stream, destinations: [destinationTo(sink)] }
  streams.push(wanted)
  host.apply(wanted)
  const publish = async () => {
    const publisher = await TestPublisher.connect({ port })
    await publisher.publish(key)
    const feed = new Feed(publisher).start()
    closers.push(async () => void feed.stop())
  }
  const destination = async () => (await host.status()).streams[0]!.destinations[0]!
  await publish()
  await waitFor(async () => (await destination()).hasWorked)
  process.kill(host.pid()!, 'SIGKILL')
  await waitFor(() => availability.length === 2)
  await publish()
  // Twice the number of attempts for a key that has never worked.
  await waitFor(() => sink.connections.length > 6)
  expect((await destination()).state).not.toBe('needs_attention')
  sink.behaviour.keepsSessions = false
  await waitFor(async () => (await destination()).state === 'live')
})

test('status() rejects when the process hangs, and does not block the host', async () => {
  const { host } = await startHost()
  const pid = host.pid()!
  process.kill(pid, 'SIGSTOP')
  await expect(host.status()).rejects.toThrow(MediaUnavailableError)
  process.kill(pid, 'SIGCONT')
  await waitFor(() => host.status().then(() => true))
})

test('a hanging process is reported, killed and restarted', async () => {
  const watchdog = { intervalMs: 500, unresponsiveAfter: 4, killAfter: 10, startWithin: 120 }
  const { host, availability } = await startHost({ watchdog })
  const reports: (string | null)[] = []
  host.onUnresponsive((since) => reports.push(since))
  const pid = host.pid()!
  process.kill(pid, 'SIGSTOP')
  await waitFor(() => availability.length === 2)
  expect(reports).toEqual([expect.any(String)])
  expect(availability).toEqual([false, true])
  expect(isAlive(pid)).toBe(false)
  await waitFor(() => host.status().then(() => true))
})

test('the first start fails when the port is taken', async () => {
  const { port } = await startHost()
  await expect(startHost({ port })).rejects.toThrow(/could not start.*is taken: set RTMP_PORT/)
})

test('the arguments and the environment of the process contain no secret', async () => {
  const sink = await startSink()
  closers.push(() => sink.close())
  const { host, stream, key, lines } = await startHost()
  host.apply({ ...stream, destinations: [destinationTo(sink, 'd', 'very-secret-key')] })
  await host.status()
  const pid = host.pid()!
  const seen = `${readFileSync(`/proc/${pid}/cmdline`, 'utf8')} ${readFileSync(`/proc/${pid}/environ`, 'utf8')}`
  for (const secret of ['very-secret-key', key, stream.keyHash, 'PATH=']) expect(seen).not.toContain(secret)
  expect(lines.join('\n')).not.toContain('very-secret-key')
})

test('a publisher is refused when the host cannot decide', async () => {
  const { port, key, lines } = await startHost({
    authorizePublish: async () => {
      throw new Error('database down')
    },
  })
  const publisher = await TestPublisher.connect({ port })
  expect((await publisher.publish(key))?.level).toBe('error')
  expect(lines.join('\n')).toContain('the authorization of a publisher failed')
})

test('the process ends when its host is killed', async () => {
  const code = `
    import { startMediaProcess } from ${JSON.stringify(import.meta.resolve('./host.ts'))}
    const log = { debug() {}, info() {}, warn() {}, error() {} }
    const onEvent = () => {}
    const authorizePublish = async () => ({ allowed: false, reason: '' })
    const host = startMediaProcess({ host: '127.0.0.1', port: 0, allowPrivateAddresses: false, log, onEvent, authorizePublish })
    await host.ready
    console.log(host.pid())
  `
  const parent = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [bytes] = (await once(parent.stdout, 'data')) as [Buffer]
  const pid = Number(bytes.toString())
  expect(isAlive(pid)).toBe(true)
  parent.kill('SIGKILL')
  await waitFor(() => !isAlive(pid))
})

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
