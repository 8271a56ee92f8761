import { ValidationFailed } from '../../../../core/errors.ts'
import type { Static } from '../../../../core/schema.ts'
import type { Turn } from '../../../../core/turn.ts'
import type { PostActions } from '../actions.ts'
import type { LoadedPost } from '../../posts/index.ts'
import type { BulkChanges } from './changes.ts'
import type { BulkChangeReplyData, PostsToLabel, PostsToRescheduleInput } from './schemas.ts'

interface Options {
  readonly dryRun?: boolean
}

/** The bulk changes of the domain of posts. */
export class PostBulkActions {
  readonly #actions: PostActions
  readonly #changes: BulkChanges

  constructor(actions: PostActions, changes: BulkChanges) {
    this.#actions = actions
    this.#changes = changes
  }

  /** @throws AppError validation_failed */
  async reschedule(
    turn: Turn,
    ids: readonly string[],
    { dryRun = false, onFull, queue, scheduledFor, shift, timezone }: PostsToRescheduleInput,
    userId: string,
  ): Promise<BulkChangeReplyData> {
    const given = Object.entries({ scheduledFor, shift, queue }).filter(([, value]) => value !== undefined)
    const [first, second] = given.map(([name]) => name)
    if (first === undefined || second !== undefined) {
      const message = first === undefined ? 'is required, or `shift`, or `queue`' : `cannot be combined with ${first}`
      throw ValidationFailed({ errors: [{ path: `/body/${second ?? 'scheduledFor'}`, code: 'required', message }] })
    }
    const request = { action: 'reschedule', ids, userId, dryRun } as const
    if (shift === undefined) {
      const input = { onFull, queue, scheduledFor, timezone }
      const options = { userId, ifMatch: undefined }
      return this.#changes.run(
        turn,
        { ...request, ...(queue !== undefined && { order: soonestFirst }) },
        async (id) => {
          const { post, waits } = await this.#actions.reschedule(turn, id, defined(input), options)
          return { post, note: waits }
        },
      )
    }
    // So that a post does not meet one that is yet to move.
    const isLater = (shift.days ?? 0) * 1_440 + (shift.minutes ?? 0) > 0
    const order = (one: LoadedPost, other: LoadedPost) => (isLater ? -1 : 1) * soonestFirst(one, other)
    return this.#changes.run(turn, { ...request, order }, async (id) => {
      const { post, waits } = await this.#actions.shift(turn, id, shift, userId)
      return { post, note: waits }
    })
  }

  cancel(
    turn: Turn,
    ids: readonly string[],
    { dryRun = false }: Options,
    userId: string,
  ): Promise<BulkChangeReplyData> {
    const cancelled = async (id: string) => ({ post: await this.#actions.cancel(turn, id) })
    return this.#changes.run(turn, { action: 'cancel', ids, userId, dryRun }, cancelled)
  }

  /** @throws AppError validation_failed */
  async label(
    turn: Turn,
    ids: readonly string[],
    { addLabels: add = [], dryRun = false, removeLabels: remove = [] }: Static<typeof PostsToLabel>,
    userId: string,
  ): Promise<BulkChangeReplyData> {
    const both = add.find((label) => remove.includes(label))
    if (both !== undefined) {
      const message = `has “${both}”, which is also in removeLabels`
      throw ValidationFailed({ errors: [{ path: '/body/addLabels', code: 'conflict', message }] })
    }
    if (add.length + remove.length === 0) {
      throw ValidationFailed({
        errors: [{ path: '/body/addLabels', code: 'required', message: 'is required, or `removeLabels`' }],
      })
    }
    return this.#changes.run(turn, { action: 'label', ids, userId, dryRun }, async (id) => {
      const post = await this.#actions.label(turn, id, { add, remove }, userId)
      return post === undefined ? undefined : { post }
    })
  }
}

/** Posts without a time come last. */
function soonestFirst({ post: one }: Pick<LoadedPost, 'post'>, { post: other }: Pick<LoadedPost, 'post'>): number {
  return Date.parse(one.scheduledAt ?? NEVER) - Date.parse(other.scheduledAt ?? NEVER)
}

const NEVER = '9999-12-31T00:00:00Z'

function defined<T extends object>(input: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as never
}
