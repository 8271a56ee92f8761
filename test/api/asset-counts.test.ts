import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import sharp from 'sharp'
import { startApp, type App } from '../support/app.ts'
import { randomOf } from '../support/random.ts'
import type { Reply } from '../support/send.ts'
import { World } from '../support/world.ts'

/** What the media library counts, and the filters and orders of its list. */

let app: App
let world: World

beforeAll(async () => {
  app = await startApp()
  world = new World(app)
  await world.user('ada', { plan: 'business' })
})
afterAll(() => app?.stop())

async function call(route: string, options: object = {}): Promise<Reply> {
  const reply = await world.as('ada').call(route, options)
  expect(reply.status, reply.text).toBeLessThan(300)
  return reply
}

async function image(shade: number): Promise<Uint8Array<ArrayBuffer>> {
  const background = { r: shade % 256, g: shade >> 8, b: 40 }
  return new Uint8Array(
    await sharp({ create: { width: 8 + (shade % 40), height: 8, channels: 3, background } })
      .png()
      .toBuffer(),
  )
}

async function upload(workspace: string, shade: number, fields: object = {}): Promise<string> {
  const body = { workspaceId: world.id(workspace), ...fields }
  const file = { name: `${shade}.png`, content: await image(shade) }
  const reply = await call('POST /api/assets/upload', { body, file })
  expect(reply.status, reply.text).toBe(201)
  return reply.body.data._id as string
}

interface Kept {
  readonly counts: unknown
  readonly tags: unknown
  readonly folders: unknown
  readonly files: unknown
}

/** Everything that the triggers have counted in a workspace. */
async function kept(workspaceId: string): Promise<Kept> {
  const read = async (text: string) => app.database.rows<object>(text, [workspaceId])
  const bytes = 'image_bytes, video_bytes, audio_bytes, document_bytes, rendition_bytes'
  return {
    counts: await read(`select asset_count, ${bytes} from asset_counts where workspace_id = $1`),
    tags: await read('select tag, asset_count from asset_tags where workspace_id = $1 order by tag'),
    folders: await read('select id, asset_count from asset_folders where workspace_id = $1 order by id'),
    files: await read('select id, asset_count, use_count from asset_files where workspace_id = $1 order by id'),
  }
}

/** Sets the size of the rendition of an asset. */
async function rendition(workspaceId: string, assetId: string, size: number): Promise<void> {
  await app.database.run(
    `insert into asset_renditions (id, workspace_id, asset_id, name, spec, state, progress, size, created_at, updated_at)
     values (gen_random_uuid(), $1, $2, 'small', '{}', 'ready', 100, $3, now(), now())
     on conflict (asset_id, spec) do update set size = excluded.size`,
    [workspaceId, assetId, size],
  )
}

const checkCounts = () => app.composition.services.workspaces.counts.run(AbortSignal.timeout(60_000))

describe('the counts of a workspace', () => {
  test('follow uploads, tags, folders, the bin and equal files', async () => {
    const workspaceId = await world.workspace('counted', 'ada')
    const random = randomOf(7)
    const pick = <T>(items: readonly T[]) => items[Math.floor(random() * items.length)] as T
    const folders: string[] = []
    for (const name of ['one', 'two', 'three']) {
      const reply = await call('POST /api/assets/folders', { body: { workspaceId, name } })
      folders.push(reply.body.data._id)
    }
    const live = new Set<string>()
    const binned = new Set<string>()
    const tags = ['red', 'green', 'blue', 'grün']
    for (let step = 0; step < 80; step += 1) {
      const action = random()
      if (action < 0.4 || live.size === 0) {
        // Few shades, so that many assets share a file.
        live.add(await upload('counted', Math.floor(random() * 6), { tags: pick(tags), folderId: pick(folders) }))
      } else if (action < 0.6) {
        const body = pick([
          { tags: tags.filter(() => random() < 0.5) },
          { folderId: null },
          { folderId: pick(folders) },
          { altText: 'x' },
        ])
        await call('PATCH /api/assets/{id}', { path: { id: pick([...live]) }, body })
      } else if (action < 0.8) {
        const ids = [...live].filter((_, index) => index === 0 || random() < 0.3)
        await call('POST /api/assets/bulk-delete', { body: { workspaceId, ids } })
        for (const id of ids) live.delete(id)
        for (const id of ids) binned.add(id)
      } else if (action < 0.9 && binned.size > 0) {
        const id = pick([...binned])
        await call('PATCH /api/assets/{id}', { path: { id }, body: { deletedAt: null } })
        binned.delete(id)
        live.add(id)
      } else if (action < 0.97) {
        await rendition(workspaceId, pick([...live, ...binned]), Math.floor(random() * 1_000))
      } else if (folders.length > 1) {
        const id = folders.pop() as string
        await call('DELETE /api/assets/folders/{id}', { path: { id } })
      }
    }
    const before = await kept(workspaceId)
    await app.database.run('select asset_recount(array[$1::uuid])', [workspaceId])
    expect(before).toEqual(await kept(workspaceId))
    const usage = await call('GET /api/assets/storage', { query: { workspaceId } })
    expect(usage.body.data.assetCount).toBe(live.size)
  })

  test('are repaired when rows were changed without them', async () => {
    const workspaceId = await world.workspace('broken', 'ada')
    const [first] = [await upload('broken', 100, { tags: 'kept' }), await upload('broken', 101)]
    const right = await kept(workspaceId)
    await checkCounts()
    expect(app.logs.filter(({ msg }) => msg?.includes('counted again'))).toEqual([])
    const damages = [
      `update asset_counts set image_bytes = image_bytes + 1 where workspace_id = $1`,
      `update asset_counts set asset_count = 9 where workspace_id = $1`,
      `update asset_tags set asset_count = 5 where workspace_id = $1`,
      `update asset_files set use_count = 0 where workspace_id = $1`,
      `delete from asset_counts where workspace_id = $1`,
    ]
    for (const [index, damage] of damages.entries()) {
      await app.database.run(damage, [workspaceId])
      await checkCounts()
      expect(await kept(workspaceId), damage).toEqual(right)
      const logged = app.logs.filter(
        ({ msg, ...line }) => msg?.includes('counted again') && line['workspaceId'] === workspaceId,
      )
      expect(logged).toHaveLength(index + 1)
    }
    expect((await call('GET /api/assets/{id}', { path: { id: first } })).status).toBe(200)
  })
})

describe('a list of assets', () => {
  /** In the order of their ids: name, tag, folder, size in pixels. */
  const FILES = [
    { shade: 205, tags: 'red', folder: true, altText: 'A Harbour at dawn' },
    { shade: 201, tags: 'red,blue', folder: false, altText: 'boats' },
    { shade: 239, tags: 'blue', folder: true, altText: '100 % cotton' },
    { shade: 203, tags: 'redder', folder: false, altText: 'under_score' },
  ]
  const ids: string[] = []
  let folderId: string

  beforeAll(async () => {
    const workspaceId = await world.workspace('listed', 'ada')
    await world.workspace('neighbour', 'ada')
    folderId = (await call('POST /api/assets/folders', { body: { workspaceId, name: 'f' } })).body.data._id
    for (const { altText, folder, shade, tags } of FILES) {
      ids.push(await upload('listed', shade, { altText, tags, ...(folder && { folderId }) }))
      await upload('neighbour', shade, { altText, tags })
    }
  })

  async function shades(query: object): Promise<number[]> {
    const found: number[] = []
    for (let cursor: string | undefined; ;) {
      const all = { workspaceId: world.id('listed'), limit: 1, ...query, ...(cursor !== undefined && { cursor }) }
      const reply = await call('GET /api/assets', { query: all })
      expect(reply.status, reply.text).toBe(200)
      found.push(...(reply.body.data as { name: string }[]).map(({ name }) => Number.parseInt(name, 10)))
      cursor = (reply.body.pagination as { nextCursor: string | null }).nextCursor ?? undefined
      if (cursor === undefined) return found
    }
  }

  test('finds parts of names, alt texts and tags of its own workspace, in any case', async () => {
    expect(await shades({ q: 'HARBOUR' })).toEqual([205])
    expect(await shades({ q: 'arb' })).toEqual([205])
    expect(await shades({ q: 'oa' })).toEqual([201])
    expect(await shades({ q: '%' })).toEqual([239])
    expect(await shades({ q: 'r_s' })).toEqual([203])
    expect(await shades({ q: '23' })).toEqual([239])
    expect(await shades({ q: 'redd' })).toEqual([203])
    expect(await shades({ q: 'nothing like it' })).toEqual([])
  })

  test('has the whole tag only', async () => {
    expect(await shades({ tag: 'red' })).toEqual([201, 205])
    expect(await shades({ tag: 'redder' })).toEqual([203])
    expect(await shades({ tag: 're' })).toEqual([])
  })

  test('is sorted by each order, one page after the other', async () => {
    expect(await shades({})).toEqual([203, 239, 201, 205])
    expect(await shades({ sort: 'oldest' })).toEqual([205, 201, 239, 203])
    expect(await shades({ sort: 'name' })).toEqual([201, 203, 205, 239])
    const sizes = new Map<number, number>()
    for (const { shade } of FILES) sizes.set(shade, (await image(shade)).length)
    const largest = [203, 239, 201, 205].toSorted((a, b) => (sizes.get(b) ?? 0) - (sizes.get(a) ?? 0))
    const found = await shades({ sort: 'largest' })
    expect(found.map((shade) => sizes.get(shade))).toEqual(largest.map((shade) => sizes.get(shade)))
    expect(new Set(found)).toEqual(new Set(largest))
  })

  test('combines filters and orders', async () => {
    expect(await shades({ type: 'image' })).toEqual([203, 239, 201, 205])
    expect(await shades({ type: 'video' })).toEqual([])
    expect(await shades({ folderId })).toEqual([239, 205])
    expect(await shades({ folderId: 'root', sort: 'oldest' })).toEqual([201, 203])
    expect(await shades({ folderId, type: 'image', sort: 'name' })).toEqual([205, 239])
    expect(await shades({ folderId, tag: 'blue', q: 'cotton' })).toEqual([239])
    expect(await shades({ tag: 'blue', sort: 'name' })).toEqual([201, 239])
    expect(await shades({ bin: true })).toEqual([])
  })
})
