import type { Clock } from '../../../../core/clock.ts'
import { AppError } from '../../../../core/error.ts'
import { ValidationFailed } from '../../../../core/errors.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import { Slices } from '../../../../core/slices.ts'
import type { Turn } from '../../../../core/turn.ts'
import type { PostFile } from '../../../media/assets/index.ts'
import { namedAccounts } from '../../../social/accounts/index.ts'
import { publishingSettingsOf, type PublishingSettingsData } from '../../../identity/users/index.ts'
import { timeZoneOf } from '../../../workspace/workspaces/index.ts'
import type { PostAuthor, PostOrigin } from '../author.ts'
import type { AuthorSettings } from '../author-settings.ts'
import type { PostChecks } from '../checks.ts'
import type { Resources } from '../../planning/index.ts'
import {
  allRefs,
  bodyOf,
  overrideOf,
  BulkRefused,
  reservationsOf,
  type PostData,
  type PostWarningData,
  type LoadedPost,
} from '../../posts/index.ts'
import type { DateOrder } from '../csv/times.ts'
import { assetsOf, NO_MEDIA, unfetched, type FetchedMedia } from '../media-urls/fetched-media.ts'
import { urlsIn, withAssets } from '../media-urls/urls-in.ts'
import type { PostQuota } from '../quota.ts'
import { textsOf, warningsOfMany } from '../repeated-texts.ts'
import type { SeriesActions } from '../series/actions.ts'
import type { BulkPostInput, BulkResultData, BulkRowData } from './schemas.ts'
import { readPosts, readSheet, type RowFault, type WantedRow } from './sheet-reader.ts'
import { postBatches } from './tables.ts'

/** A bulk request, from JSON or from a file. */
export interface BulkRequest {
  /** Unchecked. */
  readonly posts?: readonly unknown[]
  readonly csv?: string
  /** The files that its posts name by their addresses. */
  readonly fetched?: FetchedMedia
  /** The bytes of a file, in base64. */
  readonly file?: string
  readonly dateOrder?: DateOrder
  readonly dryRun?: boolean
  readonly partial?: boolean
}

interface Verdict {
  readonly wanted: WantedRow
  /** The post, before it is stored. A recurring post is stored with its series already. */
  readonly prepared: LoadedPost | undefined
  readonly recurring?: PostData
  readonly errors: readonly RowFault[]
  readonly warnings?: readonly PostWarningData[]
}

interface Needs {
  readonly clock: Clock
  readonly author: PostAuthor
  readonly checks: PostChecks
  readonly quota: PostQuota
  readonly settings: AuthorSettings
  readonly series: Pick<SeriesActions, 'create'>
}

/** What all rows of a request share. */
interface Origin extends PostOrigin {
  readonly known: Resources
  /** The settings of the author. */
  readonly settings: ReadonlyMap<string, PublishingSettingsData>
}

/** Creates many posts in one turn: all or none, unless the request is partial. */
export class PostImporter {
  readonly #clock: Clock
  readonly #author: PostAuthor
  readonly #checks: PostChecks
  readonly #quota: PostQuota
  readonly #settings: AuthorSettings
  readonly #series: Needs['series']

  constructor({ author, checks, clock, quota, series, settings }: Needs) {
    this.#series = series
    this.#settings = settings
    this.#clock = clock
    this.#author = author
    this.#checks = checks
    this.#quota = quota
  }

  /** @throws AppError validation_failed, bulk_refused with the verdict of each row */
  async run(turn: Turn, request: BulkRequest, userId: string): Promise<BulkResultData> {
    return turn.attempt(() => this.#run(turn, request, userId), { undo: request.dryRun === true })
  }

  async #run(turn: Turn, request: BulkRequest, userId: string): Promise<BulkResultData> {
    const slices = new Slices(undefined, turn.sql)
    const { rows, warnings } = await this.#read(turn, request, slices)
    const batchId = uuidv7(this.#clock.now())
    const fetched = request.fetched ?? NO_MEDIA
    const judged = await this.#judge(turn, rows, { userId, batchId, fetched }, slices)
    // An all-or-nothing request is refused as a whole, with the numbers of the plan.
    const isJudgedByRow = request.dryRun === true || request.partial === true
    const planned = isJudgedByRow ? await this.#withinPlan(turn, judged) : judged
    const refusedCount = planned.filter(({ errors }) => errors.length > 0).length
    const createdCount = rows.length - refusedCount
    const isRefused = createdCount === 0 || (refusedCount > 0 && request.partial !== true)
    const isStored = request.dryRun !== true && !isRefused
    const verdicts = await this.#warned(turn, planned, { isStored, slices })
    const shown = verdicts.map((verdict) => rowView(verdict, isStored ? 'created' : 'valid'))
    const notes = [...warnings]
    if (request.dryRun === true) {
      return { batchId: null, createdCount: 0, refusedCount, notes, rows: shown }
    }
    if (isRefused) {
      const message = `${refusedCount} of ${rows.length} rows are refused, so no post was created.`
      throw BulkRefused({ message, details: { refusedCount, notes, rows: shown } })
    }
    const at = new Date(this.#clock.now()).toISOString()
    turn.insert(postBatches, {
      id: batchId,
      workspaceId: turn.workspaceId,
      rowCount: rows.length,
      createdCount,
      createdBy: userId,
      undoneAt: null,
      createdAt: at,
      updatedAt: at,
    })
    for (const { prepared, wanted } of verdicts) {
      if (prepared !== undefined) await this.#author.add(turn, prepared, wanted.input?.publishNow)
      await slices.pause()
    }
    turn.audit({ kind: 'post_batch', id: batchId, details: { createdCount, refusedCount } })
    return { batchId, createdCount, refusedCount, notes, rows: shown }
  }

  /** The verdicts, with warnings of texts that an account gets twice. Asks the database once. */
  async #warned(
    turn: Turn,
    verdicts: readonly Verdict[],
    { isStored, slices }: { readonly isStored: boolean; readonly slices: Slices },
  ): Promise<readonly Verdict[]> {
    const many = verdicts.map(({ prepared, wanted: { row } }) => ({
      row,
      postId: isStored ? (prepared?.post.id ?? null) : null,
      texts: prepared === undefined ? [] : textsOf(prepared.post.body, prepared.targets),
    }))
    const warnings = await warningsOfMany(turn.sql, many, slices)
    return verdicts.map((verdict, index) => ({ ...verdict, warnings: warnings[index] ?? [] }))
  }

  /** The verdicts. Rows for which the plan has no room are refused. */
  async #withinPlan(turn: Turn, verdicts: readonly Verdict[]): Promise<readonly Verdict[]> {
    const wanted = verdicts.filter(({ prepared }) => prepared !== undefined).length
    const room = wanted === 0 ? undefined : await this.#quota.room(turn, wanted)
    if (room === undefined) return verdicts
    let { left } = room
    return verdicts.map((verdict) => {
      if (verdict.prepared === undefined) return verdict
      left -= 1
      if (left >= 0) return verdict
      reservationsOf(turn).change(verdict.prepared.targets, [])
      return { ...verdict, prepared: undefined, errors: faultsOf(room.error, verdict.wanted) }
    })
  }

  async #read(turn: Turn, { csv, dateOrder, file, posts }: BulkRequest, slices: Slices) {
    const [first, second] = [posts && 'posts', csv !== undefined && 'csv', file !== undefined && 'file'].filter(Boolean)
    if (first === undefined || second !== undefined) {
      const message = first === undefined ? 'is required, or `csv`' : `cannot be combined with ${first}`
      throw ValidationFailed({ errors: [{ path: `/body/${String(second ?? 'posts')}`, code: 'required', message }] })
    }
    if (posts !== undefined) return readPosts(posts, slices)
    const bytes = file === undefined ? Buffer.from(csv ?? '') : Buffer.from(file, 'base64')
    const accounts = await namedAccounts(turn.sql, turn.workspaceId)
    return readSheet(bytes, { accounts, path: `/body/${String(first)}`, ...(dateOrder && { dateOrder }) }, slices)
  }

  async #judge(
    turn: Turn,
    rows: readonly WantedRow[],
    origin: { userId: string; batchId: string; fetched: FetchedMedia },
    slices: Slices,
  ): Promise<readonly Verdict[]> {
    const wantedRows = rows.map((row) => withFiles(row, origin.fetched))
    const inputs = wantedRows.flatMap(({ input }) => input ?? [])
    const loaded = await this.#checks.load(turn.sql, turn.workspaceId, namesIn(inputs))
    const known = { ...loaded, files: new Map([...loaded.files, ...filesOf(origin.fetched)]) }
    const workspaceZone = await timeZoneOf(turn.sql, turn.workspaceId)
    const settings = await publishingSettingsOf(turn.sql, [origin.userId])
    const verdicts: Verdict[] = []
    for (const wanted of wantedRows) {
      const { errors, input } = wanted
      verdicts.push(
        input === undefined
          ? { wanted, prepared: undefined, errors }
          : await this.#prepare(turn, wanted, input, { ...origin, known, settings, workspaceZone }),
      )
      await slices.pause()
    }
    return verdicts
  }

  async #prepare(turn: Turn, wanted: WantedRow, input: BulkPostInput, origin: Origin): Promise<Verdict> {
    try {
      const { known, settings, userId } = origin
      const given = { ...input, workspaceId: turn.workspaceId }
      const { recurrence } = input
      if (recurrence !== undefined) {
        const create = () => this.#series.create(turn, given, recurrence, userId, origin.batchId)
        return { wanted, prepared: undefined, recurring: await turn.attempt(create), errors: [] }
      }
      const body = await this.#settings.apply(given, userId, {
        sql: turn.sql,
        known: { settings, accounts: known.accounts },
      })
      const prepared = await this.#author.build(turn, body, origin)
      // The next rows must leave it room.
      reservationsOf(turn).hold(prepared.targets)
      return { wanted, prepared, errors: [] }
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      return { wanted, prepared: undefined, errors: faultsOf(error, wanted) }
    }
  }
}

/** The accounts and files of all rows, to load them at once. */
function namesIn(inputs: readonly BulkPostInput[]) {
  const overrides = (input: BulkPostInput) => (input.targets ?? []).map(({ override }) => overrideOf(override))
  return {
    ids: inputs.flatMap(({ targets = [] }) => targets.map(({ accountId }) => accountId)),
    refs: inputs.flatMap((input) => allRefs(bodyOf(input), overrides(input))),
  }
}

function faultsOf(error: AppError, { columnOf }: WantedRow): readonly RowFault[] {
  const { errors = [] } = error
  if (errors.length === 0) return [{ code: error.code, message: error.message, path: null, column: null }]
  return errors.map(({ code, message, path }) => {
    const at = path.replace(/^\/body/, '')
    return { code, message, path: at, column: columnOf(at) }
  })
}

function rowView(
  { errors, prepared, recurring, wanted, warnings = [] }: Verdict,
  good: 'created' | 'valid',
): BulkRowData {
  const { id = null, localTime = null, scheduledAt = null, timeZone = null } = prepared?.post ?? {}
  const times = { scheduledFor: scheduledAt, localTime, timezone: timeZone }
  return {
    row: wanted.row,
    status: errors.length > 0 ? 'refused' : good,
    postId: good === 'created' ? (recurring?._id ?? id) : null,
    ...(recurring === undefined ? times : timesIn(recurring)),
    errors: [...errors],
    warnings: [...warnings],
  }
}

function timesIn({ localTime, scheduledFor, timezone }: PostData) {
  return { scheduledFor, localTime, timezone }
}

/** A row with the assets of its addresses, or with the reasons why it has none. */
function withFiles(row: WantedRow, fetched: FetchedMedia): WantedRow {
  const urls = row.input === undefined ? [] : urlsIn(row.input)
  if (row.input === undefined || urls.length === 0) return row
  const errors = unfetched(urls, fetched, '/media').map((error) => ({ ...error, column: row.columnOf('/media') }))
  return errors.length > 0
    ? { ...row, input: undefined, errors }
    : { ...row, input: withAssets(row.input, assetsOf(fetched)) }
}

/** The files of a dry run, which are not in the library. */
function* filesOf(fetched: FetchedMedia): Generator<[string, PostFile]> {
  for (const one of Object.values(fetched)) if ('assetId' in one && one.file) yield [one.assetId, one.file]
}
