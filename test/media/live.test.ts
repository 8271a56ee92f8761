import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { brightnessOf, flvOf } from '../../media/testing/brightness.ts'
import { startSink, type Sink } from '../../media/testing/sink.ts'
import { startApp, type App } from '../support/app.ts'
import { Broadcaster } from '../support/broadcast.ts'
import { waitFor } from '../support/wait.ts'
import { World } from '../support/world.ts'

let app: App
let world: World
let caster: Broadcaster
let workspaceId: string
let ownerId: string
let sinks: Sink[] = []

beforeAll(async () => {
  app = await startApp({ media: true, env: { ALLOW_PRIVATE_ADDRESSES: '1', LOG_LEVEL: 'debug' } })
  world = new World(app)
})
afterAll(() => app?.stop())

let round = 0
beforeEach(async () => {
  round += 1
  workspaceId = await world.workspace(`acme ${round}`, `ada-${round}`)
  ownerId = world.id(`ada-${round}`)
  caster = new Broadcaster(app, world.as(`ada-${round}`), workspaceId)
})
afterEach(async () => {
  caster.close()
  for (const sink of sinks.splice(0)) await sink.close()
})

async function sink(): Promise<Sink> {
  const one = await startSink()
  sinks.push(one)
  return one
}

async function usedMs(): Promise<number> {
  const row = await app.database.row<{ used: number }>(
    'select coalesce(sum(live_ms), 0)::bigint as used from stream_usage where owner_id = $1',
    [ownerId],
  )
  return row?.used ?? 0
}

async function events(): Promise<{ type: string; data: Record<string, unknown> }[]> {
  return app.database.rows('select type, data from workspace_events where workspace_id = $1 order by seq', [
    workspaceId,
  ])
}

test('receives a publisher, relays to two destinations, and disconnects it when the stream stops', async () => {
  const [one, two] = [await sink(), await sink()]
  const { _id, streamKey } = await caster.stream({ one, two })
  const { publisher } = await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  expect(one.connections).toEqual([])
  expect((await caster.goLive(_id)).status).toBe('live')
  await caster.untilDestination(_id, 'one', 'live')
  await caster.untilDestination(_id, 'two', 'live')
  expect(one.last()?.streamKey).toBe('key-for-one')
  const relay = await waitFor(async () => {
    // The event of a destination comes first. The figures of the media process follow within a second.
    const status = await caster.call<{
      ingest: object | null
      destinations: { bytesAcknowledged: number; status: string }[]
    }>('GET /api/streams/{id}/relay', { path: { id: _id } })
    const settled = status.destinations.every(
      ({ bytesAcknowledged, status: now }) => bytesAcknowledged > 0 && now === 'live',
    )
    return settled ? status : undefined
  })
  expect(relay).toMatchObject({
    status: 'live',
    live: true,
    ingest: { videoCodec: expect.stringMatching(/264|avc/i), audioCodec: expect.stringMatching(/aac/i) },
    destinations: [
      { status: 'live', name: 'one', lastError: null },
      { status: 'live', name: 'two', lastError: null },
    ],
  })
  expect(JSON.stringify(relay)).not.toContain('remoteAddress')
  const health = await caster.call<object>('GET /api/streams/relay/health', {})
  expect(health).toMatchObject({ nodes: [{ ok: true }], paths: [{ streamId: _id, live: true, readers: 2 }] })
  const stopped = await caster.stop(_id)
  expect(stopped).toMatchObject({ status: 'ended', endReason: 'stopped' })
  await publisher.closed
  await waitFor(() => one.last()?.closed && two.last()?.closed)
  expect(await caster.refusal(streamKey)).toMatch(/ended|refused|denied/i)
  const types = (await events()).map(({ type, data }) => `${type} ${String(data['status'])}`)
  expect(types).toEqual(
    expect.arrayContaining(['stream.updated receiving', 'stream.updated live', 'destination.updated live']),
  )
  expect(types.at(-1)).toBe('stream.updated ended')
})

test('misses no frame when it waits for the publisher', async () => {
  const one = await sink()
  const { _id, streamKey } = await caster.stream({ one })
  expect((await caster.goLive(_id, { waitForIngest: true })).status).toBe('starting')
  const { feed } = await caster.publish(streamKey)
  await caster.until(_id, 'live')
  await waitFor(() => feed.of('video').length > 100, { what: '100 frames' })
  feed.stop()
  const sent = feed.sent.map(({ checksum }) => checksum)
  await waitFor(() => one.messages('video').length + one.messages('audio').length >= sent.length)
  const arrived = new Set(one.messages().map(({ checksum }) => checksum))
  expect(sent.filter((checksum) => !arrived.has(checksum))).toEqual([])
})

test('refuses wrong, old and stopped keys, and all keys while the service is off', async () => {
  const { _id, streamKey } = await caster.stream({ one: await sink() })
  const [path] = streamKey.split('-')
  expect(await caster.refusal(`${path}-${'0'.repeat(32)}`)).not.toBe('')
  expect(await caster.refusal('nonsense')).not.toBe('')
  const armed = await caster.call<{ streamKey: string }>('POST /api/streams/{id}/arm', { path: { id: _id } })
  expect(await caster.refusal(streamKey)).not.toBe('')
  const { switches } = app.composition.services
  await switches.toggle('streams', false)
  expect(await caster.refusal(armed.streamKey)).not.toBe('')
  await switches.toggle('streams', true)
  await app.database.run(`update streams set key_expires_at = now() - interval '1 s' where id = $1`, [_id])
  expect(await caster.refusal(armed.streamKey)).not.toBe('')
  await app.database.run(`update streams set key_expires_at = now() + interval '1 h' where id = $1`, [_id])
  await app.database.run('update workspaces set deleted_at = now() where id = $1', [workspaceId])
  expect(await caster.refusal(armed.streamKey)).not.toBe('')
  await app.database.run('update workspaces set deleted_at = null where id = $1', [workspaceId])
  expect(await caster.refusal(armed.streamKey)).toBe('')
})

test('disconnects the publisher at once when the stream is armed or deleted', async () => {
  const { _id, streamKey } = await caster.stream({ one: await sink() })
  const first = await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  const armed = await caster.call<{ streamKey: string }>('POST /api/streams/{id}/arm', { path: { id: _id } })
  await first.publisher.closed
  expect(await caster.get(_id)).toMatchObject({ status: 'idle' })
  const second = await caster.publish(armed.streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.call('DELETE /api/streams/{id}', { path: { id: _id }, query: { force: true } })
  await second.publisher.closed
})

test('lets a newer publisher with the key take over without interruption', async () => {
  const one = await sink()
  const { _id, streamKey } = await caster.stream({ one })
  const first = await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'one', 'live')
  await caster.publish(streamKey)
  await first.publisher.closed
  await waitFor(async () => (await caster.get(_id)).status === 'live')
  expect(one.connections).toHaveLength(1)
})

test('lets the backup publisher take over without interruption', async () => {
  const one = await sink()
  const { _id, streamKey, backupStreamKey } = await caster.stream({ one })
  const first = await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'one', 'live')
  await caster.publish(backupStreamKey)
  const relay = () =>
    caster.call<{ ingest: { source: string } | null; standby: { source: string } | null }>(
      'GET /api/streams/{id}/relay',
      { path: { id: _id } },
    )
  await waitFor(async () => (await relay()).standby?.source === 'backup')
  first.feed.stop()
  first.publisher.close()
  await waitFor(async () => (await relay()).ingest?.source === 'backup')
  expect(await caster.get(_id)).toMatchObject({ status: 'live' })
  expect(one.connections).toHaveLength(1)
  const statuses = (await events()).filter(({ type }) => type === 'stream.updated').map(({ data }) => data['status'])
  expect(statuses).not.toContain('interrupted')
  const armed = await caster.call<{ backupStreamKey: string }>('POST /api/streams/{id}/arm', { path: { id: _id } })
  expect(await caster.refusal(backupStreamKey)).not.toBe('')
  expect(await caster.refusal(armed.backupStreamKey)).toBe('')
})

test('shows the slate during an interruption, and ends the stream if the publisher does not return', async () => {
  const one = await startSink({ keepPayloads: true })
  sinks.push(one)
  const { _id, streamKey } = await caster.stream({ one })
  const path = { id: _id }
  const first = await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'one', 'live')
  const slate = { mode: 'asset', assetId: await whitePicture() }
  await caster.call('PUT /api/streams/{id}', { path, body: { title: 'Launch', slate, holdSeconds: 90 } })
  const untilSlate = (state: string) =>
    waitFor(
      async () => {
        const relay = await caster.call<{ slate: { status: string } | null }>('GET /api/streams/{id}/relay', { path })
        return relay.slate?.status === state
      },
      { what: `the slate to be ${state}` },
    )
  await untilSlate('ready')
  caster.close()
  await first.publisher.closed
  await caster.until(_id, 'interrupted')
  await untilSlate('shown')
  await caster.publish(streamKey)
  await caster.until(_id, 'live')
  await untilSlate('ready')
  const shown = (await events()).flatMap(({ data, type }) => (type === 'slate.updated' ? [data] : []))
  expect(shown).toEqual([true, false].map((is) => ({ streamId: _id, shown: is })))
  // The codec configuration changes from that of the slate to that of the publisher.
  const { messages } = one.last()!
  const [, begin, end] = messages.flatMap(({ isSequenceHeader, kind }, index) =>
    isSequenceHeader && kind === 'video' ? [index] : [],
  )
  const file = join(app.dataDir, 'slate.flv')
  await writeFile(file, flvOf(messages.slice(begin, end)))
  const brightness = await brightnessOf(file)
  expect(brightness.length).toBeGreaterThan(5)
  expect(Math.min(...brightness)).toBeGreaterThan(200)
  expect(one.connections).toHaveLength(1)
  caster.close()
  await caster.until(_id, 'interrupted')
  await app.database.run(`update streams set status_since = now() - interval '89 s' where id = $1`, [_id])
  expect(await caster.until(_id, 'ended')).toMatchObject({
    endReason: 'source_lost',
    platforms: [{ status: 'stopped' }],
  })
  expect(await caster.refusal(streamKey)).not.toBe('')
  await waitFor(() => one.last()?.closed)
  const sessions = await caster.call<object[]>('GET /api/streams/{id}/sessions', { path })
  expect(sessions).toMatchObject([{ endReason: 'source_lost' }])
})

/** Uploads a white image to the media library and marks it as examined. */
async function whitePicture(): Promise<string> {
  const white = { width: 640, height: 360, channels: 3, background: 'white' } as const
  const content = new Uint8Array(await sharp({ create: white }).png().toBuffer())
  const { _id } = await caster.call<{ _id: string }>('POST /api/assets/upload', {
    body: { workspaceId },
    file: { name: 'white.png', content },
  })
  await app.database.run(
    `update asset_files set thumbnail_state = 'ready' where id = (select file_id from assets where id = $1)`,
    [_id],
  )
  return _id
}

test('adds and removes destinations while live without affecting the others', async () => {
  const [kept, removed, added] = [await sink(), await sink(), await sink()]
  const stream = await caster.stream({ kept, removed })
  const { feed } = await caster.publish(stream.streamKey)
  await caster.until(stream._id, 'receiving')
  await caster.goLive(stream._id)
  await caster.untilDestination(stream._id, 'kept', 'live')
  await caster.untilDestination(stream._id, 'removed', 'live')
  const listed = await caster.call<{ _id: string; name: string }[]>('GET /api/streams/rtmp-destinations', {
    query: { workspaceId },
  })
  const keptId = listed.find(({ name }) => name === 'kept')?._id
  const platforms = [keptId, await caster.destination('added', added.port)].map((accountId) => ({
    platform: 'custom',
    accountId,
  }))
  await caster.call('PUT /api/streams/{id}', { path: { id: stream._id }, body: { title: 'Launch', platforms } })
  await caster.untilDestination(stream._id, 'added', 'live')
  await waitFor(() => removed.last()?.closed)
  expect(kept.connections).toHaveLength(1)
  const before = kept.messages('video').length
  await waitFor(() => kept.messages('video').length > before + 20)
  feed.stop()
})

test('marks a destination that rejects its key, does not affect others, and retries on request', async () => {
  const [good, bad] = [await sink(), await sink()]
  bad.behaviour.refuse = { code: 'NetStream.Publish.BadName', description: 'no such key' }
  const { _id, streamKey } = await caster.stream({ good, bad })
  await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'good', 'live')
  const seen = await caster.untilDestination(_id, 'bad', 'needs_attention')
  const failed = seen.platforms.find(({ name }) => name === 'bad')
  expect(failed?.lastError).toMatchObject({ code: 'rejected' })
  bad.behaviour.refuse = undefined
  await caster.call('POST /api/streams/{id}/destinations/{destinationId}/retry', {
    path: { id: _id, destinationId: failed?._id ?? '' },
  })
  await caster.untilDestination(_id, 'bad', 'live')
  expect(good.connections).toHaveLength(1)
})

test('counts each second once, even when the media process is killed', async () => {
  const one = await sink()
  const { _id, streamKey } = await caster.stream({ one })
  const startedAt = performance.now()
  await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await waitFor(async () => (await usedMs()) > 2_000, { what: 'two seconds of usage' })
  const pid = app.node.media?.pid()
  if (pid === undefined) throw new Error('no media process')
  process.kill(pid, 'SIGKILL')
  await caster.until(_id, 'interrupted')
  const before = await usedMs()
  await waitFor(() => app.node.media?.pid() !== undefined && app.node.media.pid() !== pid)
  await caster.publish(streamKey)
  await caster.until(_id, 'live')
  await caster.untilDestination(_id, 'one', 'live')
  await waitFor(async () => (await usedMs()) > before + 1_500, { what: 'more usage' })
  await caster.stop(_id)
  const total = performance.now() - startedAt
  await waitFor(async () => (await usedMs()) < total)
  // Retried, because the last report of usage may arrive between the reads.
  await waitFor(async () => {
    const at = { path: { id: _id } }
    const sessions = await caster.call<{ liveSeconds: number }[]>('GET /api/streams/{id}/sessions', at)
    expect(sessions).toHaveLength(1)
    expect(sessions[0]?.liveSeconds).toBe(Math.floor((await usedMs()) / 1000))
    const usage = await caster.call<object>('GET /api/streams/usage', {})
    expect(usage).toMatchObject({ minutesUsed: Math.floor((await usedMs()) / 600) / 100, activeStreams: 0 })
    return true
  })
})

test('returns to the primary encoder, and to the backup when it is selected', async () => {
  const one = await sink()
  const { _id, streamKey, backupStreamKey } = await caster.stream({ one })
  const source = async () =>
    (await caster.call<{ ingest: { source: string } | null }>('GET /api/streams/{id}/relay', { path: { id: _id } }))
      .ingest?.source
  await caster.publish(backupStreamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'one', 'live')
  await caster.publish(streamKey)
  await waitFor(async () => (await source()) === 'primary')
  await caster.call('POST /api/streams/{id}/switch-input', { path: { id: _id }, body: { source: 'backup' } })
  await waitFor(async () => (await source()) === 'backup')
  const changes = async () => (await events()).flatMap(({ type, data }) => (type === 'input.updated' ? [data] : []))
  await waitFor(async () => (await changes()).length === 2)
  expect(await changes()).toEqual([
    { streamId: _id, source: 'primary', previous: 'backup', reason: 'preferred' },
    { streamId: _id, source: 'backup', previous: 'primary', reason: 'selected' },
  ])
  expect(one.connections).toHaveLength(1)
})

test('marks destinations as unknown while the media process hangs, restarts it, and continues the stream', async () => {
  const one = await sink()
  const { _id, streamKey } = await caster.stream({ one })
  await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'one', 'live')
  const relay = () =>
    caster.call<{ at: string | null; lastSeenAt: string | null; destinations: { status: string }[] }>(
      'GET /api/streams/{id}/relay',
      { path: { id: _id } },
    )
  await waitFor(async () => (await relay()).at)
  const pid = app.node.media?.pid()
  if (pid === undefined) throw new Error('no media process')
  const before = (await events()).length
  process.kill(pid, 'SIGSTOP')
  // All at once, because the process is killed two seconds after it was reported.
  const isUnknown = async () => {
    const shown = await relay()
    return shown.destinations[0]?.status === 'unknown' ? shown : undefined
  }
  const [seen, unconfirmed] = await Promise.all([
    caster.untilDestination(_id, 'one', 'unknown'),
    waitFor(isUnknown, { what: 'an unknown state' }),
    waitFor(async () => (await app.send('GET /api/ready', {})).status === 503, { what: '503' }),
    waitFor(async () => /^crier_media_up 0$/m.test(await app.node.resources.metrics.metrics()), { what: 'the metric' }),
  ])
  expect(seen).toMatchObject({ status: 'live', unconfirmedSince: expect.any(String) })
  expect(unconfirmed).toMatchObject({ at: null, ingest: null })
  // The figures are from before the process hung. A report is stamped when a node reads it, just after the reply.
  expect(Date.parse(unconfirmed.lastSeenAt ?? '')).toBeLessThanOrEqual(
    Date.parse((seen as { unconfirmedSince?: string }).unconfirmedSince ?? '') + 100,
  )
  const added = (await events()).slice(before)
  expect(added).toContainEqual(
    expect.objectContaining({ type: 'stream.updated', data: expect.objectContaining({ status: 'live' }) }),
  )
  await caster.until(_id, 'interrupted')
  await waitFor(() => app.node.media?.pid() !== undefined && app.node.media.pid() !== pid)
  await caster.publish(streamKey)
  await caster.untilDestination(_id, 'one', 'live')
  expect(await caster.get(_id)).toMatchObject({ status: 'live', unconfirmedSince: null })
})

test('ends the stream cleanly at the limit after a warning, and refuses publishers from then on', async () => {
  const one = await sink()
  const { _id, streamKey } = await caster.stream({ one })
  const other = await caster.stream({ two: await sink() })
  const { streamingMinutesPerMonth } = await app.composition.services.plans.limitsOf(ownerId)
  const allowed = streamingMinutesPerMonth * 60_000
  await app.database.run(
    `insert into stream_usage (ingest_id, month, session_id, stream_id, workspace_id, owner_id, live_ms, updated_at)
     values ($1, date_trunc('month', now() at time zone 'utc')::date, $1, $1, $2, $3, $4, now())`,
    [other._id, workspaceId, ownerId, allowed - 3_000],
  )
  const { publisher } = await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  expect(await caster.until(_id, 'ended')).toMatchObject({ endReason: 'minutes_used_up' })
  await publisher.closed
  const warnings = (await events()).filter(({ type }) => type === 'stream.warning')
  expect(warnings).toEqual([
    { type: 'stream.warning', data: { streamId: _id, code: 'minutes_running_out', minutesLeft: 1 } },
  ])
  expect(await usedMs()).toBeGreaterThanOrEqual(allowed)
  expect(await caster.refusal(other.streamKey)).not.toBe('')
})

test('keeps keys out of logs, events, metrics, plain database columns and process arguments', async () => {
  const one = await sink()
  const { _id, streamKey, backupStreamKey } = await caster.stream({ one })
  await caster.publish(streamKey)
  await caster.publish(backupStreamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'one', 'live')
  one.behaviour.refuse = { code: 'NetStream.Publish.BadName', description: 'key-for-one is not known here' }
  one.resetConnections()
  await waitFor(async () => (await caster.get(_id)).platforms[0]?.lastError?.code === 'rejected')
  const tables = await app.database.rows<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  )
  const stored = await Promise.all(
    tables.map(({ name }) => app.database.row(`select json_agg(t)::text as all_of_it from "${name}" t`)),
  )
  const seen = JSON.stringify([
    stored,
    app.logs,
    await app.node.resources.metrics.metrics(),
    await caster.call('GET /api/streams/{id}/relay', { path: { id: _id } }),
    await commandLines(),
  ])
  const secrets = [streamKey, backupStreamKey].map((key) => key.split('-')[1] ?? '')
  for (const secret of [...secrets, 'key-for-one']) expect(seen.split(secret)).toHaveLength(1)
})

test('names the stream and workspace in log lines of a publisher', async () => {
  const { _id, streamKey } = await caster.stream({})
  await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  caster.close()
  const lineOf = (msg: string) => app.logs.find((line) => line.msg === msg && line['streamId'] === _id)
  await waitFor(() => lineOf('publisher ended') !== undefined, { what: 'the log line of its end' })
  for (const msg of ['a publisher was admitted', 'publisher admitted', 'publisher ended']) {
    expect(lineOf(msg), msg).toMatchObject({ part: 'media', streamId: _id, workspaceId })
  }
})

test('exposes metrics of every ingest and destination, and the dashboard uses only existing metrics', async () => {
  const one = await sink()
  const { _id, platforms, streamKey } = await caster.stream({ one })
  await caster.publish(streamKey)
  await caster.until(_id, 'receiving')
  await caster.goLive(_id)
  await caster.untilDestination(_id, 'one', 'live')
  const labels = `stream="${_id}",destination="${platforms[0]?._id}"`
  const expected = [
    `crier_destination_state{${labels},state="live"} 1`,
    `crier_destination_dropped_total{${labels},kind="video"} 0`,
    `crier_destination_reconnects_total{${labels}} 0`,
    `crier_ingest_standby{stream="${_id}"} 0`,
    `crier_preview_viewers{stream="${_id}"} 0`,
    'crier_media_streams_limit 100',
    'crier_renderings_limit 8',
    'crier_whip_sessions{state="connected"} 0',
    'crier_broadcasts{state="paused"} 0',
    'crier_slates{state="shown"} 0',
    'crier_recording_files_total{event="failed"} 0',
  ]
  const text = await waitFor(
    async () => {
      const metrics = await (await fetch(`${app.node.adminUrl}/metrics`)).text()
      const bytes = new RegExp(`crier_ingest_bytes_total\\{stream="${_id}",source="primary"\\} [1-9]`)
      const sent = new RegExp(`crier_destination_bytes_total\\{${labels}\\} [1-9]`)
      return expected.every((line) => metrics.includes(line)) && bytes.test(metrics) && sent.test(metrics)
        ? metrics
        : ''
    },
    { what: 'the metrics of the stream' },
  )
  expect(text).toMatch(/^crier_media_load_ratio 0\.\d/m)
  const declared = [...text.matchAll(/^# TYPE (\S+) (\S+)/gm)]
  const own = declared.filter(([, name]) => name?.startsWith('crier_'))
  // https://prometheus.io/docs/practices/naming/
  const misnamed = own.filter(([, name, type]) => (type === 'counter') !== name?.endsWith('_total'))
  expect(misnamed.map(([line]) => line)).toEqual([])
  expect(own.flatMap(([, name]) => (/_ms$|_bits_/.test(name ?? '') ? [name] : []))).toEqual([])
  const dashboard = await readFile(new URL('../../docker/grafana-dashboard.json', import.meta.url), 'utf8')
  const { panels } = JSON.parse(dashboard) as {
    panels: { id: number; gridPos: { x: number; y: number }; targets?: { expr: string }[] }[]
  }
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length)
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
  const usedNames = new Set(
    [...expressions, dashboard].flatMap((part) => part.match(/\b(?:crier|nodejs|process)_\w+/g) ?? []),
  )
  expect(usedNames.size).toBeGreaterThan(20)
  const existing = new Set(declared.map(([, name]) => name))
  expect(
    [...usedNames].filter((name) => !existing.has(name) && !existing.has(name.replace(/_(?:bucket|count|sum)$/, ''))),
  ).toEqual([])
})

/** Arguments and environments of all processes that can be read. */
async function commandLines(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  const files = pids.flatMap((pid) => [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`])
  return Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => '')))
}
