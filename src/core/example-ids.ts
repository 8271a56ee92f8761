/** Ids for the examples of operations. Each resource has the same id in all examples. */
export const EXAMPLE = {
  workspaceId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e6f',
  userId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e70',
  invitationId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e71',
  roleId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e72',
  groupId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e73',
  channelId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e81',
  messageId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e82',
  attachmentId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e83',
  streamId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e91',
  destinationId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e92',
  rtmpDestinationId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e93',
  broadcastId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e94',
  sessionId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e95',
  assetId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ea1',
  renditionId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ea2',
  folderId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ea3',
  uploadId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ea4',
  jobId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4eb1',
  accountId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ec1',
  batchId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ed4',
  seriesId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ed5',
  postId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ed1',
  targetId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ed2',
  postCommentId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ed3',
  couponId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ee1',
  invoiceId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ef8',
  transactionId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4ef9',
} as const

/** The timestamp of all examples. */
export const EXAMPLE_TIME = '2026-11-21T18:30:00.000Z'
