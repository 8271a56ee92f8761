import { fail, optional, text, url, withDefault } from './setting-readers.ts'

/** The fields of a service account's key file that FCM needs. */
export interface ServiceAccount {
  readonly project_id: string
  readonly client_email: string
  readonly private_key_id: string
  readonly private_key: string
  /** Where signed assertions are exchanged for access tokens. */
  readonly token_uri: string
}

const serviceAccount = (value: string): ServiceAccount => {
  const fields = ['project_id', 'client_email', 'private_key_id', 'private_key', 'token_uri'] as const
  const shape = `must be the content of a key file, JSON with ${fields.join(', ')}`
  let parsed: Partial<ServiceAccount> | null
  try {
    parsed = JSON.parse(value) as Partial<ServiceAccount> | null
  } catch {
    return fail(shape)
  }
  const isWhole = fields.every((field) => typeof parsed?.[field] === 'string')
  if (!isWhole || !URL.canParse(parsed?.token_uri ?? '')) return fail(shape)
  return parsed as ServiceAccount
}

/** A key in PEM, in which `\n` can stand for line ends. */
const pem = (value: string): string => {
  const lines = value.replaceAll('\\n', '\n')
  return lines.includes('-----BEGIN PRIVATE KEY-----') ? lines : fail('must be the content of a .p8 file')
}

/** Settings of push messages to phones. Web Push needs none. */
export const pushSettings = {
  FCM_SERVICE_ACCOUNT: {
    summary: 'Content of the key file (JSON) of a Firebase service account, for push messages to Android',
    fallback: 'off',
    secret: true,
    parse: optional(serviceAccount),
  },
  FCM_URL: {
    summary: 'URL of the FCM API, if it is not Google’s',
    fallback: 'https://fcm.googleapis.com',
    parse: withDefault(url('https', 'http'), 'https://fcm.googleapis.com'),
  },
  APNS_KEY: {
    summary: 'Content of the .p8 file of an Apple key, for push messages to iOS. \\n can stand for line ends',
    fallback: 'off',
    secret: true,
    parse: optional(pem),
  },
  APNS_KEY_ID: { summary: 'ID of the key in `APNS_KEY`', fallback: 'none', parse: optional(text) },
  APNS_TEAM_ID: {
    summary: 'ID of the Apple developer team that the key belongs to',
    fallback: 'none',
    parse: optional(text),
  },
  APNS_TOPIC: { summary: 'Bundle ID of the iOS app', fallback: 'none', parse: optional(text) },
  APNS_URL: {
    summary: 'URL of APNs. https://api.sandbox.push.apple.com is for apps in development',
    fallback: 'https://api.push.apple.com',
    parse: withDefault(url('https', 'http'), 'https://api.push.apple.com'),
  },
} as const
