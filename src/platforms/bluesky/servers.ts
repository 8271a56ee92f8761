import { PlatformError } from '../error-kinds.ts'
import type { PlatformSettings } from '../platform.ts'

export const TITLE = 'Bluesky'

/** Servers beside the PDS of an account. The operator can replace each. */
export const servers = {
  plc: {
    setting: 'ATPROTO_PLC_URL',
    summary: 'Base URL of the directory of did:plc identities (Bluesky)',
    url: 'https://plc.directory',
  },
  video: {
    setting: 'ATPROTO_VIDEO_URL',
    summary: 'Base URL of the service that processes videos for Bluesky',
    url: 'https://video.bsky.app',
  },
} as const

/** A server of the network. */
export interface Server {
  /** Without a trailing slash. */
  readonly url: string
  /** Whether a user named it. Only public addresses are allowed then. */
  readonly userHost: boolean
}

/**
 * The PDS or authorization server with this address.
 * @param text a URL, or a host name
 * @throws PlatformError validation when it is not one
 */
export function serverOf(settings: PlatformSettings, text: string): Server {
  const url = URL.parse(/^https?:\/\//i.test(text) ? text : `https://${text}`)
  if (url === null || url.username !== '' || (!url.hostname.includes('.') && url.port === '')) {
    throw new PlatformError('validation', TITLE, {
      code: 'server',
      detail: `“${text.slice(0, 100)}” is not a server. Enter one such as bsky.social.`,
      mayHaveHappened: false,
    })
  }
  const configured = [settings.apiUrl, settings.authUrl, ...Object.values(settings.servers ?? {})]
  return { url: url.origin, userHost: !configured.some((base) => URL.parse(base)?.origin === url.origin) }
}

/** The base URL of one of `servers`. */
export function urlOf(settings: PlatformSettings, name: keyof typeof servers): string {
  return settings.servers?.[name] ?? servers[name].url
}
