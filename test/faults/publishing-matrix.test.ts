import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PLATFORMS } from '../../src/platforms/registry.ts'
import { PublicationStage } from '../support/publication.ts'
import { addFault, sandboxPosts, setSoftware } from '../support/sandbox-faults.ts'
import { DAY } from '../../src/core/clock.ts'
import { cellsOf, cellsOfVariant, Column, type Variant } from './publishing-cells.ts'

/**
 * Each platform × each step of a publication × each fault: the platform has exactly one post, the state is true, and
 * nothing is silent. The list of platforms is that of the registry. Real peers: `publishing-real-peers.test.ts`; processes
 * that are really killed: `publishing-kill.test.ts`. `npm run faults:publishing` checks all cells, and `npm test` half.
 */

const SHARE = 2

let stage: PublicationStage
beforeAll(async () => {
  stage = await PublicationStage.start()
})
afterAll(() => stage.stop())

const publishers = PLATFORMS.filter(({ publishing }) => publishing !== undefined)
const columns = new Map(publishers.map(({ key }) => [key, new Column(key, () => peerOf(key))]))

function peerOf(platform: string) {
  return {
    stage,
    addFault: (fault: Parameters<typeof addFault>[2]) => addFault(stage.app, platform, fault),
    texts: async () => (await sandboxPosts(stage.app, platform)).map(({ text }) => text),
  }
}

test('every platform of the registry publishes', () => {
  expect(publishers).toHaveLength(PLATFORMS.length)
})

const rows = publishers.map((platform, index) => ({ ...platform, cells: cellsOf(index, SHARE) }))

describe.each(rows)('$title', ({ cells, key }) => {
  test.each(cells)('$fault $name', (cell) => columns.get(key)?.check(cell))
})

// Servers whose protocol has a lever against duplicates that they ignore. The other platforms' levers are services of one
// company, or what the protocol itself does: at Bluesky, a second record with the same key replaces the first.
describe('Mastodon API of a server that ignores Idempotency-Key', () => {
  const keyless = new Column('mastodon', () => peerOf('mastodon'), 'keyless')
  beforeAll(() => setSoftware(stage.app, 'pixelfed'))
  afterAll(() => setSoftware(stage.app, 'mastodon'))
  test.each(cellsOf(publishers.length, SHARE))('$fault $name', (cell) => keyless.check(cell))
})

const ANSWERS = ['Cats', 'Dogs']
const asked = { options: ANSWERS, durationMinutes: 60 }
const variants: readonly Variant[] = [
  { platform: 'mastodon', name: 'polls', options: { poll: asked } },
  { platform: 'x', name: 'polls', options: { poll: asked } },
  { platform: 'telegram', name: 'polls', options: { poll: asked } },
  { platform: 'linkedin', name: 'polls', options: { poll: { question: 'Which?', options: ANSWERS } } },
  { platform: 'discord', name: 'polls', options: { poll: { question: 'Which?', ...asked } } },
  {
    platform: 'discord',
    name: 'threads',
    options: async ({ choice }) => ({ thread_id: await choice('thread_id') }),
  },
  { platform: 'bluesky', name: 'quotes', options: async ({ post }) => ({ quote: await post() }) },
  {
    platform: 'youtube',
    name: 'playlists',
    media: 'video',
    options: async ({ choice }) => ({ playlistId: await choice('playlistId') }),
  },
  {
    platform: 'tiktok',
    name: 'drafts of videos',
    media: 'video',
    options: { mode: 'draft' },
    isTextless: true,
    // A creator has at most five drafts of a day.
    pauseMs: DAY,
    note: 'in_inbox',
  },
  {
    platform: 'tiktok',
    name: 'drafts of photos',
    media: 'image',
    options: { mode: 'draft' },
    pauseMs: DAY,
    note: 'in_inbox',
  },
  {
    platform: 'facebook',
    name: 'stories of photos',
    media: 'image',
    options: { placement: 'story' },
    isTextless: true,
  },
  {
    platform: 'facebook',
    name: 'stories of videos',
    media: 'video',
    options: { placement: 'story' },
    isTextless: true,
  },
]

describe.each(variants)('$platform, $name', (variant) => {
  const label = variant.name.replaceAll(' ', '')
  const column = new Column(variant.platform, () => peerOf(variant.platform), label, variant)
  const cells = cellsOfVariant(variant, publishers.length + 1 + variants.indexOf(variant), SHARE)
  test.each(cells)('$fault $name', (cell) => column.check(cell))
})

const renewing = publishers.filter(({ oauth }) => oauth?.refresh !== undefined && oauth.refreshStyle !== 'exchange')

test.each(renewing)('$title publishes no part again when its token ends between two parts', ({ key }) =>
  columns.get(key)?.checkExpiry(),
)
