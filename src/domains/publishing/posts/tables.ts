import { defineEntity, p } from '@mikro-orm/postgresql'
import { references, timestamp } from '../../../db/columns.ts'
import type { Row } from '../../../db/row.ts'
import { table } from '../../../db/table.ts'
import type { ErrorKind, WhoActs } from '../../../platforms/error-kinds.ts'
import type { PublishPart, PublishState, RemotePost } from '../../../platforms/publishing.ts'
import { Workspace } from '../../workspace/workspaces/index.ts'
import type { TimeAdjustment } from '../calendar/index.ts'
import type { PostApprovalData } from './approval/schemas.ts'
import type { PostBody, PostData, TargetOverride } from './schemas.ts'
import type { LoggedCall } from '../../../platforms/http/platform-http.ts'
import type { TargetStatus } from './state.ts'
import type { PostTextOriginData } from './text-origin/schemas.ts'

const inWorkspace = (name: string) => references(Workspace, { name, onDelete: 'cascade' })
const texts = () => p.array().columnType('text[]').defaultRaw(`'{}'`)
const uuids = () => p.array().columnType('uuid[]').defaultRaw(`'{}'`)

/** A post: what is to be published, at several accounts. */
export const Post = defineEntity({
  name: 'Post',
  tableName: 'posts',
  indexes: [
    { name: 'posts_by_creator', properties: ['createdBy', 'id'] },
    {
      name: 'posts_by_workspace',
      expression: 'create index posts_by_workspace on posts (workspace_id, id) where deleted_at is null',
    },
    {
      name: 'posts_by_time',
      expression:
        'create index posts_by_time on posts (workspace_id, scheduled_at, id) where deleted_at is null and scheduled_at is not null',
    },
    {
      name: 'posts_by_status',
      expression: 'create index posts_by_status on posts (workspace_id, status, id) where deleted_at is null',
    },
    {
      name: 'posts_by_status_and_time',
      expression:
        'create index posts_by_status_and_time on posts (workspace_id, status, scheduled_at, id) where deleted_at is null',
    },
    {
      name: 'posts_in_stage',
      expression: `create index posts_in_stage on posts (workspace_id, ((approval ->> 'stage')::integer), scheduled_at, id)
        where deleted_at is null and status = 'in_review'`,
    },
    {
      name: 'posts_to_change',
      expression: `create index posts_to_change on posts (workspace_id, scheduled_at, id)
        where deleted_at is null and status = 'draft' and approval ->> 'status' = 'changes_requested'`,
    },
    {
      name: 'posts_by_term',
      expression:
        'create index posts_by_term on posts using gin (workspace_terms(workspace_id, labels), workspace_terms(workspace_id, platforms))',
    },
    { name: 'posts_by_account', expression: 'create index posts_by_account on posts using gin (account_ids)' },
    { name: 'posts_by_asset', expression: 'create index posts_by_asset on posts using gin (asset_ids)' },
    {
      name: 'posts_by_text',
      expression: 'create index posts_by_text on posts using gin (chat_terms(workspace_id, search_text))',
    },
    {
      name: 'posts_by_deletion',
      expression: 'create index posts_by_deletion on posts (deleted_at) where deleted_at is not null',
    },
    // The others are partial, so a deletion of the workspace would not use them.
    { name: 'posts_of_workspace', properties: ['workspaceId'] },
    {
      name: 'posts_deleted',
      expression: 'create index posts_deleted on posts (workspace_id, id) where deleted_at is not null',
    },
    {
      name: 'posts_by_batch',
      expression: 'create index posts_by_batch on posts (batch_id) where batch_id is not null',
    },
    {
      name: 'posts_by_series',
      expression: 'create unique index posts_by_series on posts (series_id, occurrence) where series_id is not null',
    },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('posts_workspace_id_fkey'),
    /** Follows from the targets. */
    status: p.text().$type<TargetStatus>(),
    body: p.json<PostBody>(),
    labels: texts(),
    /** When it is published: the wall clock in `timeZone`, and the instant that follows. Null without a time. */
    localTime: p.text().nullable(),
    timeZone: p.text().nullable(),
    scheduledAt: timestamp().nullable(),
    adjustment: p.json<TimeAdjustment>().nullable(),
    /** How late it can still be published, in minutes. */
    lateMinutes: p.integer(),
    platforms: texts(),
    accountIds: uuids(),
    assetIds: uuids(),
    batchId: p.uuid().nullable(),
    seriesId: p.uuid().nullable(),
    /** The idea that it was made of. */
    ideaId: p.uuid().nullable(),
    /** The nominal local time within the series. */
    occurrence: p.text().nullable(),
    /** Null if the post was never submitted for approval. */
    approval: p.json<PostApprovalData>().nullable(),
    /** Null if no model wrote a text of it. */
    textOrigin: p.json<PostTextOriginData>().nullable(),
    /** The number of the newest version of the content. */
    version: p.integer(),
    /** The post as the API shows it. Written with each change, so that lists need no joins and no parsing. */
    view: p.json<PostData>().columnType('json'),
    /** What a search looks in. */
    searchText: p.text(),
    createdBy: p.uuid(),
    deletedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

/** How many posts a workspace has with a state, without deleted ones. Triggers keep it (`baseline/post-counts.ts`). */
export const PostCount = defineEntity({
  name: 'PostCount',
  tableName: 'post_counts',
  properties: {
    workspaceId: inWorkspace('post_counts_workspace_id_fkey').primary(),
    status: p.text().$type<TargetStatus>().primary(),
    hasTime: p.boolean().primary(),
    /** The status of the approval; empty without one. */
    approval: p.text().primary(),
    /** The open stage of the approval; 0 without one. */
    stage: p.integer().primary(),
    postCount: p.integer(),
  },
})

export const posts = table(Post)
export const postCounts = table(PostCount)
export type PostRow = Row<typeof Post>

/** Why a target has its state, for people and programs. */
export interface TargetProblem {
  readonly code: string
  readonly message: string
  /** Who can change it. */
  readonly whoActs: WhoActs
  /** What to do next; null if nothing needs to be done. */
  readonly nextStep: string | null
  /** The kind of the platform's error, with its own code and message. Null for other problems. */
  readonly kind: ErrorKind | null
  readonly platformCode: string | null
  readonly platformMessage: string | null
}

/** A post at one account. */
export const PostTarget = defineEntity({
  name: 'PostTarget',
  tableName: 'post_targets',
  uniques: [{ name: 'post_targets_account_key', properties: ['postId', 'accountId'] }],
  indexes: [
    { name: 'post_targets_by_account', properties: ['accountId', 'scheduledAt'] },
    {
      name: 'post_targets_due',
      expression:
        "create index post_targets_due on post_targets (scheduled_at) where status in ('scheduled', 'publishing', 'unconfirmed')",
    },
    {
      name: 'post_targets_next',
      expression:
        "create index post_targets_next on post_targets (workspace_id, coalesce(next_attempt_at, scheduled_at)) where status in ('scheduled', 'publishing', 'unconfirmed')",
    },
    {
      name: 'post_targets_stuck',
      expression: `create index post_targets_stuck on post_targets
        ((case when status = 'scheduled' then coalesce(next_attempt_at, scheduled_at) else timestamptz '-infinity' end))
        where status in ('scheduled', 'publishing') or status = 'unconfirmed'
          and (next_attempt_at is not null or attempt_id is not null)`,
    },
    // Dashboards count targets in the index alone.
    {
      name: 'post_targets_by_workspace',
      expression:
        'create index post_targets_by_workspace on post_targets (workspace_id, scheduled_at, post_id) include (status, platform)',
    },
    { name: 'post_targets_by_platform', properties: ['platform', 'scheduledAt'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('post_targets_workspace_id_fkey'),
    postId: references(Post, { name: 'post_targets_post_id_fkey', onDelete: 'cascade' }),
    position: p.integer(),
    /** The account may be deleted later. */
    accountId: p.uuid(),
    platform: p.text(),
    override: p.json<TargetOverride>().nullable(),
    status: p.text().$type<TargetStatus>(),
    problem: p.json<TargetProblem>().nullable(),
    /** Its own time, if it has one. Otherwise that of the post. */
    ownTime: p.boolean(),
    localTime: p.text().nullable(),
    timeZone: p.text().nullable(),
    scheduledAt: timestamp().nullable(),
    adjustment: p.json<TimeAdjustment>().nullable(),
    /** Parts of its thread and its first comment, which count for the budgets of the account. */
    replies: p.integer().default(0),
    /** What the platform charges for it, in millionths of its currency. */
    costMicros: p.integer().default(0),
    /** When it is too late to start. */
    startBy: timestamp().nullable(),
    /** Raised with each new time, so that approvals see what a change has given one. */
    plan: p.integer().default(0),
    /** The attempt that may write, and until when. */
    attemptId: p.uuid().nullable(),
    leaseUntil: timestamp().nullable(),
    /** Attempts since it was last scheduled or retried by a user. */
    attemptCount: p.integer().default(0),
    nextAttemptAt: timestamp().nullable(),
    /** The version of the content that was or is being published. */
    publishedVersion: p.integer().nullable(),
    publishedAt: timestamp().nullable(),
    /** The first part, as the platform identifies it. */
    remoteId: p.text().nullable(),
    url: p.text().nullable(),
    /** When it was deleted at the platform. */
    remoteDeletedAt: timestamp().nullable(),
    createdAt: timestamp(),
    updatedAt: timestamp(),
  },
})

export const postTargets = table(PostTarget)
export type TargetRow = Row<typeof PostTarget>

/**
 * What is known of the call that publishes a segment. `calling`: it was about to be made when this was written, so that
 * its outcome is unknown unless the same attempt writes again.
 */
export type SegmentStatus = 'pending' | 'calling' | 'published' | 'failed'

/** A part of a target: the post, a part of its thread, or its first comment. */
export const PostSegment = defineEntity({
  name: 'PostSegment',
  tableName: 'post_segments',
  uniques: [{ name: 'post_segments_position_key', properties: ['targetId', 'position'] }],
  indexes: [{ name: 'post_segments_by_workspace', properties: ['workspaceId'] }],
  properties: {
    /** Also the key of the part at the platform, so it is the same for all attempts. */
    id: p.uuid().primary(),
    workspaceId: inWorkspace('post_segments_workspace_id_fkey'),
    targetId: references(PostTarget, { name: 'post_segments_target_id_fkey', onDelete: 'cascade' }),
    position: p.integer(),
    status: p.text().$type<SegmentStatus>(),
    /** The content as it is published. */
    part: p.json<PublishPart>(),
    /** Null before the first step. */
    state: p.json<PublishState>().nullable(),
    /** When the call that publishes was first made. Null if it was not, or if the platform refused it. */
    calledAt: timestamp().nullable(),
    /** The latest time at which the platform can have received that call. */
    sentBy: timestamp().nullable(),
    remote: p.json<RemotePost>().nullable(),
    publishedAt: timestamp().nullable(),
    removedAt: timestamp().nullable(),
    /** The time of the target for which the steps before the call were made, or given up. Null if they were not. */
    preparedFor: timestamp().nullable(),
    updatedAt: timestamp(),
  },
})

export const postSegments = table(PostSegment)
export type SegmentRow = Row<typeof PostSegment>

/** One attempt of a publisher to publish a target, check its outcome, or delete it. */
export const PostAttempt = defineEntity({
  name: 'PostAttempt',
  tableName: 'post_attempts',
  indexes: [
    { name: 'post_attempts_by_target', properties: ['targetId', 'id'] },
    { name: 'post_attempts_by_workspace', properties: ['workspaceId', 'id'] },
  ],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('post_attempts_workspace_id_fkey'),
    targetId: references(PostTarget, { name: 'post_attempts_target_id_fkey', onDelete: 'cascade' }),
    kind: p.text().$type<AttemptKind>(),
    number: p.integer(),
    startedAt: timestamp(),
    endedAt: timestamp().nullable(),
    /** The state of the target after it. Null while it runs, or if its node was lost. */
    outcome: p.text().$type<TargetStatus>().nullable(),
    problem: p.json<TargetProblem>().nullable(),
    calls: p.json<readonly LoggedCall[]>().defaultRaw(`'[]'`),
  },
})

export type AttemptKind = 'prepare' | 'publish' | 'check' | 'edit' | 'remove'
export const postAttempts = table(PostAttempt)
export type AttemptRow = Row<typeof PostAttempt>

/** The content of a post after a change. Never updated. */
export const PostVersion = defineEntity({
  name: 'PostVersion',
  tableName: 'post_versions',
  indexes: [{ name: 'post_versions_by_author', properties: ['authorId', 'id'] }],
  uniques: [{ name: 'post_versions_number_key', properties: ['postId', 'version'] }],
  properties: {
    id: p.uuid().primary(),
    workspaceId: inWorkspace('post_versions_workspace_id_fkey').index('post_versions_by_workspace'),
    postId: references(Post, { name: 'post_versions_post_id_fkey', onDelete: 'cascade' }),
    version: p.integer(),
    snapshot: p.json<PostSnapshot>(),
    /** Null for the service. */
    authorId: p.uuid().nullable(),
    kind: p.text().$type<VersionKind>(),
    textOrigin: p.json<PostTextOriginData>().nullable(),
    createdAt: timestamp(),
  },
})

export type VersionKind = 'created' | 'edited' | 'rescheduled' | 'restored' | 'zone_changed'

/** Everything of a post that is subject to versions. */
export interface PostSnapshot extends PostBody {
  readonly labels: readonly string[]
  readonly lateMinutes: number
  readonly localTime: string | null
  readonly timeZone: string | null
  readonly scheduledAt: string | null
  readonly targets: readonly {
    readonly accountId: string
    readonly override: TargetOverride | null
    readonly scheduledAt: string | null
  }[]
}

export const postVersions = table(PostVersion)
export type VersionRow = Row<typeof PostVersion>

/** When the scheduler of publications last ran, on any node. */
export const PublicationBeat = defineEntity({
  name: 'PublicationBeat',
  tableName: 'publication_beats',
  properties: {
    name: p.text().primary(),
    beatAt: timestamp(),
    /** Its last run, if it stands still and administrators were told. */
    stoppedAt: timestamp().nullable(),
  },
})

export const publicationBeats = table(PublicationBeat)

export const postEntities = [PublicationBeat, Post, PostCount, PostTarget, PostSegment, PostAttempt, PostVersion]
