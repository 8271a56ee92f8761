import { PlatformError } from '../error-kinds.ts'
import type { PlatformContext } from '../platform.ts'

const TITLE = 'Mastodon'

/** A server of the network. */
export interface MastodonServer {
  /** Base URL without a trailing slash. */
  readonly url: string
  /** Whether a user entered it. Only public addresses are allowed then. */
  readonly userHost: boolean
}

/**
 * The server that a user means: `mastodon.social`, `https://mastodon.social/@name` or `@name@mastodon.social`.
 * @throws PlatformError validation when it is not a host
 */
export function serverOf({ settings }: Pick<PlatformContext, 'settings'>, text: string): MastodonServer {
  const host = text.trim().replace(/^@?[^@/]+@/, '')
  const url = URL.parse(/^https?:\/\//i.test(host) ? host : `https://${host}`)
  const configured = URL.parse(settings.apiUrl)
  if (url !== null && configured !== null && url.host === configured.host) {
    return { url: configured.origin, userHost: false }
  }
  if (url === null || url.hostname === '' || (!url.hostname.includes('.') && !url.port)) {
    throw new PlatformError('validation', TITLE, {
      code: 'instance',
      detail: `“${text.slice(0, 100)}” is not a server. Enter one such as mastodon.social.`,
      mayHaveHappened: false,
    })
  }
  return { url: url.origin, userHost: true }
}
