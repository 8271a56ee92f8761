import { platform } from '../platform.ts'
import { TITLE } from './call.ts'
import { options } from './options.ts'
import { partsOf, plainText } from './markup.ts'
import { capabilities, connect, Fields, profile } from './profile.ts'
import { publishing } from './publishing.ts'
import { refusals } from './refusals.ts'
import { reader } from './replies.ts'
import { rules } from './rules.ts'

/** Telegram: a bot that publishes to one channel or group. A chat is an account. */
export const telegram = platform({
  key: 'telegram',
  title: TITLE,
  defaults: { apiUrl: 'https://api.telegram.org', authUrl: 'https://t.me' },
  credentials: {
    fields: Fields,
    help: 'Create a bot with @BotFather, add it to the channel as an administrator that may post, and enter its token.',
    connect,
  },
  options,
  plainText,
  partsOf,
  publishing,
  analytics: {
    accountFigures: [],
    contentFigures: [],
    audience: [],
    missing: {
      account: 'Crier does not read the members of a Telegram chat yet.',
      content: 'Telegram does not report figures of messages to bots.',
      listing: 'Telegram does not let bots list the messages of a chat.',
      audience: 'Crier reads no audience from this platform.',
    },
  },
  refusals,
  rules,
  reader,
  profile,
  grantAdvice:
    'At Telegram, the bot stays in the chat. To end the access, remove it there, or have @BotFather revoke its token (/revoke).',
  capabilities,
})
