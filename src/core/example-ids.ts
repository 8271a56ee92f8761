/** Ids for the examples of operations: the same thing has the same id in all of them. */
export const EXAMPLE = {
  workspaceId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e6f',
  userId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e70',
  invitationId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e71',
  roleId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e72',
  groupId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e73',
  channelId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e81',
  messageId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e82',
  attachmentId: '01939e5c-7a10-7c3e-8f21-3c5a9b2d4e83',
} as const
