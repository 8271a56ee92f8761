import { event } from '../../../core/event.ts'
import { EXAMPLE, EXAMPLE_TIME } from '../../../core/example-ids.ts'
import { Id, Type } from '../../../core/schema.ts'
import { PostView, type PostData } from './schemas.ts'

const EXAMPLE_POST: PostData = {
  _id: EXAMPLE.postId,
  createdAt: EXAMPLE_TIME,
  updatedAt: EXAMPLE_TIME,
  workspaceId: EXAMPLE.workspaceId,
  version: 1,
  status: 'scheduled',
  content: 'We are live on Friday at noon.',
  title: null,
  link: null,
  media: [],
  thread: [],
  firstComment: null,
  tags: [],
  labels: ['launch'],
  scheduledFor: '2026-11-27T11:00:00.000Z',
  localTime: '2026-11-27T12:00:00',
  timezone: 'Europe/Berlin',
  timeAdjustment: null,
  lateMinutes: 60,
  batchId: null,
  seriesId: null,
  occurrence: null,
  ideaId: null,
  createdBy: EXAMPLE.userId,
  approval: null,
  textOrigin: null,
  targets: [
    {
      _id: EXAMPLE.targetId,
      createdAt: EXAMPLE_TIME,
      updatedAt: EXAMPLE_TIME,
      accountId: EXAMPLE.accountId,
      platform: 'mastodon',
      status: 'scheduled',
      statusReason: null,
      override: null,
      scheduledFor: '2026-11-27T11:00:00.000Z',
      localTime: '2026-11-27T12:00:00',
      timezone: 'Europe/Berlin',
      timeAdjustment: null,
      attemptCount: 0,
      nextAttemptAt: null,
      publishedVersion: null,
      publishedAt: null,
      remoteId: null,
      url: null,
      remoteDeletedAt: null,
    },
  ],
}

export const postCreated = event({
  name: 'post.created',
  summary: 'A post was created',
  scope: 'posts:read',
  data: PostView,
  example: EXAMPLE_POST,
})

export const postUpdated = event({
  name: 'post.updated',
  summary: 'A post, its time or the state of one of its targets changed',
  scope: 'posts:read',
  data: PostView,
  example: EXAMPLE_POST,
})

export const postDeleted = event({
  name: 'post.deleted',
  summary: 'A post was deleted',
  scope: 'posts:read',
  data: Type.Object({ postId: Id }),
  example: { postId: EXAMPLE.postId },
})

export const postRestored = event({
  name: 'post.restored',
  summary: 'A deleted post was brought back. It is not scheduled any more',
  scope: 'posts:read',
  data: PostView,
  example: { ...EXAMPLE_POST, status: 'draft' },
})
