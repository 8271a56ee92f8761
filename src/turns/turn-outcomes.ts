import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Command, Outcome } from '../../actors/index.ts'
import { MINUTE, type Clock } from '../core/clock.ts'
import { OutcomeUnknown } from '../core/errors.ts'
import { RawBody, type Reply } from '../core/reply.ts'
import type { SealedStream } from '../core/sealed-stream.ts'
import type { Sql } from '../core/sql.ts'
import type { TurnPayload } from './payload.ts'
import { turnCodec } from './turn-codec.ts'

// The statements are written by hand: they go by the clock of the database, as the times of the rows do.
/** A command is asked about until its deadline, ten seconds at most. */
const KEEP = "interval '2 minutes'"

/** A repeated command that is older may have had a row that is deleted by now. */
const OLDEST_MS = MINUTE

interface KeptRow {
  readonly commands: readonly string[]
  readonly outcomes: Buffer
}

/** A row to be: written in the transaction of its batch. */
export interface KeptOutcomes {
  readonly ids: readonly string[]
  readonly sealed: Buffer
}

/** Below this many bytes it takes longer to make them fewer than to write them. */
const PACK_FROM = 4_096
const FAST = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }

/**
 * What became of turns, kept in their own transactions: a node that dies after its commit and before its answer leaves
 * commands that are sent again under the same ids, and must be answered, not run a second time. Only used among several
 * nodes: in one process nobody is left to ask. Outcomes are sealed, because some replies carry a secret that is shown
 * once. Turns that failed have written nothing, and may as well run again.
 */
export class TurnOutcomes {
  readonly #sql: Sql
  readonly #clock: Clock
  readonly #stream: SealedStream

  constructor(sql: Sql, clock: Clock, stream: SealedStream) {
    this.#sql = sql
    this.#clock = clock
    this.#stream = stream
  }

  /** What a batch is to keep beside its writes; undefined when none of its turns has taken effect. */
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
   * Looks up commands that are sent again; to be called under the lock of the actor's row, when every transaction that
   * may have run them has ended. What is not among the answers has not taken effect.
   */
  async find(sql: Sql, actor: string, commands: readonly Command[]): Promise<ReadonlyMap<string, Outcome>> {
    const found = new Map<string, Outcome>()
    const asked = commands.filter(({ repeated }) => repeated).map(({ operationId }) => operationId)
    if (asked.length === 0) return found
    const rows = await sql.rows<KeptRow>(
      `select commands::text[], outcomes from turn_outcomes
       where actor = $1 and at > now() - ${KEEP} and commands && $2::uuid[]`,
      [actor, asked],
    )
    for (const row of rows) {
      const values = unpack(this.#stream.open(row.outcomes))
      row.commands.forEach((id, index) => {
        if (asked.includes(id)) found.set(id, { ok: true, value: ofJson(values[index]) })
      })
    }
    const oldest = this.#clock.now() - OLDEST_MS
    for (const id of asked)
      if (!found.has(id) && madeAt(id) < oldest) found.set(id, { ok: false, error: OutcomeUnknown({ retryAfter: 2 }) })
    return found
  }

  /** Deletes what nobody can ask about any more. */
  async sweep(): Promise<number> {
    return this.#sql.run(`delete from turn_outcomes where at < now() - ${KEEP}`)
  }
}

/** Replies are JSON in the end, and most turns of the house say nothing. What else a turn may give back is text of the codec. */
function asJson(payload: TurnPayload, value: unknown): unknown {
  const isReply = payload.kind === 'operation' && !((value as Partial<Reply> | undefined)?.body instanceof RawBody)
  return isReply || value === null ? value : turnCodec.encode('value', value)
}

function ofJson(value: unknown): unknown {
  return typeof value === 'string' ? turnCodec.decode('value', value) : value
}

/** Replies of one batch are much alike: a tenth of the bytes to seal, to log and to store. */
function pack(values: readonly unknown[]): Buffer {
  const json = Buffer.from(JSON.stringify(values))
  return json.length < PACK_FROM ? json : zstdCompressSync(json, FAST)
}

function unpack(packed: Buffer): unknown[] {
  const json = packed.toString('latin1', 0, 1) === '[' ? packed : zstdDecompressSync(packed)
  return JSON.parse(json.toString()) as unknown[]
}

/** Milliseconds in a UUID of version 7. */
function madeAt(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}
