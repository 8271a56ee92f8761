import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { sql } from 'kysely'
import type { Command, Outcome } from '../../actors/index.ts'
import { MINUTE, type Clock } from '../core/clock.ts'
import { OutcomeUnknown } from '../core/errors.ts'
import { firstIdOf } from '../tools/id.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { SealedStream } from '../tools/sealed-stream.ts'
import type { Sql } from '../core/sql.ts'
import { query } from '../db/query.ts'
import type { TurnPayload } from './payload.ts'
import { turnOutcomes } from './tables.ts'
import { turnCodec } from './turn-codec.ts'

/** How long outcomes are kept. A command may be sent again until its deadline, which is ten seconds at most. */
const KEEP = sql.raw("interval '2 minutes'")

/** The outcome of an older command may be deleted already. */
const OLDEST_MS = MINUTE

// Both statements use the clock of the database, which has set the times of the rows.
const keptOutcomes = query({ turnOutcomes }, (db, $: { actor: string; ids: readonly string[] }) =>
  db
    .selectFrom('turnOutcomes')
    .select([sql<string[]>`commands::text[]`.as('commands'), sql<Buffer>`outcomes`.as('outcomes')])
    .where('actor', '=', $.actor)
    .where('at', '>', sql<string>`now() - ${KEEP}`)
    .where(sql<boolean>`commands && ${$.ids}::uuid[]`),
)

const deleteOld = query({ turnOutcomes }, (db) =>
  db.deleteFrom('turnOutcomes').where('at', '<', sql<string>`now() - ${KEEP}`),
)

/** The outcomes of a batch, to be inserted in its transaction. */
export interface KeptOutcomes {
  readonly ids: readonly string[]
  readonly sealed: Buffer
}

/** Compressing fewer bytes takes longer than writing them. */
const PACK_FROM = 4_096
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/**
 * The outcomes of turns, stored in the transaction of their batch. If a node dies after a commit and before its
 * replies, the commands are sent again with the same ids, and get the stored outcomes instead of running twice. Only
 * used with several nodes: after a single process has died, no caller is left to send the command again. Outcomes are
 * encrypted, because some replies contain a secret that is shown once. Failed turns have written nothing and can run
 * again.
 */
export class TurnOutcomes {
  readonly #database: Sql
  readonly #clock: Clock
  readonly #stream: SealedStream

  constructor(database: Sql, clock: Clock, stream: SealedStream) {
    this.#database = database
    this.#clock = clock
    this.#stream = stream
  }

  /** What to store for a batch. Undefined when none of its turns has succeeded. */
  kept(commands: readonly Command[], outcomes: readonly Outcome[]): KeptOutcomes | undefined {
    const ids: string[] = []
    const values: unknown[] = []
    outcomes.forEach((outcome, index) => {
      const command = commands[index]
      if (command === undefined || !outcome.ok) return
      ids.push(command.operationId)
      values.push(asJson(command.payload as TurnPayload, outcome.value))
    })
    if (ids.length === 0) return undefined
    return { ids, sealed: this.#stream.seal(pack(values)) }
  }

  /**
   * Looks up commands that were sent again. Call it while the actor's row is locked: every transaction that may have
   * run them has ended by then. A command without an outcome in the result had no effect.
   */
  async find(inBatch: Sql, actor: string, commands: readonly Command[]): Promise<ReadonlyMap<string, Outcome>> {
    const found = new Map<string, Outcome>()
    const asked = commands.filter(({ repeated }) => repeated).map(({ operationId }) => operationId)
    if (asked.length === 0) return found
    const rows = await keptOutcomes.rows(inBatch, { actor, ids: asked })
    for (const row of rows) {
      const values = unpack(this.#stream.open(row.outcomes))
      row.commands.forEach((id, index) => {
        if (asked.includes(id)) found.set(id, { ok: true, value: ofJson(values[index]) })
      })
    }
    const oldest = firstIdOf(this.#clock.now() - OLDEST_MS)
    for (const id of asked)
      if (!found.has(id) && id < oldest) found.set(id, { ok: false, error: OutcomeUnknown({ retryAfter: 2 }) })
    return found
  }

  /** Deletes outcomes that are too old to be requested. @returns how many rows */
  async sweep(): Promise<number> {
    return deleteOld.run(this.#database, {})
  }
}

/** Replies are JSON anyway, and most system turns return nothing. Other values are encoded as text by the codec. */
function asJson(payload: TurnPayload, value: unknown): unknown {
  const isReply = payload.kind === 'operation' && !((value as Partial<Reply> | undefined)?.body instanceof RawBody)
  return isReply || value === null ? value : turnCodec.encode('value', value)
}

function ofJson(value: unknown): unknown {
  return typeof value === 'string' ? turnCodec.decode('value', value) : value
}

/** Replies of one batch are similar, so compression leaves about a tenth of the bytes to encrypt and store. */
function pack(values: readonly unknown[]): Buffer {
  const json = Buffer.from(JSON.stringify(values))
  return json.length < PACK_FROM ? json : zstdCompressSync(json, FAST)
}

function unpack(packed: Buffer): unknown[] {
  const json = packed.toString('latin1', 0, 1) === '[' ? packed : zstdDecompressSync(packed)
  return JSON.parse(json.toString()) as unknown[]
}
