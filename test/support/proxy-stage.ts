import { expect } from 'vitest'
import { WhipClient } from '../../media/testing/whip-client.ts'
import { makeWhipMedia } from '../../media/testing/whip-media.ts'
import { api } from '../../src/registry/api.ts'
import { startApp } from './app.ts'
import { Broadcaster } from './broadcast.ts'
import { openFronts, type Front } from './fronts.ts'
import { PIXEL } from './pixel.ts'
import { FAILING, MovableClock, type StatusStage } from './statuses.ts'
import { World } from './world.ts'

/** The origin whose pages may call the API. */
export const PAGE = 'https://studio.example.com'

/** Crier behind proxies. */
export interface ProxyStage extends StatusStage {
  /** The first one is the server itself. */
  readonly fronts: readonly Front[]
  readonly caster: Broadcaster
  stop(): Promise<void>
}

/** Starts Crier with limits, the media process and users, and the proxies in front. @param more further settings */
export async function startBehindProxies(more: Readonly<Record<string, string>> = {}): Promise<ProxyStage> {
  const clock = new MovableClock()
  const registry = { ...api, probe: FAILING }
  const env = { TRUST_PROXY: '1', CORS_ORIGINS: PAGE, ...more }
  const app = await startApp({ media: true, clock, rateLimits: true, registry, env })
  const { close, fronts } = await openFronts(app.port)
  const world = new World(app)
  await world.user('ada', { plan: 'business' })
  await world.workspace('acme', 'ada')
  await world.member('acme', 'reader', { scopes: [] })
  await world.user('poor', { plan: 'free' })
  await world.workspace('small', 'poor')
  await fillFolders(world)
  const client = new WhipClient({ media: await makeWhipMedia() })
  const caster = new Broadcaster(app, world.as('ada'), world.id('acme'))
  const offer = await client.offer()
  return {
    app,
    world,
    clock,
    offer,
    fronts,
    caster,
    streamId: (await caster.stream({}))._id,
    session: await openSession(caster, client, offer),
    ...(await upload(world)),
    stop: async () => {
      client.close()
      await close()
      await app.stop()
    },
  }
}

/** Uses up what a plan allows. */
async function fillFolders(world: World): Promise<void> {
  for (let status = 0, made = 0; status !== 402; made += 1) {
    const body = { workspaceId: world.id('small'), name: `folder ${made}` }
    status = (await world.as('poor').call('POST /api/assets/folders', { body })).status
  }
}

/** A session that goes on, because its publisher sends. */
async function openSession(caster: Broadcaster, client: WhipClient, offer: string): Promise<StatusStage['session']> {
  const { _id: id } = await caster.stream({})
  const armed = await caster.call<{ whipUrl: string; whipToken: string }>('POST /api/streams/{id}/arm', {
    path: { id },
  })
  const headers = { Authorization: `Bearer ${armed.whipToken}`, 'Content-Type': 'application/sdp' }
  const opened = await fetch(armed.whipUrl, { method: 'POST', headers, body: offer })
  expect(opened.status).toBe(201)
  client.accept(await opened.text())
  client.start()
  return { path: opened.headers.get('location') ?? '', token: armed.whipToken }
}

async function upload(world: World): Promise<{ assetId: string; assetTag: string }> {
  const file = { name: 'pixel.png', content: PIXEL, type: 'image/png' }
  const body = { workspaceId: world.id('acme') }
  const uploaded = await world.as('ada').call('POST /api/assets/upload', { body, file })
  const assetId: string = uploaded.body.data._id
  const shown = await world.as('ada').call('GET /api/assets/{id}/file', { path: { id: assetId } })
  return { assetId, assetTag: shown.headers.get('etag') ?? '' }
}
