import { defineError } from '../../../core/error.ts'

export const ChannelNameTaken = defineError({
  code: 'channel_name_taken',
  status: 409,
  message: 'A channel of the workspace has this name already.',
  cause: 'Names of channels are unique in a workspace, private and archived ones included, whatever their case.',
  fix: 'Choose another name, or ask to be added to the channel.',
})
export const ChannelArchived = defineError({
  code: 'channel_archived',
  status: 409,
  message: 'The channel is archived: it can be read and nothing else.',
  cause: 'Somebody has archived the channel.',
  fix: 'Take it out of the archive first: PATCH the channel with `archived: false`.',
})
export const NotOfThisKind = defineError({
  code: 'wrong_channel_kind',
  status: 409,
  message: 'This cannot be done with a channel of this kind.',
  cause: 'A direct conversation has fixed people, and no name or archive; a public channel has no list of members.',
  fix: 'See `kind` and `private` of the channel. For other people, start another conversation or a private channel.',
})
export const NotYourMessage = defineError({
  code: 'not_your_message',
  status: 403,
  message: 'Only its author may do this with a message.',
  cause: 'The text of a message is changed by its author alone; others may delete it with the scope team:manage.',
  fix: 'Answer the message, or ask its author.',
})
export const MessageDeleted = defineError({
  code: 'message_deleted',
  status: 409,
  message: 'The message was deleted.',
  cause: 'A deleted message keeps its place in the channel, but takes no change and no answer.',
  fix: 'Read the channel again.',
})
export const ChannelMentionForbidden = defineError({
  code: 'channel_mention_forbidden',
  status: 403,
  message: 'To mention the whole channel you need the scope team:manage.',
  cause: 'The text says `<!channel>` in a channel of many people.',
  fix: 'Mention people by name, or leave it out.',
})
export const EmptyAttachment = defineError({
  code: 'empty_attachment',
  status: 400,
  message: 'The file is empty.',
  cause: 'No bytes came for the file.',
  fix: 'Choose the file again and send it with its content.',
})
