import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { io, type Socket } from 'socket.io-client'
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { CrierProcess } from '../support/crier-process.ts'
import {
  end,
  makeSource,
  packetsOf,
  push,
  startFfmpegServer,
  startNginxRtmp,
  type RtmpServer,
} from '../support/rtmp-servers.ts'
import type { SendOptions } from '../support/send.ts'
import { waitFor } from '../support/wait.ts'

const SECONDS = 30
const KEY_AT_NGINX = 'nginx-key-0123456789'
const KEY_AT_FFMPEG = 'ffmpeg-key-9876543210'

let home: string
let source: string
let folder: string
const cleanUp: (() => unknown)[] = []

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'crier-flow-'))
  source = join(home, 'source.flv')
  await makeSource(source, SECONDS)
  // The database of a killed Crier takes a moment to stop.
  return () => rm(home, { recursive: true, force: true, maxRetries: 50, retryDelay: 200 })
})
beforeEach(async () => {
  folder = await mkdtemp(join(home, 'run-'))
})
afterEach(async () => {
  for (const step of cleanUp.splice(0).toReversed()) await step()
})

/** A new user: signs up, confirms the address, logs in and creates a workspace. */
async function newcomer(crier: CrierProcess) {
  const email = 'ada@example.com'
  const password = 'a long enough password'
  const signedUp = await crier.send('POST /api/auth/signup', { body: { email, password, name: 'Ada' } })
  expect(signedUp.status, signedUp.text).toBe(201)
  const otp = await crier.outbox.code(email)
  expect((await crier.send('POST /api/auth/verify-otp', { body: { email, otp } })).status).toBe(200)
  const loggedIn = await crier.send('POST /api/auth/login', { body: { email, password } })
  const token: string = loggedIn.body.data.accessToken
  // oxlint-disable-next-line typescript/no-explicit-any -- replies have different shapes
  const call = async (route: string, options: SendOptions = {}): Promise<any> => {
    const reply = await crier.send(route, { token, ...options })
    if (reply.status >= 300) throw new Error(`${route} returned ${reply.status}: ${reply.text}`)
    return reply.body.data
  }
  const workspace = await call('POST /api/workspaces', { body: { name: 'Acme', timezone: 'UTC' } })
  return { token, call, workspaceId: workspace._id as string }
}

type Call = Awaited<ReturnType<typeof newcomer>>['call']

async function servers(): Promise<{ nginx: RtmpServer; ffmpeg: RtmpServer }> {
  const [nginxFolder, ffmpegFolder] = [join(folder, 'nginx'), join(folder, 'ffmpeg')]
  await mkdir(nginxFolder)
  await mkdir(ffmpegFolder)
  const nginx = await startNginxRtmp(nginxFolder)
  cleanUp.push(() => nginx.stop())
  const ffmpeg = await startFfmpegServer(ffmpegFolder, KEY_AT_FFMPEG)
  cleanUp.push(() => ffmpeg.stop())
  return { nginx, ffmpeg }
}

async function createStream(call: Call, workspaceId: string, to: { nginx: RtmpServer; ffmpeg: RtmpServer }) {
  const add = (name: string, url: string, streamKey: string) =>
    call('POST /api/streams/rtmp-destinations', { body: { workspaceId, name, url, streamKey } })
  const nginx = await add('nginx', to.nginx.url, KEY_AT_NGINX)
  const ffmpeg = await add('ffmpeg', to.ffmpeg.url, KEY_AT_FFMPEG)
  const platforms = [nginx, ffmpeg].map(({ _id }) => ({ platform: 'custom', accountId: _id }))
  return call('POST /api/streams', { body: { workspaceId, title: 'Launch day', platforms } })
}

function until(call: Call, id: string, status: string) {
  const reached = async () => (await call('GET /api/streams/{id}', { path: { id } })).status === status
  return waitFor(reached, { what: `the stream to be ${status}` })
}

function untilAllLive(call: Call, id: string) {
  const reached = async () => {
    const { platforms } = await call('GET /api/streams/{id}', { path: { id } })
    return platforms.every((platform: { status: string }) => platform.status === 'live')
  }
  return waitFor(reached, { what: 'all destinations to be live' })
}

function pushTo(crier: CrierProcess, streamKey: string): ChildProcess {
  const publisher = push(source, `rtmp://localhost:${crier.rtmpPort}/live/${streamKey}`)
  cleanUp.push(() => end(publisher, 'SIGKILL'))
  return publisher
}

function listen(crier: CrierProcess, token: string) {
  const socket: Socket = io(crier.url, { auth: { token }, transports: ['websocket'], reconnection: false })
  cleanUp.push(() => socket.disconnect())
  const seenEvents: string[] = []
  socket.onAny((name: string, { data }: { data?: { status?: string } }) => seenEvents.push(`${name} ${data?.status}`))
  return { socket, seenEvents }
}

async function start(ports?: { http: number; rtmp: number }): Promise<CrierProcess> {
  const empty = join(folder, 'crier')
  await mkdir(empty, { recursive: true })
  const crier = await CrierProcess.start(empty, ports)
  cleanUp.push(() => crier.kill())
  return crier
}

test('relays every frame to both destinations, starting from an empty folder', async () => {
  const crier = await start()
  expect(crier.stdout).toContain(`http://localhost:${crier.ports.http}/api`)
  expect(crier.stdout).toContain(`rtmp://localhost:${crier.rtmpPort}/live`)
  const { token, call, workspaceId } = await newcomer(crier)
  const destinations = await servers()
  const { socket, seenEvents } = listen(crier, token)
  await waitFor(() => socket.connected)
  const stream = await createStream(call, workspaceId, destinations)
  const at = { path: { id: stream._id } }
  await call('POST /api/streams/{id}/go-live', { ...at, body: { waitForIngest: true } })

  const publishedAt = performance.now()
  const publisher = pushTo(crier, stream.streamKey)
  const published = once(publisher, 'exit')
  await until(call, stream._id, 'live')
  await untilAllLive(call, stream._id)
  const relay = await waitFor(async () => {
    const status = await call('GET /api/streams/{id}/relay', at)
    return status.ingest?.fps ? status : undefined
  })
  expect(relay.ingest).toMatchObject({
    width: 1280,
    height: 720,
    videoCodec: expect.any(String),
    audioCodec: expect.any(String),
  })
  expect((await published)[0]).toBe(0)
  await until(call, stream._id, 'interrupted')
  const elapsed = (performance.now() - publishedAt) / 1000
  await call('POST /api/streams/{id}/stop', at)
  await until(call, stream._id, 'ended')

  const sent = await packetsOf(source)
  expect(sent.video).toHaveLength(SECONDS * 30)
  for (const server of [destinations.nginx, destinations.ffmpeg]) {
    const received = await waitFor(async () => {
      const [file] = server.recordings()
      const packets = file && (await packetsOf(file))
      return packets && packets.audio.length >= sent.audio.length ? packets : undefined
    })
    expect(server.recordings()).toHaveLength(1)
    expect(received.video).toEqual(sent.video)
    expect(received.audio).toEqual(sent.audio)
  }

  const usage = await call('GET /api/streams/usage')
  // A busy machine may begin to count late.
  expect(usage.minutesUsed * 60).toBeGreaterThan(SECONDS / 2)
  expect(usage.minutesUsed * 60).toBeLessThan(elapsed)
  const [session] = await call('GET /api/streams/{id}/sessions', at)
  expect(session).toMatchObject({ endReason: 'stopped', destinations: [{ name: 'nginx' }, { name: 'ffmpeg' }] })
  // Minutes are rounded down to two decimals.
  expect(Math.abs(session.liveSeconds - usage.minutesUsed * 60)).toBeLessThan(1.2)
  expect(seenEvents).toEqual(
    expect.arrayContaining([
      'stream.created idle',
      'stream.updated starting',
      'stream.updated live',
      'destination.updated live',
      'stream.updated interrupted',
      'stream.updated ended',
    ]),
  )
  for (const secret of [stream.streamKey.split('-')[1], KEY_AT_NGINX, KEY_AT_FFMPEG]) {
    expect(crier.stdout + crier.stderr).not.toContain(secret)
  }
  expect(await crier.stop()).toBe(0)
})

test('resumes a stream after the media process is killed, and charges its minutes once', async () => {
  const crier = await start()
  const { call, workspaceId } = await newcomer(crier)
  const destinations = await servers()
  const stream = await createStream(call, workspaceId, destinations)
  const at = { path: { id: stream._id } }
  pushTo(crier, stream.streamKey)
  await until(call, stream._id, 'receiving')
  const startedAt = performance.now()
  await call('POST /api/streams/{id}/go-live', at)
  await untilAllLive(call, stream._id)
  await waitFor(async () => (await call('GET /api/streams/usage')).minutesUsed * 60 >= 5)

  const pid = crier.mediaPid()
  if (pid === undefined) throw new Error('there is no media process')
  process.kill(pid, 'SIGKILL')
  await until(call, stream._id, 'interrupted')
  const before = (await call('GET /api/streams/usage')).minutesUsed
  await waitFor(() => crier.mediaPid() !== undefined && crier.mediaPid() !== pid)
  await waitFor(async () => (await crier.send('GET /api/ready')).status === 200)
  pushTo(crier, stream.streamKey)
  await until(call, stream._id, 'live')
  await untilAllLive(call, stream._id)
  await waitFor(async () => (await call('GET /api/streams/usage')).minutesUsed * 60 >= before * 60 + 5)
  await call('POST /api/streams/{id}/stop', at)
  const elapsed = (performance.now() - startedAt) / 1000
  const { minutesUsed } = await call('GET /api/streams/usage')
  expect(minutesUsed * 60).toBeLessThan(elapsed + 1)
  expect(await call('GET /api/streams/{id}/sessions', at)).toHaveLength(1)
  await waitFor(() => destinations.nginx.recordings().length >= 2, { what: 'a recording of each half' })
  expect(await crier.stop()).toBe(0)
})

test('resumes a stream after Crier is killed, and after a graceful stop', async () => {
  const crier = await start()
  const { call, workspaceId } = await newcomer(crier)
  const stream = await createStream(call, workspaceId, await servers())
  const at = { path: { id: stream._id } }
  const usedSeconds = async () => (await call('GET /api/streams/usage')).minutesUsed * 60
  const untilUsed = (seconds: number) =>
    waitFor(async () => (await usedSeconds()) >= seconds, { what: `${seconds} s of use` })
  await call('POST /api/streams/{id}/go-live', { ...at, body: { waitForIngest: true } })
  pushTo(crier, stream.streamKey)
  await until(call, stream._id, 'live')
  await untilUsed(3)
  const before = await usedSeconds()
  await crier.kill()

  const second = await start(crier.ports)
  // The earlier token is still valid, and the usage is kept.
  expect(await usedSeconds()).toBeGreaterThanOrEqual(before)
  await until(call, stream._id, 'interrupted')
  pushTo(second, stream.streamKey)
  await until(call, stream._id, 'live')
  await untilAllLive(call, stream._id)
  await untilUsed(before + 3)
  expect(await second.stop()).toBe(0)

  const third = await start(crier.ports)
  expect((await call('GET /api/streams/{id}', at)).status).toBe('interrupted')
  pushTo(third, stream.streamKey)
  await until(call, stream._id, 'live')
  await call('POST /api/streams/{id}/stop', at)
  expect(await call('GET /api/streams/{id}/sessions', at)).toMatchObject([{ endReason: 'stopped' }])
  expect(await third.stop()).toBe(0)
})
