import { EXAMPLE } from '../../../core/example-ids.ts'
import { notificationType } from '../../../core/notification.ts'
import { Type } from '../../../core/schema.ts'

const post = { postId: Type.String(), post: Type.String() }
const aPost = { postId: EXAMPLE.postId, post: 'Launch day' }
const resource = ({ postId }: { readonly postId: string }) => ({ kind: 'post', id: postId })

export const postPublished = notificationType({
  name: 'post.published',
  kind: 'postPublished',
  summary: 'A post was published at all its accounts. Sent to its author',
  scope: 'posts:read',
  data: Type.Object(post),
  example: aPost,
  resource,
  group: () => '',
})

export const postFailed = notificationType({
  name: 'post.failed',
  kind: 'postFailed',
  summary: 'A post could not be published at an account, or not in time. Sent to its author',
  scope: 'posts:read',
  urgent: true,
  data: Type.Object({ ...post, reason: Type.String() }),
  example: { ...aPost, reason: 'Mastodon refused the post: the text is too long. Shorten it and publish it again.' },
  resource,
  group: ({ postId }) => postId,
})

export const postUnconfirmed = notificationType({
  name: 'post.unconfirmed',
  kind: 'postFailed',
  summary: 'It is not known whether a post was published at an account. Sent to its author',
  scope: 'posts:read',
  urgent: true,
  data: Type.Object({ ...post, reason: Type.String() }),
  example: { ...aPost, reason: 'The reply of the platform was lost. Look at the account before you publish it again.' },
  resource,
  group: ({ postId }) => postId,
})

export const schedulerStopped = notificationType({
  name: 'scheduler.stopped',
  kind: 'postFailed',
  summary: 'The scheduler of posts stands still. Sent to the administrators of the server',
  urgent: true,
  ownMail: true,
  data: Type.Object({ minutes: Type.Number() }),
  example: { minutes: 2 },
})

export const schedulerRecovered = notificationType({
  name: 'scheduler.recovered',
  kind: 'postFailed',
  summary: 'The scheduler of posts runs again. Sent to the administrators of the server',
  ownMail: true,
  data: Type.Object({ minutes: Type.Number() }),
  example: { minutes: 12 },
})

const series = { seriesId: Type.String(), post: Type.String(), reason: Type.String() }
const aSeries = { seriesId: EXAMPLE.seriesId, post: 'Monday update' }
const seriesResource = ({ seriesId }: { readonly seriesId: string }) => ({ kind: 'recurring_post', id: seriesId })

export const recurringPostFailed = notificationType({
  name: 'recurringPost.failed',
  kind: 'postFailed',
  summary: 'New posts of a recurring post cannot be published as they are. Sent to its author',
  scope: 'posts:read',
  data: Type.Object(series),
  example: { ...aSeries, reason: 'The account is disconnected. Connect it again.' },
  resource: seriesResource,
})

export const recurringPostPaused = notificationType({
  name: 'recurringPost.paused',
  kind: 'postFailed',
  summary: 'A recurring post is paused, because its author has lost access. Sent to the owners of the workspace',
  scope: 'posts:read',
  data: Type.Object({ ...series, nextStep: Type.String() }),
  example: { ...aSeries, reason: 'Its author can no longer write posts.', nextStep: 'Resume it as another member.' },
  resource: seriesResource,
})

const comment = { ...post, comment: Type.String() }
const aComment = { ...aPost, comment: 'Shall we move it to Monday?' }

export const commentMentioned = notificationType({
  name: 'comment.mentioned',
  kind: 'mention',
  summary: 'A comment on a post mentions you',
  scope: 'posts:read',
  data: Type.Object({ ...comment, hasPost: Type.String() }),
  example: { ...aComment, hasPost: 'yes' },
  resource,
})

export const commentAdded = notificationType({
  name: 'comment.added',
  kind: 'comment',
  summary:
    'A comment was added to a post. Sent to its author and to members who commented on it, unless the comment mentions them',
  scope: 'posts:read',
  data: Type.Object(comment),
  example: aComment,
  resource,
  group: ({ postId }) => postId,
})
