import { defineError } from '../../../core/error.ts'

export const ChannelNameTaken = defineError({
  code: 'channel_name_taken',
  status: 409,
  message: 'A channel with this name already exists.',
  cause:
    'Channel names are unique in a workspace, including private and archived channels. They are not case-sensitive.',
  fix: 'Choose another name, or ask to be added to the channel.',
})
export const ChannelArchived = defineError({
  code: 'channel_archived',
  status: 409,
  message: 'The channel is archived and read-only.',
  cause: 'A member has archived the channel.',
  fix: 'Restore the channel first: PATCH it with `archived: false`.',
})
export const NotOfThisKind = defineError({
  code: 'wrong_channel_kind',
  status: 409,
  message: 'This kind of channel does not support the operation.',
  cause:
    'A direct conversation has fixed members and no name, and cannot be archived. A public channel has no list of members.',
  fix: 'Check `kind` and `private` of the channel. To add other people, create another conversation or a private channel.',
})
export const NotYourMessage = defineError({
  code: 'not_your_message',
  status: 403,
  message: 'Only the author of a message can do this.',
  cause: 'Only the author can edit a message. Members with the scope team:manage can delete it.',
  fix: 'Reply to the message, or ask its author.',
})
export const MessageDeleted = defineError({
  code: 'message_deleted',
  status: 409,
  message: 'The message was deleted.',
  cause: 'A deleted message keeps its place in the channel. It cannot be changed or replied to.',
  fix: 'Read the channel again.',
})
export const ChannelMentionForbidden = defineError({
  code: 'channel_mention_forbidden',
  status: 403,
  message: 'You need the scope team:manage to mention the whole channel.',
  cause: 'The text contains `<!channel>` in a channel that is not a direct conversation.',
  fix: 'Mention single users, or remove `<!channel>`.',
})
export const EmptyAttachment = defineError({
  code: 'empty_attachment',
  status: 400,
  message: 'The file is empty. Send it with its content.',
  cause: 'The file in the request has no content.',
  fix: 'Choose the file again and send it with its content.',
})
