import { platform } from '../platform.ts'
import { TITLE } from './call.ts'
import { embedRefusals } from './embeds.ts'
import { options } from './options.ts'
import { capabilities, connect, Fields, profileOf } from './profile.ts'
import { publishing } from './publishing.ts'
import { reader } from './replies.ts'
import { rules } from './rules.ts'
import { threadRefusals } from './threads.ts'

/** Discord: a bot that publishes to one channel, or a webhook. Disconnecting leaves both as they are. */
export const discord = platform({
  key: 'discord',
  title: TITLE,
  defaults: { apiUrl: 'https://discord.com/api/v10', authUrl: 'https://discord.com' },
  credentials: {
    fields: Fields,
    help: 'Either enter the address of a webhook (channel settings, Integrations), or create a bot at https://discord.com/developers/applications, add it to your server with the permissions View Channel, Send Messages, Attach Files and Read Message History, and enter its token and the id of the channel.',
    connect,
  },
  options,
  publishing,
  analytics: {
    accountFigures: [],
    contentFigures: ['likes'],
    audience: [],
    missing: {
      account: 'Discord reports no followers of a channel.',
      listing: 'Crier lists no messages of Discord that others wrote.',
      audience: 'Crier reads no audience from this platform.',
    },
  },
  refusals: (content, limits) => [...embedRefusals(content), ...threadRefusals(content, limits)],
  rules,
  reader,
  profile: profileOf,
  grantAdvice:
    'At Discord, the webhook or the bot stays as it is. To end the access, delete the webhook in the settings of the channel (Integrations), or remove the bot from the server.',
  capabilities,
})
