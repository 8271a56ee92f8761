import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { startSink, type Sink } from '../../media/testing/sink.ts'
import { WhepViewer } from '../../media/testing/whep-viewer.ts'
import { WhipClient } from '../../media/testing/whip-client.ts'
import { makeWhipMedia, type WhipMedia } from '../../media/testing/whip-media.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster } from '../support/broadcast.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

const PAGE = 'https://studio.example.com'

let app: App
let caster: Broadcaster
let world: World
let media: WhipMedia
let sinks: [Sink, Sink]
const clients: WhipClient[] = []

/** Media runs in real time, also on a busy machine. */

beforeAll(async () => {
  const env = { ALLOW_PRIVATE_ADDRESSES: '1', LOG_LEVEL: 'debug', CORS_ORIGINS: PAGE }
  app = await startApp({
    media: true,
    env: { ...env, WHIP_ICE_SERVERS: 'stun:stun.example.com:3478,turn:ada:secret@turn.example.com:3478?transport=udp' },
  })
  world = new World(app)
  const workspaceId = await world.workspace('acme', 'ada')
  caster = new Broadcaster(app, world.as('ada'), workspaceId)
  media = await makeWhipMedia()
  sinks = [await startSink(), await startSink()]
})
afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})
afterAll(async () => {
  await app?.stop()
  for (const sink of sinks ?? []) await sink.close()
})

interface Armed {
  readonly whipUrl: string
  readonly whipToken: string
  readonly streamKey: string
}

async function armedStream(): Promise<Armed & { readonly id: string }> {
  const { _id } = await caster.stream({ one: sinks[0], two: sinks[1] })
  return { id: _id, ...(await arm(_id)) }
}

const arm = (id: string) => caster.call<Armed>('POST /api/streams/{id}/arm', { path: { id } })

async function request(
  method: string,
  url: string,
  token: string | undefined,
  body?: string,
  more: Record<string, string> = {},
) {
  const headers = new Headers({ Origin: PAGE, ...(token && { Authorization: `Bearer ${token}` }) })
  if (body !== undefined) headers.set('Content-Type', 'application/sdp')
  new Headers(more).forEach((value, name) => headers.set(name, value))
  const response = await fetch(new URL(url, app.url), { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await response.text()
  const code = response.headers.get('content-type')?.includes('json') ? (JSON.parse(text) as { code: string }).code : ''
  return { status: response.status, headers: response.headers, text, code }
}

async function clientOffer(): Promise<{ client: WhipClient; sdp: string }> {
  const client = new WhipClient({ media })
  clients.push(client)
  return { client, sdp: await client.offer() }
}

async function publish({ whipToken, whipUrl }: Armed) {
  const { client, sdp } = await clientOffer()
  const reply = await request('POST', whipUrl, whipToken, sdp)
  if (reply.status === 201) {
    client.accept(reply.text)
    client.start()
  }
  return { client, reply, sdp, session: reply.headers.get('location') ?? '' }
}

const sessions = () => app.composition.services.mediaNodes.directory.nodes()[0]?.status?.whip?.sessions.length

test('publishes over WHIP to two destinations, as RFC 9725 specifies', async () => {
  const armed = await armedStream()
  const path = armed.whipUrl.split('/').at(-1)!
  expect(armed.whipUrl).toBe(`${app.url}/api/streams/whip/${path}`)
  await caster.goLive(armed.id, { waitForIngest: true })
  const { reply, client, sdp, session } = await publish(armed)
  expect([reply.status, reply.text.slice(0, 5)]).toEqual([201, 'v=0\r\n'])
  const headers = Object.fromEntries(reply.headers)
  expect(headers).toMatchObject({
    'content-type': 'application/sdp',
    location: expect.stringMatching(new RegExp(`^/api/streams/whip/${path}/[0-9a-f]{32}$`)),
    etag: expect.stringMatching(/^"[0-9a-f]+"$/),
    link: '<stun:stun.example.com:3478>; rel="ice-server", <turn:turn.example.com:3478?transport=udp>; rel="ice-server"; username="ada"; credential="secret"; credential-type="password"',
    'access-control-allow-origin': PAGE,
  })
  expect(headers['access-control-expose-headers']).toMatch(/ETag.*Link.*Location/)
  await caster.until(armed.id, 'live')
  for (const name of ['one', 'two']) await caster.untilDestination(armed.id, name, 'live')
  for (const sink of sinks) {
    await waitFor(() => sink.messages('video').length > 30 && sink.messages('audio').length > 30)
    const [video, audio] = (['video', 'audio'] as const).map((kind) =>
      sink.messages(kind).find((one) => one.isSequenceHeader),
    )
    expect([video, audio]).toEqual([expect.anything(), expect.anything()])
  }
  type Relay = { ingest: { audioCodec: string | null; width: number | null } | null }
  const relay = () => caster.call<Relay>('GET /api/streams/{id}/relay', { path: { id: armed.id } })
  // Audio goes through ffmpeg and arrives a moment after the video.
  const known = async () => {
    const { ingest: seen } = await relay()
    return seen?.audioCodec && seen.width ? seen : undefined
  }
  const ingest = await waitFor(known, { what: 'the ingest in the status' })
  expect(ingest).toMatchObject({ videoCodec: 'h264', audioCodec: 'aac', width: 640, height: 360 })
  const jitter = new RegExp(`crier_whip_jitter_seconds\\{stream="${armed.id}",kind="video"\\} 0\\.\\d`)
  await waitFor(async () => jitter.test(await app.node.resources.metrics.metrics()), {
    what: 'the jitter metric',
  })

  // Candidates with and without If-Match, a wrong version, an ICE restart, and another method.
  const ufrag = /a=ice-ufrag:(\S+)/.exec(sdp)![1]!
  const fragment = `a=ice-ufrag:${ufrag}\r\na=ice-pwd:whatever\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=end-of-candidates\r\n`
  const trickle = (body: string, more: Record<string, string> = {}) =>
    request('PATCH', session, armed.whipToken, body, { 'Content-Type': 'application/trickle-ice-sdpfrag', ...more })
  expect((await trickle(fragment)).status).toBe(204)
  expect((await trickle(fragment, { 'If-Match': headers['etag']! })).status).toBe(204)
  expect(await trickle(fragment, { 'If-Match': '"other"' })).toMatchObject({ status: 412, code: 'precondition_failed' })
  expect(await trickle(fragment.replace(ufrag, 'fresh'))).toMatchObject({
    status: 422,
    code: 'ice_restart_unsupported',
  })
  expect(await trickle(fragment, { 'Content-Type': 'application/sdp' })).toMatchObject({ status: 415 })
  expect(await trickle('hello')).toMatchObject({ status: 400, code: 'bad_request' })
  const preflight = await request('OPTIONS', session, undefined, undefined, {
    'Access-Control-Request-Method': 'PATCH',
  })
  expect(preflight.status).toBe(204)
  expect(preflight.headers.get('access-control-allow-methods')).toBe('DELETE, PATCH, OPTIONS')
  expect(preflight.headers.get('access-control-allow-headers')).toMatch(/Authorization.*If-Match.*ETag/)
  expect(preflight.headers.get('accept-patch')).toBe('application/trickle-ice-sdpfrag')
  expect((await request('OPTIONS', armed.whipUrl, undefined)).headers.get('accept-post')).toBe('application/sdp')
  for (const method of ['GET', 'PUT', 'POST'])
    expect((await request(method, session, armed.whipToken)).status).toBe(405)
  expect((await request('GET', armed.whipUrl, armed.whipToken)).status).toBe(405)

  // A second publisher with the same token is refused while the first one sends.
  const second = await publish(armed)
  expect(second.reply).toMatchObject({ status: 409, code: 'conflict' })
  expect(second.reply.headers.get('retry-after')).toBe('2')
  expect(await request('DELETE', session, 'wrong')).toMatchObject({ status: 401, code: 'invalid_credential' })

  expect(await request('DELETE', session, armed.whipToken)).toMatchObject({ status: 200, text: '' })
  await caster.until(armed.id, 'interrupted')
  expect(await request('DELETE', session, armed.whipToken)).toMatchObject({ status: 404, code: 'not_found' })
  expect(await trickle(fragment)).toMatchObject({ status: 404 })
  client.close()
  await caster.stop(armed.id)
})

test('refuses unusable offers with the reason', async () => {
  const { whipToken, whipUrl } = await armedStream()
  const { sdp } = await clientOffer()
  expect(await request('POST', whipUrl, whipToken, 'hello')).toMatchObject({ status: 400, code: 'bad_request' })
  expect(await request('POST', whipUrl, whipToken, sdp.replaceAll('H264', 'AV1'))).toMatchObject({
    status: 406,
    code: 'no_usable_codec',
  })
  expect(await request('POST', whipUrl, whipToken, sdp.padEnd(70_000, 'x'))).toMatchObject({ status: 413 })
  expect(await request('POST', whipUrl, whipToken, sdp, { 'Content-Type': 'text/plain' })).toMatchObject({
    status: 415,
  })
  const charset = { 'Content-Type': 'application/sdp; charset=utf-8' }
  expect(await request('POST', whipUrl, whipToken, 'hello', charset)).toMatchObject({
    status: 400,
    code: 'bad_request',
  })
  expect(await request('POST', `${whipUrl}?normalise=perhaps`, whipToken, sdp)).toMatchObject({ status: 400 })
  expect(await request('POST', `${whipUrl.slice(0, -2)}zz`, whipToken, sdp)).toMatchObject({ status: 404 })
})

test('accepts a token for its path only, until the stream is armed again or stops', async () => {
  const [first, other] = [await armedStream(), await armedStream()]
  const { sdp } = await clientOffer()
  const refused = { status: 401, code: 'invalid_credential' }
  const attempt = (url: string, token: string | undefined) => request('POST', url, token, sdp)
  expect(await attempt(first.whipUrl, undefined)).toMatchObject(refused)
  expect(await attempt(first.whipUrl, 'x'.repeat(43))).toMatchObject(refused)
  expect(await attempt(first.whipUrl, other.whipToken)).toMatchObject(refused)
  expect(await attempt(first.whipUrl, first.streamKey)).toMatchObject(refused)
  expect(await attempt(first.whipUrl.replace(/[0-9a-f]{16}$/, '0'.repeat(16)), first.whipToken)).toMatchObject(refused)
  expect(await caster.refusal(first.whipToken)).not.toBe('')
  expect(await caster.refusal(`${first.whipUrl.split('/').at(-1)}-${first.whipToken}`)).not.toBe('')

  const { reply, session } = await publish(first)
  expect(reply.status).toBe(201)
  await caster.until(first.id, 'receiving')
  const armed = await arm(first.id)
  await waitFor(() => sessions() === 0, { what: 'the session to be dropped' })
  expect(await attempt(first.whipUrl, first.whipToken)).toMatchObject(refused)
  expect(await attempt(armed.whipUrl, first.whipToken)).toMatchObject(refused)
  expect(await request('DELETE', session, first.whipToken)).toMatchObject(refused)

  await caster.goLive(first.id, { waitForIngest: true })
  await publish(armed)
  await caster.until(first.id, 'live')
  await caster.stop(first.id)
  await waitFor(() => sessions() === 0, { what: 'the session to be dropped' })
  expect(await attempt(armed.whipUrl, armed.whipToken)).toMatchObject(refused)

  await app.database.rows(`update streams set key_expires_at = now() where id = $1`, [other.id])
  const expired = await attempt(other.whipUrl, other.whipToken)
  expect(expired).toMatchObject(refused)
  expect(expired.text).toContain('The key has expired; arm the stream for a new one.')
  expect(expired.headers.get('www-authenticate')).toBe('Bearer')

  const { switches } = app.composition.services
  await switches.toggle('streams', false)
  expect(await attempt(other.whipUrl, other.whipToken)).toMatchObject({ status: 503, code: 'service_disabled' })
  await switches.toggle('streams', true)
})

test('plays over WHEP with a preview token until the session or the permission ends', async () => {
  const armed = await armedStream()
  const preview = (id: string) =>
    caster.call<{ token: string; whepUrl: string }>('POST /api/streams/{id}/preview-token', { path: { id } })
  const { token, whepUrl } = await preview(armed.id)
  const other = await preview((await armedStream()).id)
  const viewer = new WhepViewer()
  const sdp = await viewer.offer()
  expect(await request('POST', whepUrl, token, sdp)).toMatchObject({ status: 409, code: 'conflict' })
  const { client } = await publish(armed)
  await caster.until(armed.id, 'receiving')
  const refused = { status: 401, code: 'invalid_credential' }
  for (const wrong of [undefined, 'nonsense', armed.whipToken, other.token]) {
    expect(await request('POST', whepUrl, wrong, sdp)).toMatchObject(refused)
  }
  expect(await request('POST', whepUrl, token, 'hello')).toMatchObject({ status: 400, code: 'bad_request' })
  const sending = sdp.replaceAll('a=recvonly', 'a=sendonly')
  expect(await request('POST', whepUrl, token, sending)).toMatchObject({ status: 406, code: 'no_usable_codec' })

  const viewers = async () =>
    (await caster.call<{ viewers: number }>('GET /api/streams/{id}/relay', { path: { id: armed.id } })).viewers
  const reply = await request('POST', whepUrl, token, sdp)
  expect(reply.status).toBe(201)
  expect(reply.headers.get('link')).toContain('rel="ice-server"')
  const session = reply.headers.get('location')!
  viewer.accept(reply.text)
  await waitFor(() => viewer.packets.video.length > 10 && viewer.packets.audio.length > 10)
  await waitFor(async () => (await viewers()) === 1)
  expect(await request('DELETE', session, other.token)).toMatchObject(refused)
  expect((await request('DELETE', session, token)).status).toBe(200)
  expect(await request('DELETE', session, token)).toMatchObject({ status: 404, code: 'not_found' })
  await waitFor(async () => (await viewers()) === 0)
  viewer.close()

  // Revokes the API key that created the token.
  await world.user('bob')
  await world.member('acme', 'bob', { scopes: ['streams:read'] })
  const path = { id: armed.id }
  const bobs = await app.send('POST /api/streams/{id}/preview-token', { apiKey: world.key('bob'), path })
  const second = new WhepViewer()
  second.accept((await request('POST', whepUrl, bobs.body.data.token, await second.offer())).text)
  await waitFor(async () => (await viewers()) === 1)
  expect((await app.send('POST /api/users/me/api-key', { apiKey: world.key('bob') })).status).toBe(200)
  await waitFor(async () => (await viewers()) === 0)
  expect(await request('POST', whepUrl, bobs.body.data.token, sdp)).toMatchObject(refused)
  second.close()
  client.close()
})

test('keeps tokens out of logs, events, audit entries, metrics and tables', async () => {
  const armed = await armedStream()
  const { session } = await publish(armed)
  await caster.until(armed.id, 'receiving')
  await request('DELETE', session, armed.whipToken)
  const kept = await app.database.rows(
    `select query_to_xml('select * from ' || quote_ident(table_name), true, false, '')::text as text
     from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const metrics = await (await fetch(`${app.node.adminUrl}/metrics`)).text()
  for (const seen of [JSON.stringify(app.logs), JSON.stringify(kept), metrics]) {
    expect(seen.length).toBeGreaterThan(1_000)
    expect(seen).not.toContain(armed.whipToken)
  }
})
