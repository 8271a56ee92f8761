import { sql } from 'kysely'
import type { Clock } from '../../../../core/clock.ts'
import { uuidv7 } from '../../../../tools/id.ts'
import type { MemoryKey, Turn } from '../../../../core/turn.ts'
import { query } from '../../../../db/query.ts'
import type { ModelTexts } from '../../../publishing/writing/index.ts'
import type { PlanningScope } from '../../../publishing/posts/index.ts'
import { aiTexts, type AiJobRow } from '../tables.ts'
import { printsInSlices } from './prints.ts'

/** Whether a model ever wrote for the workspace. Undefined before the first look. */
const WROTE: MemoryKey<{ any: boolean | undefined }> = { name: 'ai.wrote', make: () => ({ any: undefined }) }

/** Texts of a workspace with one of the fingerprints, newest first. */
const withPrints = query({ aiTexts }, (db, $: { workspaceId: string; prints: readonly string[] }) =>
  db
    .selectFrom('aiTexts')
    .select(['aiJobId', 'model'])
    .where('workspaceId', '=', $.workspaceId)
    .where('prints', '&&', sql<string[]>`${$.prints}::text[]`)
    .orderBy('id', 'desc')
    .limit(sql.lit(10)),
)

/** Remembers what models wrote for a workspace, and finds it in posts. */
export class WrittenTexts implements ModelTexts {
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Adds the fingerprints of what a job wrote. */
  async add(turn: Turn, { id, model }: Pick<AiJobRow, 'id' | 'model'>, prints: readonly string[]): Promise<void> {
    if (prints.length === 0 || model === null) return
    const now = this.#clock.now()
    await aiTexts.insert(turn.sql, {
      id: uuidv7(now),
      workspaceId: turn.workspaceId,
      aiJobId: id,
      model,
      prints: [...prints],
      createdAt: new Date(now),
    })
    const memory = turn.memory(WROTE)
    turn.settled(() => {
      memory.any = true
    })
  }

  async find(scope: PlanningScope, texts: readonly string[]) {
    if (texts.length === 0) return undefined
    // Most workspaces have no such text, so creating a post asks the database for it once in the life of the actor.
    const memory = scope.memory(WROTE)
    memory.any ??= await aiTexts.exists(scope.sql, { workspaceId: scope.workspaceId })
    if (!memory.any) return undefined
    const prints = await printsInSlices(texts)
    const found = await withPrints.rows(scope.sql, { workspaceId: scope.workspaceId, prints })
    if (found.length === 0) return undefined
    return { aiJobIds: found.map((one) => one.aiJobId), models: [...new Set(found.map(({ model }) => model))] }
  }
}
