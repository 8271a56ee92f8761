import type { PlatformPostData, PostData } from './schemas.ts'
import type { PostRow, TargetRow } from './tables.ts'

/** A post without the columns that follow from others. */
export type PostFacts = Omit<PostRow, 'view' | 'status' | 'platforms' | 'accountIds' | 'assetIds' | 'searchText'>

/** The API's view of a post. It is stored with the post, so that lists need no joins. */
export function postView(post: PostFacts & Pick<PostRow, 'status'>, targets: readonly TargetRow[]): PostData {
  const { body } = post
  return {
    _id: post.id,
    createdAt: post.createdAt,
    updatedAt: post.updatedAt,
    workspaceId: post.workspaceId,
    version: post.version,
    status: post.status,
    content: body.content,
    title: body.title,
    link: body.link,
    media: [...body.media],
    thread: body.thread.map(({ content, media }) => ({ content, media: [...media] })),
    firstComment: body.firstComment,
    tags: [...body.tags],
    labels: [...post.labels],
    scheduledFor: post.scheduledAt,
    localTime: post.localTime,
    timezone: post.timeZone,
    timeAdjustment: post.adjustment,
    lateMinutes: post.lateMinutes,
    batchId: post.batchId,
    seriesId: post.seriesId,
    occurrence: post.occurrence,
    ideaId: post.ideaId,
    createdBy: post.createdBy,
    approval: post.approval,
    textOrigin: post.textOrigin,
    targets: targets.map(targetView),
  }
}

function targetView(target: TargetRow): PlatformPostData {
  return {
    _id: target.id,
    createdAt: target.createdAt,
    updatedAt: target.updatedAt,
    accountId: target.accountId,
    platform: target.platform,
    status: target.status,
    statusReason: target.problem,
    override: target.override as PlatformPostData['override'],
    scheduledFor: target.scheduledAt,
    localTime: target.localTime,
    timezone: target.timeZone,
    timeAdjustment: target.adjustment,
    attemptCount: target.attemptCount,
    nextAttemptAt: target.nextAttemptAt,
    publishedVersion: target.publishedVersion,
    publishedAt: target.publishedAt,
    remoteId: target.remoteId,
    url: target.url,
    remoteDeletedAt: target.remoteDeletedAt,
  }
}
