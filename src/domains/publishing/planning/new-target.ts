import { uuidv7 } from '../../../tools/id.ts'
import type { PostFile } from '../../media/assets/index.ts'
import type { PostingAccount } from '../../social/accounts/index.ts'
import { type TargetOverride, loadOf, type TargetRow, type PostFacts } from '../posts/index.ts'
import { timesOf } from './planning.ts'
import type { PlannedTime } from './time.ts'

/** An account of a post, and what it publishes differently. */
export interface Wanted {
  readonly accountId: string
  readonly override: TargetOverride | null
}

/** The accounts and files of a post, as they are now. */
export interface Resources {
  readonly accounts: ReadonlyMap<string, PostingAccount>
  readonly files: ReadonlyMap<string, PostFile>
}

/** A target that a request names, with its own time. */
export interface WantedTarget extends Wanted {
  readonly time: PlannedTime | null
  readonly ownTime: boolean
}

interface NewTarget {
  readonly target: WantedTarget
  readonly position: number
  readonly resources: Resources
  readonly at: string
}

/** The row of a new target. It is a draft. */
export function newTarget(
  { body, id: postId, workspaceId }: Pick<PostFacts, 'body' | 'id' | 'workspaceId'>,
  { at, position, resources, target }: NewTarget,
): TargetRow {
  const platform = resources.accounts.get(target.accountId)?.platform ?? ''
  const { costMicros, replies } = loadOf(body, target.override, platform)
  return {
    id: uuidv7(Date.parse(at)),
    workspaceId,
    postId,
    position,
    accountId: target.accountId,
    platform,
    override: target.override,
    status: 'draft',
    problem: null,
    ownTime: target.ownTime,
    ...timesOf(target.time),
    startBy: null,
    plan: 0,
    attemptId: null,
    leaseUntil: null,
    attemptCount: 0,
    nextAttemptAt: null,
    replies,
    costMicros,
    publishedVersion: null,
    publishedAt: null,
    remoteId: null,
    url: null,
    remoteDeletedAt: null,
    createdAt: at,
    updatedAt: at,
  }
}
