import { setTimeout as delay } from 'node:timers/promises'
import { SECOND, type Clock } from '../../src/core/clock.ts'
import { errorTable } from '../../src/core/error.ts'
import { operation } from '../../src/core/operation.ts'
import { Done } from '../../src/core/schema.ts'
import { StorageFull } from '../../src/storage/errors.ts'
import type { App } from './app.ts'
import type { FrontRequest } from './fronts.ts'
import { PIXEL } from './pixel.ts'
import { crash } from './probe.ts'
import { consentAtSandbox } from './sandbox-sign-in.ts'
import { waitFor } from './wait.ts'
import type { World } from './world.ts'

/** One real request for each status that a client can get. */

const full = operation({
  route: 'GET /api/probe/full',
  summary: 'Fail as on a full disk',
  access: 'public',
  returns: { 200: Done },
  errors: [StorageFull],
  example: {},
  handle: async () => {
    throw StorageFull()
  },
})

/** Operations for what cannot be provoked: a fault of the server, and a full disk. */
export const FAILING = { crash, full }

/** The statuses that the API declares, and those of every error, including errors before an operation is reached. */
export async function declaredStatuses(app: App): Promise<Set<number>> {
  const { body } = await app.send('GET /api/openapi.json')
  const paths = Object.values(body.paths as Record<string, Record<string, { readonly responses?: object }>>)
  const operations = paths.flatMap((path) => Object.values(path))
  const declared = operations.flatMap(({ responses = {} }) => Object.keys(responses).map(Number))
  const errors = errorTable().map(({ status }) => status)
  return new Set([...declared, ...errors])
}

/** A clock that can be advanced and never stands still, which the media process needs. */
export class MovableClock implements Clock {
  #shift = 0

  now = () => Date.now() + this.#shift
  monotonic = () => performance.now() + this.#shift
  advance(ms: number): void {
    this.#shift += ms
  }
}

export interface StatusStage {
  readonly app: App
  readonly clock: MovableClock
  readonly world: World
  /** A publisher's offer. */
  readonly offer: string
  readonly streamId: string
  /** An asset, with its bytes and its tag. */
  readonly assetId: string
  readonly assetTag: string
  /** An open WHIP session. */
  readonly session: { readonly path: string; readonly token: string }
}

type StatusCase = (stage: StatusStage) => FrontRequest | Promise<FrontRequest>

const JSON_TYPE = { 'content-type': 'application/json' }
const keyOf = ({ world }: StatusStage, name = 'ada') => ({ 'x-api-key': world.key(name) })
const get = (path: string, headers: Record<string, string> = {}): FrontRequest => ({ method: 'GET', path, headers })

function post(stage: StatusStage, path: string, body: string, headers: Record<string, string> = {}): FrontRequest {
  return { method: 'POST', path, headers: { ...JSON_TYPE, ...keyOf(stage), ...headers }, body }
}

/** An ICE fragment for the session: of its own candidates, or of a restart. */
function trickle({ offer, session }: StatusStage, ufrag = /a=ice-ufrag:(\S+)/.exec(offer)?.[1] ?? ''): FrontRequest {
  const body = `a=ice-ufrag:${ufrag}\r\na=ice-pwd:whatever\r\nm=video 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=end-of-candidates\r\n`
  const headers = { authorization: `Bearer ${session.token}`, 'content-type': 'application/trickle-ice-sdpfrag' }
  return { method: 'PATCH', path: session.path, headers, body }
}

const stream = ({ world }: StatusStage) => JSON.stringify({ workspaceId: world.id('acme'), title: 'Launch' })
const file = (stage: StatusStage, headers: Record<string, string> = {}) =>
  get(`/api/assets/${stage.assetId}/file`, { ...keyOf(stage), ...headers })

/** A body of which one byte arrives. The clock advances until the server gives up. */
async function* tooSlow({ app, clock }: StatusStage): AsyncGenerator<Uint8Array> {
  yield Buffer.from('{')
  await waitFor(async () => {
    const pending = await app.node.resources.metrics.getSingleMetric('crier_http_bodies_pending')?.get()
    return pending?.values[0]?.value === 1
  })
  clock.advance(11 * SECOND)
  await delay(60_000, undefined, { ref: false })
}

/** By status. Numbers are keys in ascending order. */
export const STATUS_CASES: Readonly<Record<number, StatusCase>> = {
  200: (stage) => get('/api/users/me', keyOf(stage)),
  201: (stage) => post(stage, '/api/streams', stream(stage)),
  202: (stage) => post(stage, `/api/assets/${stage.assetId}/renditions`, JSON.stringify({ preset: 'instagram' })),
  204: (stage) => trickle(stage),
  206: (stage) => file(stage, { range: 'bytes=2-9' }),
  302: async ({ app, world }) => {
    const redirectUri = `${new URL(app.config.PUBLIC_URL).origin}/done`
    const user = { apiKey: world.key('ada'), workspaceId: world.id('acme'), platform: 'mastodon' }
    const { cookie, url } = await consentAtSandbox(app, { ...user, query: { redirectUri } })
    return get(url.pathname + url.search, { cookie })
  },
  304: (stage) => file(stage, { 'if-none-match': stage.assetTag }),
  400: (stage) => post(stage, '/api/ideas', '{"title":'),
  401: () => get('/api/users/me'),
  402: (stage) => {
    const body = { workspaceId: stage.world.id('small'), name: 'one more' }
    return post(stage, '/api/assets/folders', JSON.stringify(body), keyOf(stage, 'poor'))
  },
  403: (stage) => post(stage, '/api/streams', stream(stage), keyOf(stage, 'reader')),
  404: (stage) => get('/api/ideas/01900000-0000-7000-8000-00000000dead', keyOf(stage)),
  405: () => ({ method: 'DELETE', path: '/api/health' }),
  406: ({ offer, session }) => ({
    method: 'POST',
    path: session.path.split('/').slice(0, -1).join('/'),
    headers: { authorization: `Bearer ${session.token}`, 'content-type': 'application/sdp' },
    body: offer.replaceAll('H264', 'AV1'),
  }),
  408: (stage) => ({
    method: 'POST',
    path: '/api/ideas',
    headers: { ...JSON_TYPE, ...keyOf(stage), 'content-length': '50000' },
    body: tooSlow(stage),
  }),
  409: (stage) => get(`/api/streams/${stage.streamId}/preview.flv`, keyOf(stage)),
  412: (stage) => ({
    method: 'PUT',
    path: `/api/streams/${stage.streamId}`,
    headers: { ...JSON_TYPE, ...keyOf(stage), 'if-match': '"999"' },
    body: '{"title":"Other"}',
  }),
  413: (stage) => post(stage, '/api/ideas', JSON.stringify({ title: 'x'.repeat(200_000) })),
  415: (stage) => post(stage, '/api/ideas', 'title=x', { 'content-type': 'application/x-www-form-urlencoded' }),
  416: (stage) => file(stage, { range: `bytes=${PIXEL.length}-` }),
  422: (stage) => trickle(stage, 'fresh'),
  426: () => get('/socket.io/?EIO=4&transport=polling'),
  429: async ({ app }) => {
    const refused = () => app.send('GET /api/users/me', { apiKey: 'crier_unknown' })
    await waitFor(async () => (await refused()).status === 429)
    return get('/api/users/me', { 'x-api-key': 'crier_unknown' })
  },
  500: () => get('/api/probe/crash'),
  503: async ({ app, world }) => {
    await app.composition.services.switches.toggle('webhooks', false)
    return get(`/api/webhooks?workspaceId=${world.id('acme')}`, { 'x-api-key': world.key('ada') })
  },
  507: () => get('/api/probe/full'),
}
