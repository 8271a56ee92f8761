import { sql as raw } from 'kysely'
import { Conflict, ValidationFailed } from '../../../core/errors.ts'
import { Id, Input, named, Nullable, OneOf, States, Type, type Static } from '../../../core/schema.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { query } from '../../../db/query.ts'
import { playableAssets } from '../../media/assets/index.ts'
import { streams } from './tables.ts'

/** Default time that destinations stay connected without a publisher. */
export const HOLD_SECONDS = 60

const MODES = ['off', 'card', 'asset'] as const

const mode = OneOf(MODES, {
  description:
    '`off`: destinations stay connected without media. `card`: a plain “We’ll be right back”. `asset`: a picture from the media library',
})

/** The slate in a request. */
export const SlateInput = Input(
  {
    mode,
    assetId: Type.Optional(
      Nullable(Type.String({ ...Id, description: 'An image. If it is deleted, the card is shown' })),
    ),
  },
  {
    description:
      'What destinations see while the publisher is away. It appears within 2 s, over the same connections, until the publisher returns or `holdSeconds` have passed. It requires H.264 and AAC. Off by default',
  },
)

/** The slate as it is stored and returned. */
export const SlateView = named('Slate', Type.Object({ mode, assetId: Nullable(Id) }))
export type SlateData = Static<typeof SlateView>

export const NO_SLATE: SlateData = { mode: 'off', assetId: null }

export const SlateStatusView = named(
  'SlateStatus',
  Type.Object({
    status: States('SlateState', 'How the slate of a stream is doing', {
      waiting: 'Waits for a live publisher, because the slate is encoded like its video',
      preparing: 'It is being encoded',
      ready: 'Can be shown at once',
      shown: 'Destinations see it now because the publisher is away',
      unavailable: 'It cannot be shown for the reason in `error`. Destinations stay connected without media',
    }),
    error: Nullable(Type.String({ description: 'Why it is unavailable, as text for people' })),
  }),
)

export const HoldSeconds = Type.Integer({
  minimum: 0,
  maximum: 300,
  default: HOLD_SECONDS,
  description: 'How long the stream waits, and destinations stay connected, while the publisher is away',
})

/**
 * The slate to store. Null for none.
 * @throws AppError validation_failed; conflict while the picture is still being processed
 */
export async function chosenSlate(turn: Turn, input: Static<typeof SlateInput>): Promise<SlateData | null> {
  const assetId = input.assetId ?? null
  if (input.mode !== 'asset') {
    if (assetId !== null) throw refusal('only', 'goes with mode asset only')
    return input.mode === 'off' ? null : { mode: 'card', assetId: null }
  }
  if (assetId === null) throw refusal('required', 'is needed with mode asset')
  const row = (await playableAssets(turn.sql, turn.workspaceId, [assetId])).get(assetId)
  if (row === undefined) throw refusal('unknown', 'is no asset of this workspace')
  if (row.kind !== 'image') throw refusal('kind', `must be an image, which “${row.name}” is not`)
  if (row.state === 'failed') throw refusal('damaged', `cannot be shown: ${row.error ?? 'it is damaged'}`)
  if (row.state !== 'ready') {
    throw Conflict({ message: `“${row.name}” is still being processed: try again in a moment.` })
  }
  return { mode: 'asset', assetId }
}

function refusal(code: string, message: string) {
  return ValidationFailed({ errors: [{ path: '/body/slate/assetId', code, message }] })
}

const showing = query({ streams }, (db, $: { workspaceId: string; assetIds: readonly string[] }) =>
  db
    .selectFrom('streams')
    .select(['id', 'title', 'slate'])
    .where('workspaceId', '=', $.workspaceId)
    .where(raw<boolean>`slate is not null and (slate->>'assetId')::uuid = any(${$.assetIds})`),
)

/** Streams whose slates show some assets. The assets can be deleted: the card replaces them. */
export async function assetsInSlates(sql: Sql, workspaceId: string, assetIds: readonly string[]) {
  const rows = await showing.rows(sql, { workspaceId, assetIds })
  return rows.flatMap(({ id, slate, title }) =>
    slate?.assetId == null ? [] : [{ assetId: slate.assetId, id, title, kind: 'stream', scheduled: false }],
  )
}
