import { sql as raw } from 'kysely'
import type { Clock } from '../../../core/clock.ts'
import { ValidationFailed } from '../../../core/errors.ts'
import type { Sql } from '../../../core/sql.ts'
import type { Turn } from '../../../core/turn.ts'
import { increment } from '../../../db/increment.ts'
import { query } from '../../../db/query.ts'
import { IdeaClosed, IdeaMerged } from './errors.ts'
import { findIdea, ownView, type IdeaService } from './ideas.ts'
import type { OwnIdeaData, VoteValue } from './schemas.ts'
import { takesVotes } from './states.ts'
import { ideas, ideaVotes, type IdeaRow } from './tables.ts'

/** Copies the votes for an idea to another one, except those of members who have voted there. */
const copyVotes = query({ ideaVotes }, (db, $: { fromId: string; intoId: string }) =>
  db
    .insertInto('ideaVotes')
    .columns(['ideaId', 'userId', 'workspaceId', 'value', 'createdAt', 'updatedAt'])
    .expression(
      db
        .selectFrom('ideaVotes')
        .select(raw<string>`${$.intoId}::uuid`.as('ideaId'))
        .select(['userId', 'workspaceId', 'value', 'createdAt', 'updatedAt'])
        .where('ideaId', '=', $.fromId),
    )
    .onConflict((conflict) => conflict.columns(['ideaId', 'userId']).doNothing()),
)

const votesOf = query({ ideaVotes }, (db, $: { ideaId: string }) =>
  db
    .selectFrom('ideaVotes')
    .select(({ fn }) => [
      fn.countAll<number>().filterWhere('value', '=', 1).as('up'),
      fn.countAll<number>().filterWhere('value', '=', -1).as('down'),
    ])
    .where('ideaId', '=', $.ideaId),
)

/** Votes of members, and the merging of ideas, which moves votes. */
export class IdeaVotes {
  readonly #clock: Clock
  readonly #service: IdeaService

  constructor(clock: Clock, service: IdeaService) {
    this.#clock = clock
    this.#service = service
  }

  /**
   * Sets the vote of a member. The same vote again changes nothing.
   * @throws AppError not_found, idea_closed
   */
  async vote(turn: Turn, id: string, value: VoteValue, userId: string): Promise<OwnIdeaData> {
    const idea = await findIdea(turn.sql, id)
    if (!takesVotes(idea.status)) {
      const { duplicateOfId, status } = idea
      throw IdeaClosed({ details: { status, duplicateOfId } })
    }
    const known = await ideaVotes.first(turn.sql, { ideaId: id, userId }, { columns: ['value'] })
    if ((known?.value ?? 0) === value) return ownView(turn.sql, idea, userId)
    const at = new Date(this.#clock.now()).toISOString()
    if (value === 0) await ideaVotes.delete(turn.sql, { ideaId: id, userId })
    else {
      const { workspaceId } = turn
      const row = { ideaId: id, userId, workspaceId, value, createdAt: at, updatedAt: at }
      await ideaVotes.upsert(turn.sql, row, ['ideaId', 'userId'], ['value', 'updatedAt'])
    }
    return ownView(turn.sql, await this.#recount(turn, idea), userId)
  }

  /**
   * Merges an idea into another one, which gets the votes of all members who have not voted there themselves. Ideas that
   * were merged into it follow. A merge into the same idea again changes nothing.
   * @throws AppError not_found, validation_failed, idea_merged
   * @returns the idea that stays
   */
  async merge(turn: Turn, id: string, intoId: string, userId: string): Promise<OwnIdeaData> {
    const source = await findIdea(turn.sql, id)
    const into = await ideas.first(turn.sql, { id: intoId, workspaceId: turn.workspaceId })
    if (into === undefined || id === intoId) {
      const message =
        id === intoId ? 'must not be the id of the idea that is merged' : 'must be the id of an idea of the workspace'
      throw ValidationFailed({ errors: [{ path: '/body/intoId', code: 'unknown', message }] })
    }
    if (into.status === 'duplicate') throw IdeaMerged({ details: { duplicateOfId: into.duplicateOfId } })
    if (source.status === 'duplicate' && source.duplicateOfId === intoId) return ownView(turn.sql, into, userId)
    await copyVotes.run(turn.sql, { fromId: id, intoId })
    await ideaVotes.delete(turn.sql, { ideaId: id })
    for (const earlier of await ideas.find(turn.sql, { duplicateOfId: id })) {
      await this.#service.save(turn, earlier, { duplicateOfId: intoId, version: increment() })
    }
    await this.#service.save(turn, source, {
      status: 'duplicate',
      duplicateOfId: intoId,
      decidedBy: userId,
      decidedAt: new Date(this.#clock.now()),
      version: increment(),
      ...(await countVotes(turn.sql, id)),
    })
    const row = await this.#recount(turn, into)
    turn.audit({ kind: 'idea', id, details: { intoId } })
    return ownView(turn.sql, row, userId)
  }

  async #recount(turn: Turn, idea: IdeaRow): Promise<IdeaRow> {
    return this.#service.save(turn, idea, await countVotes(turn.sql, idea.id))
  }
}

/** Counts the votes again, so that the stored totals cannot drift. */
async function countVotes(sql: Sql, ideaId: string) {
  const { down = 0, up = 0 } = (await votesOf.row(sql, { ideaId })) ?? {}
  return { score: up - down, upVotesCount: up, downVotesCount: down }
}
